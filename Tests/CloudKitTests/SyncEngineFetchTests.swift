// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudKit
import CloudWire
import Synchronization
import Testing

/// An app that notes the names of fetched records.
private final class FetchedNames: CKSyncEngineDelegate {
    private let names = Mutex<[String]>([])

    var all: [String] { names.withLock { $0 } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .fetchedRecordZoneChanges(let changes) = event else { return }
        names.withLock { $0 += changes.modifications.map(\.record.recordID.recordName) }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

/// An app that notes the engine's token when it receives a list of zones.
private final class Tokens: CKSyncEngineDelegate {
    private let texts = Mutex<[String?]>([])

    var all: [String?] { texts.withLock { $0 } }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .fetchedDatabaseChanges = event else { return }
        let text = syncEngine.state.stored.value.databaseToken?.text
        texts.withLock { $0.append(text) }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

/// Zones that cannot be fetched, and the order of tokens and events.
@Suite(.timeLimit(.minutes(1))) struct SyncEngineFetchTests {
    private let caller = RecordingTransport.Answer.ok(UserIdentity(userRecordName: "_mia"))

    private func engine(_ transport: RecordingTransport, _ delegate: some CKSyncEngineDelegate) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: container(transport).privateCloudDatabase, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    private func list(_ names: String...) -> RecordingTransport.Answer {
        .ok(
            DatabaseChangesResponse(
                zones: names.map { ZoneChange(zoneID: ZoneID(zoneName: $0)) }, syncToken: "database", moreComing: false))
    }

    private func page(_ zone: String, _ record: Record) -> RecordingTransport.Answer {
        let changes = ZoneChanges(zoneID: ZoneID(zoneName: zone), records: [record], syncToken: zone, moreComing: false)
        return .ok(ZoneChangesResponse(zones: [.changes(changes)]))
    }

    /// Its changes are in no later list of zones.
    @Test func aBusyZoneStaysToBeFetched() async throws {
        let busy = WireError(.tryAgainLater, "busy", nativeCode: .zoneBusy)
        let transport = RecordingTransport(
            caller, list("Notes"), .ok(ZoneChangesResponse(zones: [.failure(ZoneID(zoneName: "Notes"), busy)])))
        let names = FetchedNames()
        let engine = engine(transport, names)
        let error = await failure { try await engine.fetchChanges() }
        #expect(error?.code == .zoneBusy)
        #expect(engine.state.zoneIDsWithUnfetchedServerChanges.map(\.zoneName) == ["Notes"])
    }

    @Test func aLostAssetDoesNotBlockOtherZones() async throws {
        let asset = AssetValue(fileChecksum: "checksum", size: 3, downloadURL: "https://assets.invalid/lost")
        let photo = Record(recordName: "photo", recordType: "Photo", recordChangeTag: "1", fields: ["file": Field(.asset(asset))])
        let transport = RecordingTransport(
            caller, list("Photos", "Notes"), page("Photos", photo), .response(TransportResponse(status: 404)),
            page("Notes", Record(recordName: "note", recordType: "Note", recordChangeTag: "2")))
        let names = FetchedNames()
        let engine = engine(transport, names)
        let error = await failure { try await engine.fetchChanges() }
        #expect(error?.code == .assetNotAvailable)
        #expect(names.all == ["note"])
        #expect(engine.state.zoneIDsWithUnfetchedServerChanges.map(\.zoneName) == ["Photos"])
    }

    /// A process that ends before the app has handled the event must get it again: a zone that was deleted is in no later list.
    @Test func theDatabaseTokenIsStoredBehindItsEvent() async throws {
        let transport = RecordingTransport(
            caller, list("Notes"), page("Notes", Record(recordName: "note", recordType: "Note", recordChangeTag: "1")))
        let tokens = Tokens()
        let engine = engine(transport, tokens)
        try await engine.fetchChanges()
        #expect(tokens.all == [nil])
        #expect(engine.state.stored.value.databaseToken?.text == "database")
    }
}
