// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Synchronization
import Testing

private let zoneID = CKRecordZone.ID(zoneName: "Notes")
private let noteID = CKRecord.ID(recordName: "note", zoneID: zoneID)

/// An app with one text, whose user edits it after a batch with the record was provided.
private final class EditedNote: CKSyncEngineDelegate {
    private struct Content {
        var text = "first"
        var record: CKRecord?
        var batches = 0
    }

    private let content = Mutex(Content())

    var batches: Int { content.withLock { $0.batches } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .sentRecordZoneChanges(let sent) = event else { return }
        content.withLock { $0.record = sent.savedRecords.first ?? $0.record }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
            self.content.withLock { content in
                let record = content.record ?? CKRecord(recordType: "Note", recordID: id)
                record["text"] = content.text
                return record
            }
        }
        let isFirst = content.withLock { content in
            content.batches += 1
            content.text = "second"
            return content.batches == 1
        }
        if isFirst { syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(noteID)]) }
        return batch
    }
}

/// An app that fetches again, in a task of its own, when a fetch begins.
private final class TaskStarter: CKSyncEngineDelegate {
    private let isStarted = Mutex(false)
    let results = AsyncStream<CKError?>.makeStream()

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .willFetchChanges = event else { return }
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        Task {
            do {
                try await syncEngine.fetchChanges()
                results.continuation.yield(nil)
            } catch {
                results.continuation.yield(error as? CKError ?? CKError(.internalError))
            }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

/// An app whose delegate takes its time when a fetch begins, and notes the states that it receives.
private final class SlowApp: CKSyncEngineDelegate {
    private let states = Mutex<[CKSyncEngine.State.Serialization]>([])
    let isCalled = AsyncStream<Void>.makeStream()
    let mayReturn = AsyncStream<Void>.makeStream()

    var all: [CKSyncEngine.State.Serialization] { states.withLock { $0 } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update): states.withLock { $0.append(update.stateSerialization) }
        case .willFetchChanges:
            states.withLock { $0 = [] }
            isCalled.continuation.yield()
            for await _ in mayReturn.stream { return }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

/// What the app does while its delegate is called.
@Suite(.timeLimit(.minutes(1))) struct SyncEngineDelegateCallTests {
    private func engine(
        _ device: TestDevice, _ delegate: some CKSyncEngineDelegate, from stored: CKSyncEngine.State.Serialization? = nil
    ) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: device.container.privateCloudDatabase, stateSerialization: stored, delegate: delegate)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    @Test func anEditDuringASendIsSent() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        let note = EditedNote()
        let engine = engine(device, note)
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(noteID)])
        try await engine.sendChanges()
        let saved = try await device.container.privateCloudDatabase.record(for: noteID)
        #expect(saved["text"] == "second")
        #expect(note.batches == 2)
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    }

    /// Two states that are read before the delegate's turn may arrive in the other order.
    @Test func aStateIsReadWhenTheDelegateReceivesIt() async throws {
        let app = SlowApp()
        let device = try await TestCloud().device("phone")
        let engine = engine(device, app)
        let fetch = Task { try await engine.fetchChanges() }
        for await _ in app.isCalled.stream { break }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(noteID)])
        // Until the report of the first change waits for its turn.
        for _ in 0..<1000 { await Task.yield() }
        let other = CKRecord.ID(recordName: "other", zoneID: zoneID)
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(other)])
        app.mayReturn.continuation.yield()
        try await fetch.value
        let first = try #require(app.all.first)
        let restored = self.engine(device, app, from: first)
        #expect(restored.state.pendingRecordZoneChanges == [.saveRecord(noteID), .saveRecord(other)])
    }

    @Test func aTaskOfADelegatesMethodMayFetch() async throws {
        let starter = TaskStarter()
        let engine = engine(try await TestCloud().device("phone"), starter)
        try await engine.fetchChanges()
        var results = starter.results.stream.makeAsyncIterator()
        let result = await results.next()
        let failure = try #require(result)
        #expect(failure == nil)
    }
}
