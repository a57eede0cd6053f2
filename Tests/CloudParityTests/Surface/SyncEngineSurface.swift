// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/SyncEngine.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct SyncEngineSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKSyncEngine()
        Self.usesCKSyncEngineConfiguration()
        Self.usesCKSyncEngineState()
        Self.usesCKSyncEngineStateSerialization()
        Self.usesCKSyncEnginePendingRecordZoneChange()
        Self.usesCKSyncEnginePendingDatabaseChange()
        Self.usesCKSyncEngineRecordZoneChangeBatch()
        Self.usesCKSyncEngineFetchChangesOptions()
        Self.usesCKSyncEngineFetchChangesOptionsScope()
        Self.usesCKSyncEngineSendChangesOptions()
        Self.usesCKSyncEngineSendChangesOptionsScope()
        Self.usesCKSyncEngineFetchChangesContext()
        Self.usesCKSyncEngineSendChangesContext()
        Self.usesCKSyncEngineSyncReason()
        Self.usesCKSyncEngineDelegate()
        Self.usesCKSyncEngineEvent()
        Self.usesCKSyncEngineEventStateUpdate()
        Self.usesCKSyncEngineEventAccountChange()
        Self.usesCKSyncEngineEventAccountChangeChangeType()
        Self.usesCKSyncEngineEventWillFetchChanges()
        Self.usesCKSyncEngineEventDidFetchChanges()
        Self.usesCKSyncEngineEventFetchedDatabaseChanges()
        Self.usesCKSyncEngineEventWillFetchRecordZoneChanges()
        Self.usesCKSyncEngineEventFetchedRecordZoneChanges()
        Self.usesCKSyncEngineEventDidFetchRecordZoneChanges()
        Self.usesCKSyncEngineEventWillSendChanges()
        Self.usesCKSyncEngineEventDidSendChanges()
        Self.usesCKSyncEngineEventSentDatabaseChanges()
        Self.usesCKSyncEngineEventSentDatabaseChangesFailedZoneSave()
        Self.usesCKSyncEngineEventSentRecordZoneChanges()
        Self.usesCKSyncEngineEventSentRecordZoneChangesFailedRecordSave()
    }

    private static func usesCKSyncEngine() {
        _ = { (x: CKSyncEngine) -> any Sendable in x }
        _ = { (a0: CKSyncEngine.Configuration) -> CKSyncEngine in CKSyncEngine(a0) }
        let _: KeyPath<CKSyncEngine, CKDatabase> = \.database
        let _: KeyPath<CKSyncEngine, CKSyncEngine.State> = \.state
        _ = { (x: CKSyncEngine, a0: CKSyncEngine.FetchChangesOptions) async throws -> Void in try await x.fetchChanges(a0) }
        _ = { (x: CKSyncEngine) async throws -> Void in try await x.fetchChanges() }
        _ = { (x: CKSyncEngine, a0: CKSyncEngine.SendChangesOptions) async throws -> Void in try await x.sendChanges(a0) }
        _ = { (x: CKSyncEngine) async throws -> Void in try await x.sendChanges() }
        _ = { (x: CKSyncEngine) async -> Void in await x.cancelOperations() }
    }

    private static func usesCKSyncEngineConfiguration() {
        _ = CKSyncEngine.Configuration.self
        _ = { (a0: CKDatabase, a1: CKSyncEngine.State.Serialization?, a2: any CKSyncEngineDelegate) -> CKSyncEngine.Configuration in CKSyncEngine.Configuration(database: a0, stateSerialization: a1, delegate: a2) }
        let _: WritableKeyPath<CKSyncEngine.Configuration, CKDatabase> = \.database
        let _: WritableKeyPath<CKSyncEngine.Configuration, CKSyncEngine.State.Serialization?> = \.stateSerialization
        let _: WritableKeyPath<CKSyncEngine.Configuration, (any CKSyncEngineDelegate)?> = \.delegate
        let _: WritableKeyPath<CKSyncEngine.Configuration, Bool> = \.automaticallySync
        let _: WritableKeyPath<CKSyncEngine.Configuration, CKSubscription.ID?> = \.subscriptionID
    }

    private static func usesCKSyncEngineState() {
        _ = { (x: CKSyncEngine.State) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.State, [CKSyncEngine.PendingRecordZoneChange]> = \.pendingRecordZoneChanges
        let _: KeyPath<CKSyncEngine.State, [CKSyncEngine.PendingDatabaseChange]> = \.pendingDatabaseChanges
        let _: ReferenceWritableKeyPath<CKSyncEngine.State, Bool> = \.hasPendingUntrackedChanges
        let _: KeyPath<CKSyncEngine.State, [CKRecordZone.ID]> = \.zoneIDsWithUnfetchedServerChanges
        _ = { (x: CKSyncEngine.State, a0: [CKSyncEngine.PendingRecordZoneChange]) -> Void in x.add(pendingRecordZoneChanges: a0) }
        _ = { (x: CKSyncEngine.State, a0: [CKSyncEngine.PendingRecordZoneChange]) -> Void in x.remove(pendingRecordZoneChanges: a0) }
        _ = { (x: CKSyncEngine.State, a0: [CKSyncEngine.PendingDatabaseChange]) -> Void in x.add(pendingDatabaseChanges: a0) }
        _ = { (x: CKSyncEngine.State, a0: [CKSyncEngine.PendingDatabaseChange]) -> Void in x.remove(pendingDatabaseChanges: a0) }
    }

    private static func usesCKSyncEngineStateSerialization() {
        _ = { (x: CKSyncEngine.State.Serialization) -> any Codable in x }
        _ = { (x: CKSyncEngine.State.Serialization) -> any Sendable in x }
    }

    private static func usesCKSyncEnginePendingRecordZoneChange() {
        _ = { (x: CKSyncEngine.PendingRecordZoneChange) -> any Hashable in x }
        _ = { (x: CKSyncEngine.PendingRecordZoneChange) -> any Sendable in x }
        _ = { (a0: CKRecord.ID) -> CKSyncEngine.PendingRecordZoneChange in .saveRecord(a0) }
        _ = { (a0: CKRecord.ID) -> CKSyncEngine.PendingRecordZoneChange in .deleteRecord(a0) }
    }

    private static func usesCKSyncEnginePendingDatabaseChange() {
        _ = { (x: CKSyncEngine.PendingDatabaseChange) -> any Hashable in x }
        _ = { (x: CKSyncEngine.PendingDatabaseChange) -> any Sendable in x }
        _ = { (a0: CKRecordZone) -> CKSyncEngine.PendingDatabaseChange in .saveZone(a0) }
        _ = { (a0: CKRecordZone.ID) -> CKSyncEngine.PendingDatabaseChange in .deleteZone(a0) }
    }

    private static func usesCKSyncEngineRecordZoneChangeBatch() {
        _ = { (x: CKSyncEngine.RecordZoneChangeBatch) -> any Sendable in x }
        _ = { (a0: [CKRecord], a1: [CKRecord.ID], a2: Bool) -> CKSyncEngine.RecordZoneChangeBatch in CKSyncEngine.RecordZoneChangeBatch(recordsToSave: a0, recordIDsToDelete: a1, atomicByZone: a2) }
        _ = { () -> CKSyncEngine.RecordZoneChangeBatch in CKSyncEngine.RecordZoneChangeBatch() }
        _ = { (a0: [CKSyncEngine.PendingRecordZoneChange], a1: @Sendable (CKRecord.ID) async -> CKRecord?) async -> CKSyncEngine.RecordZoneChangeBatch? in await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: a0, recordProvider: a1) }
        let _: WritableKeyPath<CKSyncEngine.RecordZoneChangeBatch, [CKRecord]> = \.recordsToSave
        let _: WritableKeyPath<CKSyncEngine.RecordZoneChangeBatch, [CKRecord.ID]> = \.recordIDsToDelete
        let _: WritableKeyPath<CKSyncEngine.RecordZoneChangeBatch, Bool> = \.atomicByZone
    }

    private static func usesCKSyncEngineFetchChangesOptions() {
        _ = { (x: CKSyncEngine.FetchChangesOptions) -> any Sendable in x }
        _ = { (a0: CKSyncEngine.FetchChangesOptions.Scope, a1: CKOperationGroup?) -> CKSyncEngine.FetchChangesOptions in CKSyncEngine.FetchChangesOptions(scope: a0, operationGroup: a1) }
        _ = { () -> CKSyncEngine.FetchChangesOptions in CKSyncEngine.FetchChangesOptions() }
        let _: WritableKeyPath<CKSyncEngine.FetchChangesOptions, CKSyncEngine.FetchChangesOptions.Scope> = \.scope
        let _: WritableKeyPath<CKSyncEngine.FetchChangesOptions, CKOperationGroup?> = \.operationGroup
        let _: WritableKeyPath<CKSyncEngine.FetchChangesOptions, [CKRecordZone.ID]> = \.prioritizedZoneIDs
    }

    private static func usesCKSyncEngineFetchChangesOptionsScope() {
        _ = { (x: CKSyncEngine.FetchChangesOptions.Scope) -> any Sendable in x }
        _ = { () -> CKSyncEngine.FetchChangesOptions.Scope in .all }
        _ = { (a0: [CKRecordZone.ID]) -> CKSyncEngine.FetchChangesOptions.Scope in .allExcluding(a0) }
        _ = { (a0: [CKRecordZone.ID]) -> CKSyncEngine.FetchChangesOptions.Scope in .zoneIDs(a0) }
        _ = { (x: CKSyncEngine.FetchChangesOptions.Scope, a0: CKRecordZone.ID) -> Bool in x.contains(a0) }
    }

    private static func usesCKSyncEngineSendChangesOptions() {
        _ = { (x: CKSyncEngine.SendChangesOptions) -> any Sendable in x }
        _ = { (a0: CKSyncEngine.SendChangesOptions.Scope, a1: CKOperationGroup?) -> CKSyncEngine.SendChangesOptions in CKSyncEngine.SendChangesOptions(scope: a0, operationGroup: a1) }
        _ = { () -> CKSyncEngine.SendChangesOptions in CKSyncEngine.SendChangesOptions() }
        let _: WritableKeyPath<CKSyncEngine.SendChangesOptions, CKSyncEngine.SendChangesOptions.Scope> = \.scope
        let _: WritableKeyPath<CKSyncEngine.SendChangesOptions, CKOperationGroup?> = \.operationGroup
    }

    private static func usesCKSyncEngineSendChangesOptionsScope() {
        _ = { (x: CKSyncEngine.SendChangesOptions.Scope) -> any Sendable in x }
        _ = { () -> CKSyncEngine.SendChangesOptions.Scope in .all }
        _ = { (a0: [CKRecordZone.ID]) -> CKSyncEngine.SendChangesOptions.Scope in .allExcluding(a0) }
        _ = { (a0: [CKRecordZone.ID]) -> CKSyncEngine.SendChangesOptions.Scope in .zoneIDs(a0) }
        _ = { (a0: [CKRecord.ID]) -> CKSyncEngine.SendChangesOptions.Scope in .recordIDs(a0) }
        _ = { (x: CKSyncEngine.SendChangesOptions.Scope, a0: CKSyncEngine.PendingRecordZoneChange) -> Bool in x.contains(a0) }
    }

    private static func usesCKSyncEngineFetchChangesContext() {
        _ = { (x: CKSyncEngine.FetchChangesContext) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.FetchChangesContext, CKSyncEngine.SyncReason> = \.reason
        let _: KeyPath<CKSyncEngine.FetchChangesContext, CKSyncEngine.FetchChangesOptions> = \.options
    }

    private static func usesCKSyncEngineSendChangesContext() {
        _ = { (x: CKSyncEngine.SendChangesContext) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.SendChangesContext, CKSyncEngine.SyncReason> = \.reason
        let _: KeyPath<CKSyncEngine.SendChangesContext, CKSyncEngine.SendChangesOptions> = \.options
    }

    private static func usesCKSyncEngineSyncReason() {
        _ = { (x: CKSyncEngine.SyncReason) -> any Sendable in x }
        _ = { () -> CKSyncEngine.SyncReason in .scheduled }
        _ = { () -> CKSyncEngine.SyncReason in .manual }
    }

    private static func usesCKSyncEngineDelegate() {
        _ = (any CKSyncEngineDelegate).self
        _ = { (x: any CKSyncEngineDelegate, a0: CKSyncEngine.Event, a1: CKSyncEngine) async -> Void in await x.handleEvent(a0, syncEngine: a1) }
        _ = { (x: any CKSyncEngineDelegate, a0: CKSyncEngine.SendChangesContext, a1: CKSyncEngine) async -> CKSyncEngine.RecordZoneChangeBatch? in await x.nextRecordZoneChangeBatch(a0, syncEngine: a1) }
        _ = { (x: any CKSyncEngineDelegate, a0: CKSyncEngine.FetchChangesContext, a1: CKSyncEngine) async -> CKSyncEngine.FetchChangesOptions in await x.nextFetchChangesOptions(a0, syncEngine: a1) }
    }

    private static func usesCKSyncEngineEvent() {
        _ = { (x: CKSyncEngine.Event) -> any Sendable in x }
        _ = { (a0: CKSyncEngine.Event.StateUpdate) -> CKSyncEngine.Event in .stateUpdate(a0) }
        _ = { (a0: CKSyncEngine.Event.AccountChange) -> CKSyncEngine.Event in .accountChange(a0) }
        _ = { (a0: CKSyncEngine.Event.WillFetchChanges) -> CKSyncEngine.Event in .willFetchChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.DidFetchChanges) -> CKSyncEngine.Event in .didFetchChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.FetchedDatabaseChanges) -> CKSyncEngine.Event in .fetchedDatabaseChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.WillFetchRecordZoneChanges) -> CKSyncEngine.Event in .willFetchRecordZoneChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.FetchedRecordZoneChanges) -> CKSyncEngine.Event in .fetchedRecordZoneChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.DidFetchRecordZoneChanges) -> CKSyncEngine.Event in .didFetchRecordZoneChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.WillSendChanges) -> CKSyncEngine.Event in .willSendChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.DidSendChanges) -> CKSyncEngine.Event in .didSendChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.SentDatabaseChanges) -> CKSyncEngine.Event in .sentDatabaseChanges(a0) }
        _ = { (a0: CKSyncEngine.Event.SentRecordZoneChanges) -> CKSyncEngine.Event in .sentRecordZoneChanges(a0) }
    }

    private static func usesCKSyncEngineEventStateUpdate() {
        _ = { (x: CKSyncEngine.Event.StateUpdate) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.StateUpdate, CKSyncEngine.State.Serialization> = \.stateSerialization
    }

    private static func usesCKSyncEngineEventAccountChange() {
        _ = { (x: CKSyncEngine.Event.AccountChange) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.AccountChange, CKSyncEngine.Event.AccountChange.ChangeType> = \.changeType
    }

    private static func usesCKSyncEngineEventAccountChangeChangeType() {
        _ = { (x: CKSyncEngine.Event.AccountChange.ChangeType) -> any Sendable in x }
        _ = { (a0: CKRecord.ID) -> CKSyncEngine.Event.AccountChange.ChangeType in .signIn(currentUser: a0) }
        _ = { (a0: CKRecord.ID) -> CKSyncEngine.Event.AccountChange.ChangeType in .signOut(previousUser: a0) }
        _ = { (a0: CKRecord.ID, a1: CKRecord.ID) -> CKSyncEngine.Event.AccountChange.ChangeType in .switchAccounts(previousUser: a0, currentUser: a1) }
    }

    private static func usesCKSyncEngineEventWillFetchChanges() {
        _ = { (x: CKSyncEngine.Event.WillFetchChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.WillFetchChanges, CKSyncEngine.FetchChangesContext> = \.context
    }

    private static func usesCKSyncEngineEventDidFetchChanges() {
        _ = { (x: CKSyncEngine.Event.DidFetchChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.DidFetchChanges, CKSyncEngine.FetchChangesContext> = \.context
    }

    private static func usesCKSyncEngineEventFetchedDatabaseChanges() {
        _ = { (x: CKSyncEngine.Event.FetchedDatabaseChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.FetchedDatabaseChanges, [CKDatabase.DatabaseChange.Modification]> = \.modifications
        let _: KeyPath<CKSyncEngine.Event.FetchedDatabaseChanges, [CKDatabase.DatabaseChange.Deletion]> = \.deletions
    }

    private static func usesCKSyncEngineEventWillFetchRecordZoneChanges() {
        _ = { (x: CKSyncEngine.Event.WillFetchRecordZoneChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.WillFetchRecordZoneChanges, CKRecordZone.ID> = \.zoneID
    }

    private static func usesCKSyncEngineEventFetchedRecordZoneChanges() {
        _ = { (x: CKSyncEngine.Event.FetchedRecordZoneChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.FetchedRecordZoneChanges, [CKDatabase.RecordZoneChange.Modification]> = \.modifications
        let _: KeyPath<CKSyncEngine.Event.FetchedRecordZoneChanges, [CKDatabase.RecordZoneChange.Deletion]> = \.deletions
    }

    private static func usesCKSyncEngineEventDidFetchRecordZoneChanges() {
        _ = { (x: CKSyncEngine.Event.DidFetchRecordZoneChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.DidFetchRecordZoneChanges, CKRecordZone.ID> = \.zoneID
        let _: KeyPath<CKSyncEngine.Event.DidFetchRecordZoneChanges, CKError?> = \.error
    }

    private static func usesCKSyncEngineEventWillSendChanges() {
        _ = { (x: CKSyncEngine.Event.WillSendChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.WillSendChanges, CKSyncEngine.SendChangesContext> = \.context
    }

    private static func usesCKSyncEngineEventDidSendChanges() {
        _ = { (x: CKSyncEngine.Event.DidSendChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.DidSendChanges, CKSyncEngine.SendChangesContext> = \.context
    }

    private static func usesCKSyncEngineEventSentDatabaseChanges() {
        _ = { (x: CKSyncEngine.Event.SentDatabaseChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.SentDatabaseChanges, [CKRecordZone]> = \.savedZones
        let _: KeyPath<CKSyncEngine.Event.SentDatabaseChanges, [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave]> = \.failedZoneSaves
        let _: KeyPath<CKSyncEngine.Event.SentDatabaseChanges, [CKRecordZone.ID]> = \.deletedZoneIDs
        let _: KeyPath<CKSyncEngine.Event.SentDatabaseChanges, [CKRecordZone.ID: CKError]> = \.failedZoneDeletes
    }

    private static func usesCKSyncEngineEventSentDatabaseChangesFailedZoneSave() {
        _ = { (x: CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave, CKRecordZone> = \.zone
        let _: KeyPath<CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave, CKError> = \.error
    }

    private static func usesCKSyncEngineEventSentRecordZoneChanges() {
        _ = { (x: CKSyncEngine.Event.SentRecordZoneChanges) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.SentRecordZoneChanges, [CKRecord]> = \.savedRecords
        let _: KeyPath<CKSyncEngine.Event.SentRecordZoneChanges, [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave]> = \.failedRecordSaves
        let _: KeyPath<CKSyncEngine.Event.SentRecordZoneChanges, [CKRecord.ID]> = \.deletedRecordIDs
        let _: KeyPath<CKSyncEngine.Event.SentRecordZoneChanges, [CKRecord.ID: CKError]> = \.failedRecordDeletes
    }

    private static func usesCKSyncEngineEventSentRecordZoneChangesFailedRecordSave() {
        _ = { (x: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave) -> any Sendable in x }
        let _: KeyPath<CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, CKRecord> = \.record
        let _: KeyPath<CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, CKError> = \.error
    }

    static var propertiesOfCKSyncEngine: [(name: String, path: PartialKeyPath<CKSyncEngine>)] {
        [
            ("database", \.database),
            ("state", \.state),
        ]
    }

    static var propertiesOfCKSyncEngineState: [(name: String, path: PartialKeyPath<CKSyncEngine.State>)] {
        [
            ("pendingRecordZoneChanges", \.pendingRecordZoneChanges),
            ("pendingDatabaseChanges", \.pendingDatabaseChanges),
            ("hasPendingUntrackedChanges", \.hasPendingUntrackedChanges),
            ("zoneIDsWithUnfetchedServerChanges", \.zoneIDsWithUnfetchedServerChanges),
        ]
    }
}
