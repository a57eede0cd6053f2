// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Synchronization
import Testing

/// Servers that repeat the positions of their pages.
@Suite(.timeLimit(.minutes(1))) struct RepeatedPageTests {
    /// Responds to a request with one of the bodies that there are for its operation, in turn and without end.
    private final class RepeatingTransport: CloudTransport {
        private let bodies: [String: [[UInt8]]]
        private let state = Mutex<[String: Int]>([:])

        init(_ bodies: [String: [[UInt8]]]) { self.bodies = bodies }

        func count(_ operation: String) -> Int { state.withLock { $0[operation] ?? 0 } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            guard case .service(let path) = request.target, let operation = bodies.keys.first(where: { path.hasSuffix($0) }),
                let list = bodies[operation]
            else { throw CKError(.internalError, "an unexpected request") }
            let number = state.withLock { counts in
                counts[operation, default: 0] += 1
                return counts[operation, default: 0] - 1
            }
            // Without an end, the test would not return.
            guard number < 100 else { throw CKError(.operationCancelled, "the client does not stop") }
            return TransportResponse(status: 200, body: list[number % list.count])
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream { throw CKError(.internalError, "no streams") }
    }

    /// An app that takes no part.
    private final class Bystander: CKSyncEngineDelegate {
        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
    }

    private static let caller = UserIdentity(userRecordName: "_mia").encoded()

    private static func zones(_ token: String, _ names: [String] = [], moreComing: Bool = true) -> [UInt8] {
        DatabaseChangesResponse(
            zones: names.map { ZoneChange(zoneID: ZoneID(zoneName: $0)) }, syncToken: token, moreComing: moreComing
        ).encoded()
    }

    private static func changes(_ tokens: [String: String]) -> [UInt8] {
        let zones = tokens.sorted { $0.key < $1.key }.map { name, token in
            ZoneChangesResult.changes(ZoneChanges(zoneID: ZoneID(zoneName: name), records: [], syncToken: token, moreComing: true))
        }
        return ZoneChangesResponse(zones: zones).encoded()
    }

    /// Containers of this process, each with an identifier of its own.
    private static let containers = Mutex(0)

    private func database(_ transport: RepeatingTransport) -> CKDatabase {
        let number = Self.containers.withLock { count in
            count += 1
            return count
        }
        let identifier = "iCloud.test.repeated.\(number)"
        CKContainer.connect(Connection(environment: .development, transport: transport), for: identifier)
        return CKContainer(identifier: identifier).privateCloudDatabase
    }

    /// Runs an operation to its end.
    private func error(_ operation: CKDatabaseOperation, on database: CKDatabase) async -> CKError? {
        await withCheckedContinuation { continuation in
            let result: @Sendable (Result<Void, any Error>) -> Void = { result in
                switch result {
                case .failure(let error): continuation.resume(returning: error as? CKError)
                case .success: continuation.resume(returning: nil)
                }
            }
            switch operation {
            case let operation as CKFetchDatabaseChangesOperation: operation.fetchDatabaseChangesResultBlock = { result($0.map { _ in }) }
            case let operation as CKFetchRecordZoneChangesOperation: operation.fetchRecordZoneChangesResultBlock = result
            default: result(.success(()))
            }
            database.add(operation)
        }
    }

    @Test(arguments: [["t"], ["t", "u"], ["t", "u", "v"]]) func aListOfChangedZonesEnds(tokens: [String]) async {
        let transport = RepeatingTransport(["changes/database": tokens.map { Self.zones($0) }])
        let error = await error(CKFetchDatabaseChangesOperation(previousServerChangeToken: nil), on: database(transport))
        #expect(error?.code == .internalError)
        #expect(transport.count("changes/database") <= 10)
    }

    @Test(arguments: [["t"], ["t", "u"], ["t", "u", "v"]]) func changesOfSeveralZonesEnd(tokens: [String]) async {
        // The first zone has new tokens for some time, as if the second one had no room.
        let bodies = tokens.map { Self.changes(["A": $0, "B": "same"]) }
        let transport = RepeatingTransport(["changes/zone": bodies])
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: ["A", "B"].map { CKRecordZone.ID(zoneName: $0) })
        let error = await error(operation, on: database(transport))
        #expect(error?.code == .internalError)
        #expect(transport.count("changes/zone") <= 10)
    }

    /// A zone behind another one may have no room in a page.
    @Test func aZoneWithoutChangesInAPageDoesNotEndTheOthers() async {
        let bodies = (0..<20).map { Self.changes(["A": "a\($0)", "B": "b\($0 / 10)"]) }
        let last = ZoneChangesResponse(
            zones: ["A", "B"].map { name in
                .changes(ZoneChanges(zoneID: ZoneID(zoneName: name), records: [], syncToken: "end", moreComing: false))
            }
        ).encoded()
        let transport = RepeatingTransport(["changes/zone": bodies + [last]])
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: ["A", "B"].map { CKRecordZone.ID(zoneName: $0) })
        let error = await error(operation, on: database(transport))
        #expect(error == nil)
        #expect(transport.count("changes/zone") == 21)
    }

    /// Apps request the pages of one zone, of a database or of a query until the last one.
    @Test func aPageThatIsRequestedByItselfHasANewPosition() async throws {
        let query = QueryRecordsResponse(results: [], continuationMarker: "again").encoded()
        let database = database(
            RepeatingTransport([
                "changes/database": [Self.zones("t")], "changes/zone": [Self.changes(["A": "t"])], "records/query": [query],
            ]))
        let zone = CKRecordZone.ID(zoneName: "A")
        let first = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
        #expect(first.moreComing)
        let ofZone = await failure { try await database.recordZoneChanges(inZoneWith: zone, since: first.changeToken) }
        #expect(ofZone?.code == .internalError)
        let list = try await database.databaseChanges(since: nil)
        let ofDatabase = await failure { try await database.databaseChanges(since: list.changeToken) }
        #expect(ofDatabase?.code == .internalError)
        let matches = try await database.records(matching: CKQuery(recordType: "Plant", predicate: NSPredicate(value: true)))
        let cursor = try #require(matches.queryCursor)
        let ofQuery = await failure { try await database.records(continuingMatchFrom: cursor) }
        #expect(ofQuery?.code == .internalError)
    }

    private func fetch(_ transport: RepeatingTransport) async -> CKError? {
        let delegate = Bystander()
        var configuration = CKSyncEngine.Configuration(database: database(transport), stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        let error = await failure { try await engine.fetchChanges() }
        withExtendedLifetime(delegate) {}
        return error
    }

    @Test func aSyncEngineStopsAtARepeatedListOfZones() async {
        let transport = RepeatingTransport(["users/caller": [Self.caller], "changes/database": [Self.zones("t"), Self.zones("u")]])
        let error = await fetch(transport)
        #expect(error?.code == .internalError)
        #expect(transport.count("changes/database") <= 10)
    }

    @Test func aSyncEngineStopsAtRepeatedChangesOfAZone() async {
        let transport = RepeatingTransport([
            "users/caller": [Self.caller], "changes/database": [Self.zones("t", ["A"], moreComing: false)],
            "changes/zone": [Self.changes(["A": "t"]), Self.changes(["A": "u"])],
        ])
        let error = await fetch(transport)
        #expect(error?.code == .internalError)
        #expect(transport.count("changes/zone") <= 10)
    }

    /// Each page has a token that the server rejects in the next request.
    @Test func aSyncEngineStopsAtTokensThatExpireAgainAndAgain() async {
        let expired = ZoneChangesResponse(zones: [
            .failure(ZoneID(zoneName: "A"), WireError(.badRequest, "old", nativeCode: .changeTokenExpired))
        ]).encoded()
        let transport = RepeatingTransport([
            "users/caller": [Self.caller], "changes/database": [Self.zones("t", ["A"], moreComing: false)],
            "changes/zone": [Self.changes(["A": "t"]), expired],
        ])
        let error = await fetch(transport)
        #expect(error?.code == .changeTokenExpired)
        #expect(transport.count("changes/zone") == 4)
    }
}
