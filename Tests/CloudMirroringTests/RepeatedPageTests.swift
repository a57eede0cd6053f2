// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import MirroringCore
import Synchronization
import TestBasics
import Testing

/// Servers that repeat the positions of their pages: a store reports an error instead of reading without end.
@Suite(.closesFixtures, .timeLimit(.minutes(2))) struct RepeatedPageTests {
    /// Responds to each request of an operation with the next body, and with the last one from then on.
    private final class RepeatingTransport: CloudTransport {
        private let base: InProcessTransport
        private let operation: String
        private let bodies: [[UInt8]]
        private let requests = Atomic(0)
        var needsIdleTimeout: Bool { base.needsIdleTimeout }
        var credential: String? { base.credential }
        var count: Int { requests.load(ordering: .relaxed) }

        init(_ base: InProcessTransport, _ operation: String, _ bodies: [[UInt8]]) {
            (self.base, self.operation, self.bodies) = (base, operation, bodies)
        }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            guard case .service(let path) = request.target, path.hasSuffix(operation) else { return try await base.send(request) }
            let number = requests.add(1, ordering: .relaxed).oldValue
            return TransportResponse(status: 200, body: bodies[min(number, bodies.count - 1)])
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
    }

    /// Syncs a new device until its status is an error.
    ///
    /// - Returns: The reason, and the number of answered requests.
    private func error(
        _ cloud: InProcessCloud, _ operation: String, _ bodies: [[UInt8]],
        describe: (NSPersistentStoreDescription) throws -> Void = { _ in }
    ) async throws -> (reason: String, requests: Int) {
        let base = try await cloud.addUser("mia", device: "phone")
        let transport = RepeatingTransport(base, operation, bodies)
        let phone = try Device("phone", base, over: transport, describe: describe)
        try await phone.until { status in if case .error = status.activity { true } else { false } }
        let activity = phone.container.syncStatus.activity
        let requests = transport.count
        try await phone.kill()
        guard case .error(let reason) = activity else { return ("", requests) }
        return (reason, requests)
    }

    private func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }

    private func page(_ token: String) -> [UInt8] {
        let page = ZoneChanges(zoneID: ZoneID(zoneName: MirrorNames.zone), records: [], syncToken: token, moreComing: true)
        return ZoneChangesResponse(zones: [.changes(page)]).encoded()
    }

    @Test func aRepeatedChangePageIsAnError() async throws {
        let (reason, requests) = try await error(try InProcessCloud(), "changes/zone", [page("same")])
        #expect(reason.contains(PagePositions.complaint))
        // Some pages are prefetched.
        #expect(requests <= 20)
    }

    @Test func aRepeatedListOfZonesIsAnError() async throws {
        let list = DatabaseChangesResponse(zones: [], syncToken: "same", moreComing: true).encoded()
        let (reason, requests) = try await error(try InProcessCloud(), "changes/database", [list])
        #expect(reason.contains(PagePositions.complaint))
        #expect(requests <= 4)
    }

    /// The times of records differ from page to page; the marker does not.
    @Test func aRepeatedMarkerOfAQueryIsAnError() async throws {
        let cloud = try InProcessCloud(offered: [])
        func response(_ number: Int64) -> [UInt8] {
            var record = Record(recordName: "r", recordType: "CD_Post", recordChangeTag: "\(number)")
            record.modified = RecordStamp(timestamp: 1_900_000_000_000 + number, userRecordName: "u")
            return QueryRecordsResponse(results: [.record(record)], continuationMarker: "again").encoded()
        }
        let responses = (0..<40).map { response(Int64($0)) }
        let (reason, requests) = try await error(cloud, "records/query", responses, describe: publish)
        #expect(reason.contains(PagePositions.complaint))
        // Fifteen of them look for missing indexes.
        #expect(requests <= 30)
    }
}
