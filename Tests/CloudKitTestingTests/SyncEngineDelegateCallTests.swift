// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Synchronization
import Testing

private let zoneID = CKRecordZone.ID(zoneName: "Notes")
private let noteID = CKRecord.ID(recordName: "note", zoneID: zoneID)

/// An app with one text. The user edits it after a batch with the record was provided.
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

/// An app that fetches or sends, in a task of its own, when a fetch begins.
private final class TaskStarter: CKSyncEngineDelegate {
    private let action: @Sendable (CKSyncEngine) async throws -> Void
    private let isStarted = Mutex(false)
    let results = AsyncStream<CKError?>.makeStream()

    init(_ action: @escaping @Sendable (CKSyncEngine) async throws -> Void) { self.action = action }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .willFetchChanges = event else { return }
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        Task {
            do {
                try await action(syncEngine)
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

/// An app that waits for fetches and sends in child tasks, when a fetch begins.
private final class ChildTasks: CKSyncEngineDelegate {
    private let found = Mutex<[CKError.Code?]>([])

    var codes: [CKError.Code?] { found.withLock { $0 } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .willFetchChanges = event else { return }
        async let fetched = Self.code { try await syncEngine.fetchChanges() }
        let others = await withTaskGroup(of: CKError.Code?.self) { group in
            group.addTask { await Self.code { try await syncEngine.sendChanges() } }
            group.addTask {
                async let grandchild = Self.code { try await syncEngine.fetchChanges() }
                return await grandchild
            }
            var codes: [CKError.Code?] = []
            for await code in group { codes.append(code) }
            return codes
        }
        let codes = [await fetched] + others
        found.withLock { $0 += codes }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }

    private static func code(_ body: @Sendable () async throws -> Void) async -> CKError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }
}

/// An app with a delegate that takes its time when a fetch begins, and notes the states that it receives.
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

/// An app that adds changes of another zone, so that two reports of the state wait for their turns, and that takes until a change was sent
/// to store the first one.
private final class SlowStorage: CKSyncEngineDelegate {
    private struct Content {
        var hasAdded = false
        var states: [CKSyncEngine.State.Serialization] = []
        /// States that were stored before the event.
        var statesBeforeEvent: Int?
        var wasPendingAtEvent = false
        var failures: [CKError.Code] = []
    }

    static let others = ["a", "b"].map {
        CKSyncEngine.PendingRecordZoneChange.saveRecord(CKRecord.ID(recordName: $0, zoneID: CKRecordZone.ID(zoneName: "Others")))
    }

    /// Whether the change is one of a zone, and not of a record.
    private let isOfZone: Bool
    private let content = Mutex(Content())

    init(isOfZone: Bool) { self.isOfZone = isOfZone }

    var states: [CKSyncEngine.State.Serialization] { content.withLock { $0.states } }
    var statesBeforeEvent: Int? { content.withLock { $0.statesBeforeEvent } }
    var wasPendingAtEvent: Bool { content.withLock { $0.wasPendingAtEvent } }
    var failures: [CKError.Code] { content.withLock { $0.failures } }

    func isPending(in engine: CKSyncEngine) -> Bool {
        isOfZone ? !engine.state.pendingDatabaseChanges.isEmpty : engine.state.pendingRecordZoneChanges.contains(.saveRecord(noteID))
    }

    private func addChanges(to engine: CKSyncEngine) async {
        content.withLock { $0.hasAdded = true }
        for change in Self.others {
            engine.state.add(pendingRecordZoneChanges: [change])
            // Until the report of the change waits for its turn.
            for _ in 0..<1000 { await Task.yield() }
        }
    }

    private func received(_ engine: CKSyncEngine, failures: [CKError.Code]) {
        let isPending = isPending(in: engine)
        content.withLock { content in
            (content.statesBeforeEvent, content.wasPendingAtEvent) = (content.states.count, isPending)
            content.failures = failures
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .willSendChanges where isOfZone: await addChanges(to: syncEngine)
        case .stateUpdate(let update):
            let isFirst = content.withLock { content in
                guard content.hasAdded else { return false }
                content.states.append(update.stateSerialization)
                return content.states.count == 1
            }
            while isFirst, isPending(in: syncEngine) { await Task.yield() }
        case .sentDatabaseChanges: received(syncEngine, failures: [])
        case .sentRecordZoneChanges(let sent): received(syncEngine, failures: sent.failedRecordSaves.map(\.error.code))
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { CKRecord(recordType: "Note", recordID: $0) }
        await addChanges(to: syncEngine)
        return batch
    }
}

extension CKSyncEngine.PendingDatabaseChange {
    fileprivate var zone: CKRecordZone.ID {
        switch self {
        case .saveZone(let zone): zone.zoneID
        case .deleteZone(let id): id
        }
    }
}

/// Actions of the app during a call of its delegate.
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

    /// If the process ends before the event, the next one sends the change again: otherwise the app would never get its failure.
    @Test func aSentChangeIsStoredUntilItsEventWasHandled() async throws {
        let app = SlowStorage(isOfZone: false)
        let device = try await TestCloud().device("phone")
        let database = device.container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        try await database.save(CKRecord(recordType: "Note", recordID: noteID))
        let engine = engine(device, app)
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(noteID)])
        try await engine.sendChanges(CKSyncEngine.SendChangesOptions(scope: .zoneIDs([zoneID])))
        #expect(app.failures == [.serverRecordChanged])
        #expect(app.statesBeforeEvent == 2)
        #expect(!app.wasPendingAtEvent)
        let restored = app.states.map { self.engine(device, app, from: $0).state.pendingRecordZoneChanges }
        let all = [.saveRecord(noteID)] + SlowStorage.others
        #expect(restored.dropFirst().first == all)
        #expect(restored.last == SlowStorage.others)
    }

    @Test func aSentZoneIsStoredUntilItsEventWasHandled() async throws {
        let app = SlowStorage(isOfZone: true)
        let device = try await TestCloud().device("phone")
        let engine = engine(device, app)
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        try await engine.sendChanges(CKSyncEngine.SendChangesOptions(scope: .zoneIDs([zoneID])))
        #expect(app.statesBeforeEvent == 2)
        #expect(!app.wasPendingAtEvent)
        let restored = app.states.map { self.engine(device, app, from: $0).state.pendingDatabaseChanges.map(\.zone) }
        #expect(restored.dropFirst().first == [zoneID])
        #expect(restored.last == [])
    }

    @Test func aTaskOfADelegatesMethodMayFetch() async throws {
        let starter = TaskStarter { try await $0.fetchChanges() }
        let engine = engine(try await TestCloud().device("phone"), starter)
        try await engine.fetchChanges()
        var results = starter.results.stream.makeAsyncIterator()
        let result = await results.next()
        let failure = try #require(result)
        #expect(failure == nil)
    }

    @Test func aTaskOfADelegatesMethodMaySend() async throws {
        let starter = TaskStarter { try await $0.sendChanges() }
        let device = try await TestCloud().device("phone")
        let engine = engine(device, starter)
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        try await engine.fetchChanges()
        var results = starter.results.stream.makeAsyncIterator()
        let result = await results.next()
        let failure = try #require(result)
        #expect(failure == nil)
        #expect(engine.state.pendingDatabaseChanges.isEmpty)
        #expect(try await device.container.privateCloudDatabase.allRecordZones().map(\.zoneID).contains(zoneID))
    }

    /// The method waits for them, and they would wait for its end.
    @Test func aChildTaskOfADelegatesMethodIsRefused() async throws {
        let app = ChildTasks()
        let engine = engine(try await TestCloud().device("phone"), app)
        try await engine.fetchChanges()
        #expect(app.codes == [.invalidArguments, .invalidArguments, .invalidArguments])
        // The engine is usable after it.
        try await engine.sendChanges()
    }
}
