// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

/// The exchanges that are written down in `Tests/Exchanges`, which the server's tests read, too.
@Suite struct ExchangeTests {
    private struct Exchange {
        let name: String
        let operation: String
        let request: Any?
        let answer: Any
        let status: Int

        init(_ url: URL) throws {
            name = url.lastPathComponent
            let tree = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
            operation = try #require(tree["operation"] as? String)
            request = tree["request"]
            answer = try #require(tree["answer"])
            status = try #require(tree["status"] as? Int)
        }

        static func bytes(_ tree: Any) throws -> [UInt8] { [UInt8](try JSONSerialization.data(withJSONObject: tree)) }

        var response: RecordingTransport.Answer {
            get throws { .response(TransportResponse(status: status, body: try Self.bytes(answer))) }
        }
    }

    private static func all() throws -> [Exchange] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Exchanges")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            try Exchange(folder.appendingPathComponent(name))
        }
    }

    private static func one(_ name: String) throws -> Exchange { try #require(try all().first { $0.name.hasPrefix(name) }) }

    private static func isSame(_ bytes: [UInt8], _ tree: Any) throws -> Bool {
        let other = try JSONSerialization.jsonObject(with: Data(bytes))
        return (other as? NSDictionary)?.isEqual(tree as? NSDictionary) == true
    }

    // MARK: The codec

    private static func roundTrip<Message: WireMessage>(_ type: Message.Type) -> @Sendable ([UInt8]) throws -> [UInt8] {
        { try Message(json: $0).encoded() }
    }

    private typealias Again = @Sendable ([UInt8]) throws -> [UInt8]

    private static let codecs: [String: (request: Again?, answer: Again)] = [
        "zones/modify": (roundTrip(ZonesModifyRequest.self), roundTrip(ZonesResponse.self)),
        "zones/list": (nil, roundTrip(ZonesResponse.self)),
        "records/modify": (roundTrip(ModifyRecordsRequest.self), roundTrip(ModifyRecordsResponse.self)),
        "records/lookup": (roundTrip(LookupRecordsRequest.self), roundTrip(LookupRecordsResponse.self)),
        "records/query": (roundTrip(QueryRecordsRequest.self), roundTrip(QueryRecordsResponse.self)),
        "changes/database": (roundTrip(DatabaseChangesRequest.self), roundTrip(DatabaseChangesResponse.self)),
        "changes/zone": (roundTrip(ZoneChangesRequest.self), roundTrip(ZoneChangesResponse.self)),
        "subscriptions/modify": (roundTrip(SubscriptionsModifyRequest.self), roundTrip(SubscriptionsResponse.self)),
        "subscriptions/list": (nil, roundTrip(SubscriptionsResponse.self)),
        "assets/upload": (roundTrip(AssetUploadRequest.self), roundTrip(AssetUploadResponse.self)),
        "users/caller": (nil, roundTrip(UserIdentity.self)),
        "users/discover": (roundTrip(DiscoverUsersRequest.self), roundTrip(UserIdentitiesResponse.self)),
    ]

    @Test func everyExchangeIsDecodedAndEncodedIdentically() throws {
        let all = try Self.all()
        try #require(all.count > 10)
        for exchange in all {
            let codec = try #require(Self.codecs[exchange.operation], "\(exchange.name)")
            if let request = exchange.request, let roundTripped = codec.request {
                #expect(try Self.isSame(roundTripped(Exchange.bytes(request)), request), "the request of \(exchange.name)")
            }
            let roundTripped = exchange.status == 200 ? codec.answer : Self.roundTrip(WireError.self)
            #expect(try Self.isSame(roundTripped(Exchange.bytes(exchange.answer)), exchange.answer), "the answer of \(exchange.name)")
        }
    }

    // MARK: The framework

    private let zoneID = CKRecordZone.ID(zoneName: "Garden")

    private func expectSent(_ exchange: Exchange, _ transport: RecordingTransport) throws {
        guard let wanted = exchange.request, case .bytes(let sent)? = transport.requests.first?.body else {
            #expect(exchange.request == nil, "\(exchange.name)")
            return
        }
        #expect(try Self.isSame(sent, wanted), "\(exchange.name): \(text(sent))")
    }

    @Test func theFrameworkSendsTheRecordedRequestsAndDecodesTheResponses() async throws {
        let lookup = try Self.one("05")
        var transport = RecordingTransport(try lookup.response)
        let ids = ["sage", "none"].map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        let fetched = try await container(transport).privateCloudDatabase.records(for: ids, desiredKeys: ["name"])
        try expectSent(lookup, transport)
        #expect(try fetched[ids[0]]?.get()["name"] == "Sage")
        #expect(throws: CKError.self) { try fetched[ids[1]]?.get() }

        let ask = try Self.one("06")
        transport = RecordingTransport(try ask.response)
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count > 2"))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let page = try await container(transport).privateCloudDatabase.records(
            matching: query, inZoneWith: zoneID, desiredKeys: ["count"])
        try expectSent(ask, transport)
        #expect(page.matchResults.map(\.0.recordName) == ["sage"])

        let changed = try Self.one("07")
        transport = RecordingTransport(try changed.response)
        let zones = try await container(transport).privateCloudDatabase.databaseChanges(since: nil)
        try expectSent(changed, transport)
        #expect(zones.modifications.map(\.zoneID) == [zoneID])

        let deletion = try Self.one("09")
        transport = RecordingTransport(try deletion.response)
        let leaf = CKRecord.ID(recordName: "leaf", zoneID: zoneID)
        #expect(try await container(transport).privateCloudDatabase.deleteRecord(withID: leaf) == leaf)
        try expectSent(deletion, transport)

        let conflict = try Self.one("04")
        let results = try ModifyRecordsResponse(json: try Exchange.bytes(conflict.answer)).results
        guard case .failure(_, let error, let there?) = results[0] else {
            Issue.record("the conflict brings no record")
            return
        }
        #expect(CKError(error).code == .serverRecordChanged)
        #expect(there.recordName == "leaf")
    }
}
