// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Synchronization
import Testing

private let zoneID = CKRecordZone.ID(zoneName: "Notes")

/// An app that changes its account at some event of its sync engine.
private final class AccountSwitchingApp: CKSyncEngineDelegate {
    private struct State {
        var pages: [String] = []
        var accounts: [String] = []
        var fetched: [String] = []
        var turn: (@Sendable () async -> Void)?
        var isAskedFirst = false
    }

    private let state = Mutex(State())
    private let changed = AsyncStream<Void>.makeStream()

    /// - Parameter asked: Whether the device changes hands while it is asked for a batch, else when something is to be sent.
    func write(_ pages: [String], thenOnce asked: Bool, _ turn: @escaping @Sendable () async -> Void) {
        state.withLock { state in (state.pages, state.isAskedFirst, state.turn) = (pages, asked, turn) }
    }

    var accounts: [String] { state.withLock { $0.accounts } }

    func waitForPage(_ name: String) async {
        if state.withLock({ $0.fetched.contains(name) }) { return }
        for await _ in changed.stream where state.withLock({ $0.fetched.contains(name) }) { return }
    }

    private func turn(whileAsked isAsked: Bool) async {
        let turn = state.withLock { state -> (@Sendable () async -> Void)? in
            guard state.isAskedFirst == isAsked else { return nil }
            defer { state.turn = nil }
            return state.turn
        }
        await turn?()
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .willSendChanges: await turn(whileAsked: false)
        case .accountChange(let change):
            state.withLock { state in
                switch change.changeType {
                case .signIn: state.accounts.append("in")
                case .signOut: state.accounts.append("out")
                case .switchAccounts:
                    state.accounts.append("other")
                    state.pages = []
                }
            }
        case .fetchedRecordZoneChanges(let changes):
            state.withLock { $0.fetched += changes.modifications.map(\.record.recordID.recordName) }
        default: break
        }
        changed.continuation.yield()
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await turn(whileAsked: true)
        let pages = state.withLock { $0.pages }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
            pages.contains(id.recordName) ? CKRecord(recordType: "Page", recordID: id) : nil
        }
    }
}

/// Pending changes of one account are never sent for another, at any time of the account change.
@Suite(.timeLimit(.minutes(5))) struct SyncEngineAccountTests {
    private func engine(_ device: TestDevice, _ diary: AccountSwitchingApp, automatically: Bool = false) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: device.container.privateCloudDatabase, stateSerialization: nil, delegate: diary)
        configuration.automaticallySync = automatically
        return CKSyncEngine(configuration)
    }

    private func names(_ container: CKContainer) async throws -> [String] {
        let changes = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: zoneID, since: nil)
        return changes.modificationResultsByID.keys.map(\.recordName).sorted()
    }

    @Test(arguments: [false, true]) func pendingChangesAreNotSentForAnotherAccount(_ isAsked: Bool) async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia")
        let (mia, ben) = (try await cloud.device("a", account: "mia").container, try await cloud.device("b", account: "ben").container)
        for container in [mia, ben] { try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID)) }
        let diary = AccountSwitchingApp()
        let engine = engine(phone, diary)
        diary.write(["secret"], thenOnce: isAsked) { try? await phone.signIn(to: "ben") }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: "secret", zoneID: zoneID))])
        try await engine.sendChanges()
        #expect(try await names(ben).isEmpty, "what mia wrote is not ben's")
        #expect(try await names(mia).isEmpty, "records that the app provides after mia signed out need not be mia's")
        #expect(diary.accounts == ["in", "other"])
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func signingOutDuringASendSendsNothing() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia")
        let mia = try await cloud.device("a", account: "mia").container
        try await mia.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        let diary = AccountSwitchingApp()
        let engine = engine(phone, diary)
        diary.write(["secret"], thenOnce: true) { phone.signOut() }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: "secret", zoneID: zoneID))])
        let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(error?.code == .notAuthenticated)
        #expect(try await names(mia).isEmpty)
        #expect(diary.accounts == ["in", "out"])
    }

    @Test func pushesBelongToTheSignedInAccount() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia")
        let ben = try await cloud.device("b", account: "ben").container.privateCloudDatabase
        try await ben.save(CKRecordZone(zoneID: zoneID))
        try await ben.save(CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "first", zoneID: zoneID)))
        let diary = AccountSwitchingApp()
        let engine = engine(phone, diary, automatically: true)
        try await engine.fetchChanges()
        try await phone.signIn(to: "ben")
        await diary.waitForPage("first")
        // Pending automatic fetches end before these; from now on a push must notify.
        for _ in 1...3 { try await engine.fetchChanges() }
        try await ben.save(CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "second", zoneID: zoneID)))
        await diary.waitForPage("second")
        await engine.cancelOperations()
    }
}
