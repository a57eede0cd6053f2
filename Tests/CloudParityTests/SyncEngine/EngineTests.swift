// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

/// An app's side of a sync engine: its records, and the events that it received.
private final class Notes: CKSyncEngineDelegate {
    struct State {
        var records: [CKRecord.ID: CKRecord] = [:]
        var events: [String] = []
        var failures: [CKError.Code] = []
        var serialization: CKSyncEngine.State.Serialization?
    }

    let state = Mutex(State())

    var events: [String] { state.withLock { $0.events } }

    func keep(_ record: CKRecord) { state.withLock { $0.records[record.recordID] = record } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        state.withLock { state in
            switch event {
            case .stateUpdate(let update): state.serialization = update.stateSerialization
            case .accountChange(let change):
                switch change.changeType {
                case .signIn: state.events.append("sign in")
                case .signOut: state.events.append("sign out")
                case .switchAccounts: state.events.append("switch")
                @unknown default: state.events.append("unknown")
                }
            case .fetchedDatabaseChanges(let changes):
                state.events += changes.modifications.map { "zone \($0.zoneID.zoneName)" }
                state.events += changes.deletions.map { "zone \($0.zoneID.zoneName) \($0.reason)" }
            case .fetchedRecordZoneChanges(let changes):
                for modification in changes.modifications {
                    state.records[modification.record.recordID] = modification.record
                    state.events.append("got \(modification.record.recordID.recordName)")
                }
                for deletion in changes.deletions {
                    state.records[deletion.recordID] = nil
                    state.events.append("lost \(deletion.recordID.recordName) \(deletion.recordType)")
                }
            case .sentDatabaseChanges(let sent):
                state.events += sent.savedZones.map { "made \($0.zoneID.zoneName)" }
                state.events += sent.deletedZoneIDs.map { "removed \($0.zoneName)" }
            case .sentRecordZoneChanges(let sent):
                for record in sent.savedRecords {
                    state.records[record.recordID] = record
                    state.events.append("sent \(record.recordID.recordName)")
                }
                state.events += sent.deletedRecordIDs.map { "deleted \($0.recordName)" }
                state.failures += sent.failedRecordSaves.map(\.error.code)
            case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges, .didFetchChanges, .willSendChanges,
                .didSendChanges:
                break
            @unknown default: state.events.append("unknown")
            }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            self.state.withLock { $0.records[id] }
        }
    }
}

@Suite struct SyncEngineParityTests {
    private let zone = CKRecordZone(zoneName: "Notes")

    private func engine(_ container: CKContainer, _ notes: Notes, from stored: CKSyncEngine.State.Serialization? = nil) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase, stateSerialization: stored, delegate: notes)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    private func note(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
        record["text"] = name
        return record
    }

    @Test func pendingChangesAreSentAndRemoved() async throws {
        let notes = Notes()
        let engine = engine(try await testContainer(), notes)
        engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
        let first = note("first")
        notes.keep(first)
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(first.recordID)])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(first.recordID)])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(first.recordID)])
        try await engine.sendChanges()
        #expect(notes.events == ["sign in", "made Notes", "sent first"])
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(engine.state.pendingDatabaseChanges.isEmpty)
        #expect(notes.state.withLock { $0.records[first.recordID]?.recordChangeTag } != nil)
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(first.recordID)])
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(first.recordID)])
        #expect(engine.state.pendingRecordZoneChanges == [.deleteRecord(first.recordID)])
        try await engine.sendChanges()
        #expect(notes.events.last == "deleted first")
    }

    @Test func theStateIsRestoredAfterARelaunch() async throws {
        let container = try await testContainer()
        let notes = Notes()
        let first = engine(container, notes)
        first.state.add(pendingDatabaseChanges: [.saveZone(zone)])
        notes.keep(note("one"))
        first.state.add(pendingRecordZoneChanges: [.saveRecord(note("one").recordID)])
        try await first.sendChanges()
        try await first.fetchChanges()
        let encoded = try JSONEncoder().encode(#require(notes.state.withLock { $0.serialization }))
        let stored = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: encoded)
        let later = Notes()
        let second = engine(container, later, from: stored)
        #expect(second.state.pendingRecordZoneChanges.isEmpty)
        try await second.fetchChanges()
        #expect(!later.events.contains("sign in"))
        #expect(!later.events.contains("got one"), "changes that were fetched before the launch are not fetched again")
    }

    @Test func anotherDevicesChangesAreFetched() async throws {
        let container = try await testContainer()
        let database = container.privateCloudDatabase
        let notes = Notes()
        let engine = engine(container, notes)
        try await database.save(zone)
        try await database.save(note("theirs"))
        try await engine.fetchChanges()
        #expect(notes.events == ["sign in", "zone Notes", "got theirs"])
        try await database.deleteRecord(withID: note("theirs").recordID)
        try await engine.fetchChanges()
        #expect(notes.events.last == "lost theirs Note")
        try await database.deleteRecordZone(withID: zone.zoneID)
        try await engine.fetchChanges()
        #expect(notes.events.last == "zone Notes deleted")
    }

    @Test func aConflictIsGivenToTheApp() async throws {
        let container = try await testContainer()
        let notes = Notes()
        let engine = engine(container, notes)
        try await container.privateCloudDatabase.save(zone)
        try await container.privateCloudDatabase.save(note("both"))
        notes.keep(note("both"))
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(note("both").recordID)])
        try await engine.sendChanges()
        #expect(notes.state.withLock { $0.failures } == [.serverRecordChanged])
    }

    @Test func onlyChangesInTheScopeAreSent() async throws {
        let notes = Notes()
        let container = try await testContainer()
        let engine = engine(container, notes)
        try await container.privateCloudDatabase.save(zone)
        for name in ["a", "b"] {
            notes.keep(note(name))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(note(name).recordID)])
        }
        try await engine.sendChanges(CKSyncEngine.SendChangesOptions(scope: .recordIDs([note("b").recordID])))
        #expect(notes.events.filter { $0.hasPrefix("sent") } == ["sent b"])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(note("a").recordID)])
        let scope = CKSyncEngine.SendChangesOptions.Scope.zoneIDs([zone.zoneID])
        #expect(scope.contains(.saveRecord(note("a").recordID)))
        #expect(!CKSyncEngine.SendChangesOptions.Scope.allExcluding([zone.zoneID]).contains(.saveRecord(note("a").recordID)))
        #expect(CKSyncEngine.SendChangesOptions.Scope.all.contains(.deleteRecord(note("a").recordID)))
    }
}
