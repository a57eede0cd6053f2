// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension CKSyncEngine {
    /// Sends zones, then records, as the delegate provides them.
    func send(_ options: SendChangesOptions, _ reason: SyncReason, to database: CKDatabase) async throws {
        let context = SendChangesContext(reason: reason, options: options)
        await post(.willSendChanges(Event.WillSendChanges(context: context)))
        var failure: (any Error)?
        do {
            let run = try DatabaseRequests(database, OperationSettings(nil, under: options.operationGroup))
            try await sendZones(run, state.pendingDatabaseChanges.filter { options.scope.contains($0.zoneID) })
            try await sendRecords(run, context)
        } catch {
            failure = error
        }
        await post(.didSendChanges(Event.DidSendChanges(context: context)))
        if let failure { throw failure }
    }

    private func sendZones(_ run: DatabaseRequests, _ changes: [PendingDatabaseChange]) async throws {
        guard !changes.isEmpty else { return }
        var zones: [CKRecordZone] = []
        var deleted: [CKRecordZone.ID] = []
        for change in changes {
            switch change {
            case .saveZone(let zone): zones.append(zone)
            case .deleteZone(let id): deleted.append(id)
            }
        }
        try checkAccount(of: run.database)
        let outcomes = try await run.modifyZones(saving: zones, deleting: deleted)
        var done: [PendingDatabaseChange] = []
        var saved: [CKRecordZone] = []
        var failedSaves: [Event.SentDatabaseChanges.FailedZoneSave] = []
        for (zone, outcome) in zip(zones, outcomes.saved) {
            switch outcome.result {
            case .success(let zone): saved.append(zone)
            case .failure(let error):
                failedSaves.append(Event.SentDatabaseChanges.FailedZoneSave(zone: zone, error: CKError(transportFailure: error)))
            }
            if !Self.isRetried(outcome.result) { done.append(.saveZone(zone)) }
        }
        var missingZoneIDs: [CKRecordZone.ID] = []
        var failedDeletes: [CKRecordZone.ID: CKError] = [:]
        for outcome in outcomes.deleted {
            switch outcome.result {
            case .success: missingZoneIDs.append(outcome.id)
            case .failure(let error): failedDeletes[outcome.id] = CKError(transportFailure: error)
            }
            if !Self.isRetried(outcome.result) { done.append(.deleteZone(outcome.id)) }
        }
        state.stored.update { $0.beginReport(zones: done) }
        await postReport(
            .sentDatabaseChanges(
                Event.SentDatabaseChanges(
                    savedZones: saved, failedZoneSaves: failedSaves, deletedZoneIDs: missingZoneIDs,
                    failedZoneDeletes: failedDeletes)))
        await postState()
    }

    /// A save that the app adds after it was asked for a batch is sent again: the batch may have the record from before.
    ///
    /// Zones that the app adds during the run are sent before the next batch: an app whose record has no zone adds the zone and the
    /// record again.
    ///
    /// Source: Apple's sample code of `CKSyncEngine`, the handling of `.zoneNotFound`.
    private func sendRecords(_ run: DatabaseRequests, _ context: SendChangesContext) async throws {
        defer { state.stored.update { $0.savesAddedSinceBatch = nil } }
        // Those that the server was too busy to save wait for the next send.
        let deferredZones = Set(state.pendingDatabaseChanges)
        var recordsWithoutZone: Set<CKRecord.ID> = []
        while state.hasPendingUntrackedChanges
            || state.pendingRecordZoneChanges.contains(where: { context.options.scope.contains($0) })
        {
            try Task.checkCancellation()
            let missingZones = Set(recordsWithoutZone.map(\.zoneID))
            try await sendZones(
                run,
                state.pendingDatabaseChanges.filter { change in
                    missingZones.contains(change.zoneID)
                        || !deferredZones.contains(change) && context.options.scope.contains(change.zoneID)
                })
            state.stored.update { $0.savesAddedSinceBatch = [] }
            let batch = await ask { await $0.nextRecordZoneChangeBatch(context, syncEngine: self) } ?? nil
            guard let batch, !batch.recordsToSave.isEmpty || !batch.recordIDsToDelete.isEmpty else { return }
            try checkAccount(of: run.database)
            let sent = SentRecords()
            var failure: (any Error)?
            do {
                try await run.modify(
                    batch.recordsToSave.map(RecordChange.save) + batch.recordIDsToDelete.map(RecordChange.delete),
                    .ifServerRecordUnchanged, atomically: batch.atomicByZone
                ) { sent.record($0) }
            } catch {
                failure = error
            }
            let event = sent.event
            let done = Set(sent.done)
            state.stored.update { content in
                let added = content.savesAddedSinceBatch ?? []
                content.beginReport(records: done.subtracting(added))
                content.savesAddedSinceBatch = nil
            }
            await postReport(.sentRecordZoneChanges(event))
            await postState()
            if let failure { throw failure }
            // Items to retry wait for the next send.
            if done.isEmpty { throw sent.firstRetried ?? CKError(.internalError) }
            // An app that adds the record again without its zone would be asked for it without end.
            for (id, error) in sent.withoutZone where !recordsWithoutZone.insert(id).inserted { throw error }
        }
    }

    /// Returns whether the engine retries an item by itself.
    static func isRetried<Value>(_ result: Result<Value, any Error>) -> Bool {
        guard case .failure(let error) = result else { return false }
        let failure = CKError(transportFailure: error)
        return failure.mayPass || failure.code == .notAuthenticated || failure.code == .operationCancelled
            || failure.code == .accountTemporarilyUnavailable
    }
}

/// The results of a batch.
private final class SentRecords: Sendable {
    private struct Content {
        var saved: [CKRecord] = []
        var failed: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
        var deleted: [CKRecord.ID] = []
        var failedDeletes: [CKRecord.ID: CKError] = [:]
        var done: [CKSyncEngine.PendingRecordZoneChange] = []
        var firstRetried: CKError?
        /// The errors of records to save in zones that the server does not have.
        var withoutZone: [CKRecord.ID: CKError] = [:]
    }

    private let content = Locked(Content())

    func record(_ outcomes: [RecordOutcome]) {
        content.update { content in
            for outcome in outcomes {
                switch outcome {
                case .saved(let record, let result):
                    switch result {
                    case .success(let saved): content.saved.append(saved)
                    case .failure(let error):
                        let error = CKError(transportFailure: error)
                        content.failed.append(
                            CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave(record: record, error: error))
                        if CKSyncEngine.isRetried(result) { content.firstRetried = content.firstRetried ?? error }
                        if error.code == .zoneNotFound { content.withoutZone[record.recordID] = error }
                    }
                    if !CKSyncEngine.isRetried(result) { content.done.append(.saveRecord(record.recordID)) }
                case .deleted(let id, let result):
                    switch result {
                    case .success: content.deleted.append(id)
                    case .failure(let error):
                        let error = CKError(transportFailure: error)
                        content.failedDeletes[id] = error
                        if CKSyncEngine.isRetried(result) { content.firstRetried = content.firstRetried ?? error }
                    }
                    if !CKSyncEngine.isRetried(result) { content.done.append(.deleteRecord(id)) }
                }
            }
        }
    }

    var event: CKSyncEngine.Event.SentRecordZoneChanges {
        let content = content.value
        return CKSyncEngine.Event.SentRecordZoneChanges(
            savedRecords: content.saved, failedRecordSaves: content.failed, deletedRecordIDs: content.deleted,
            failedRecordDeletes: content.failedDeletes)
    }

    var done: [CKSyncEngine.PendingRecordZoneChange] { content.value.done }
    var firstRetried: CKError? { content.value.firstRetried }
    var withoutZone: [CKRecord.ID: CKError] { content.value.withoutZone }
}
