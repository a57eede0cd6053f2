// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Synchronization
import Testing

private let zoneID = CKRecordZone.ID(zoneName: "Notes")

private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

/// An app with texts by record name, as its sync engine sees it.
private final class Notes: CKSyncEngineDelegate {
    struct Content {
        var texts: [String: String] = [:]
        var records: [String: CKRecord] = [:]
        var events: [String] = []
        var state: CKSyncEngine.State.Serialization?
        var failures: [CKError] = []
        /// Whether the app adds the zone of a record that has none.
        var addsZones = true
    }

    private let content = Mutex(Content())
    private let changed = AsyncStream<Void>.makeStream()

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        content.withLock { content in
            if case .stateUpdate(let update) = event {
                content.state = update.stateSerialization
                return
            }
            content.events.append(event.description)
            switch event {
            case .fetchedRecordZoneChanges(let changes):
                for modification in changes.modifications {
                    let record = modification.record
                    content.records[record.recordID.recordName] = record
                    content.texts[record.recordID.recordName] = record["text"]
                }
                for deletion in changes.deletions { content.texts[deletion.recordID.recordName] = nil }
            case .sentRecordZoneChanges(let sent):
                for record in sent.savedRecords { content.records[record.recordID.recordName] = record }
                for failed in sent.failedRecordSaves {
                    content.failures.append(failed.error)
                    if failed.error.code == .zoneNotFound {
                        if content.addsZones { syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))]) }
                        syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(failed.record.recordID)])
                    }
                    guard failed.error.code == .serverRecordChanged, let server = failed.error.serverRecord else { continue }
                    content.records[server.recordID.recordName] = server
                    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(server.recordID)])
                }
            default: break
            }
        }
        changed.continuation.yield()
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            self.content.withLock { content in
                guard let text = content.texts[id.recordName] else { return nil }
                let record = content.records[id.recordName] ?? CKRecord(recordType: "Note", recordID: id)
                record["text"] = text
                return record
            }
        }
    }

    func engine(on device: TestDevice, automatically: Bool = false) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: device.container.privateCloudDatabase, stateSerialization: value.state, delegate: self)
        configuration.automaticallySync = automatically
        return CKSyncEngine(configuration)
    }

    var value: Content { content.withLock { $0 } }

    func addNoZones() { content.withLock { $0.addsZones = false } }

    func write(_ text: String?, _ name: String) { content.withLock { $0.texts[name] = text } }

    /// Waits until something is so; looked at after every event.
    func wait(until condition: (Content) -> Bool) async {
        if condition(value) { return }
        for await _ in changed.stream where condition(value) { return }
    }
}

@Suite struct SyncEngineTests {
    @Test func oneDeviceSendsAndAnotherFetches() async throws {
        let cloud = try TestCloud()
        let (here, there) = (Notes(), Notes())
        let phone = here.engine(on: try await cloud.device("phone"))
        let tablet = there.engine(on: try await cloud.device("tablet"))
        here.write("hello", "a")
        phone.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        phone.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        try await phone.sendChanges()
        #expect(phone.state.pendingRecordZoneChanges.isEmpty)
        #expect(phone.state.pendingDatabaseChanges.isEmpty)
        #expect(
            here.value.events == [
                "accountChange", "willSendChanges", "sentDatabaseChanges 1 saved, 0 deleted",
                "sentRecordZoneChanges 1 saved, 0 failed", "didSendChanges",
            ])
        try await tablet.fetchChanges()
        #expect(there.value.texts == ["a": "hello"])
        #expect(
            there.value.events == [
                "accountChange", "willFetchChanges", "fetchedDatabaseChanges 1 modified, 0 deleted",
                "willFetchRecordZoneChanges", "fetchedRecordZoneChanges 1 modified, 0 deleted",
                "didFetchRecordZoneChanges", "didFetchChanges",
            ])
        phone.state.add(pendingRecordZoneChanges: [.deleteRecord(id("a"))])
        try await phone.sendChanges()
        try await tablet.fetchChanges()
        #expect(there.value.texts.isEmpty)
    }

    @Test func aConflictIsDeliveredToTheApp() async throws {
        let cloud = try TestCloud()
        let (here, there) = (Notes(), Notes())
        let phone = here.engine(on: try await cloud.device("phone"))
        let tablet = there.engine(on: try await cloud.device("tablet"))
        for (notes, engine, text) in [(here, phone, "one"), (there, tablet, "two")] {
            notes.write(text, "a")
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
            try await engine.sendChanges()
        }
        #expect(there.value.failures.map(\.code) == [.serverRecordChanged])
        #expect(tablet.state.pendingRecordZoneChanges.isEmpty)
        try await phone.fetchChanges()
        #expect(here.value.texts == ["a": "two"])
    }

    /// As Apple's sample code does it.
    @Test(.timeLimit(.minutes(1)), arguments: [CKSyncEngine.SendChangesOptions.Scope.all, .recordIDs([id("a")])])
    func aMissingZoneIsSavedBeforeItsRecordIsSentAgain(_ scope: CKSyncEngine.SendChangesOptions.Scope) async throws {
        let notes = Notes()
        let engine = notes.engine(on: try await TestCloud().device("phone"))
        notes.write("hello", "a")
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        try await engine.sendChanges(CKSyncEngine.SendChangesOptions(scope: scope))
        #expect(notes.value.failures.map(\.code) == [.zoneNotFound])
        #expect(
            notes.value.events.suffix(4) == [
                "sentRecordZoneChanges 0 saved, 1 failed", "sentDatabaseChanges 1 saved, 0 deleted",
                "sentRecordZoneChanges 1 saved, 0 failed", "didSendChanges",
            ])
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func aRecordThatStaysWithoutItsZoneEndsTheSend() async throws {
        let notes = Notes()
        notes.addNoZones()
        let engine = notes.engine(on: try await TestCloud().device("phone"))
        notes.write("hello", "a")
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        let failure = await error { try await engine.sendChanges() }
        #expect(failure?.code == .zoneNotFound)
        #expect(notes.value.failures.map(\.code) == [.zoneNotFound, .zoneNotFound])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
    }

    @Test func theStateCarriesOnInTheNextProcess() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        let notes = Notes()
        let first = notes.engine(on: device)
        first.state.add(pendingRecordZoneChanges: [.saveRecord(id("a")), .deleteRecord(id("b"))])
        first.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        try await first.fetchChanges()
        let state = try #require(notes.value.state)
        let data = try JSONEncoder().encode(state)
        let restored = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(
                database: device.container.privateCloudDatabase, stateSerialization: restored, delegate: notes))
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(id("a")), .deleteRecord(id("b"))])
        #expect(engine.state.pendingDatabaseChanges.count == 1)
    }

    @Test func anOppositeChangeReplacesTheFirst() async throws {
        let notes = Notes()
        let engine = notes.engine(on: try await TestCloud().device("phone"))
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a")), .saveRecord(id("a")), .saveRecord(id("b"))])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(id("a")), .saveRecord(id("b"))])
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(id("a"))])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(id("b")), .deleteRecord(id("a"))])
        engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id("b"))])
        #expect(engine.state.pendingRecordZoneChanges == [.deleteRecord(id("a"))])
    }

    @Test func aTransientFailureStaysPending() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone")
        let notes = Notes()
        let engine = notes.engine(on: device)
        notes.write("x", "a")
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        device.fail(.unreachable, operation: "records/modify")
        let failure = await error { try await engine.sendChanges() }
        #expect(failure?.code == .networkUnavailable)
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
        try await engine.sendChanges()
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func signingOutEmptiesTheState() async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone", account: "mia")
        let notes = Notes()
        let engine = notes.engine(on: device)
        try await engine.fetchChanges()
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        try await device.signIn(to: "ben")
        try await engine.fetchChanges()
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        device.signOut()
        let failure = await error { try await engine.fetchChanges() }
        #expect(failure?.code == .notAuthenticated)
        #expect(notes.value.events.filter { $0 == "accountChange" }.count == 3)
    }

    @Test func automaticEnginesNotifyEachOther() async throws {
        let cloud = try TestCloud()
        let (here, there) = (Notes(), Notes())
        let phone = here.engine(on: try await cloud.device("phone"), automatically: true)
        let tablet = there.engine(on: try await cloud.device("tablet"), automatically: true)
        here.write("hello", "a")
        phone.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        phone.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        await there.wait { $0.texts["a"] == "hello" }
        #expect(there.value.texts == ["a": "hello"])
        await tablet.cancelOperations()
    }
}
