// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

/// The client of iCloud with the forms of responses that Apple documents, and those that public reports show of the live service. The
/// data are invented.
@Suite struct RecordedShapeTests {
    private static let owner = "_7a1c5be3f2d94cf8a0f0b1d2c3e4f506"
    private let garden = ZoneID(zoneName: "Garden")

    private func client(_ transport: RecordingTransport, _ scope: DatabaseScope = .private) -> CloudDatabaseClient {
        CloudDatabaseClient(
            containerIdentifier: "iCloud.org.example.notes", environment: .development, scope: scope, transport: transport,
            dialect: .webServices)
    }

    private func answer(_ status: Int, _ json: String) -> RecordingTransport.Answer {
        .response(TransportResponse(status: status, body: Array(json.utf8)))
    }

    @Test func aLiveRecordHasMoreKeysThanTheDocuments() async throws {
        let transport = RecordingTransport(
            .ok(
                #"""
                {"records":[{"recordName":"p1","recordType":"Plant","recordChangeTag":"2f",
                "zoneID":{"zoneName":"Garden","ownerRecordName":"\#(Self.owner)","zoneType":"REGULAR_CUSTOM_ZONE"},
                "created":{"timestamp":1893553445000,"userRecordName":"\#(Self.owner)","deviceID":"3A0D"},
                "modified":{"timestamp":1893560000123,"userRecordName":"\#(Self.owner)","deviceID":"3A0D"},
                "deleted":false,"pluginFields":{},"parent":{"recordName":"bed-7"},
                "stableUrl":{"routingKey":"0ab","shortTokenHash":"x","displayedHostname":"www.icloud.com"},"displayedHostname":"www.icloud.com",
                "chainProtectionInfo":{"bytes":"AA=="},"expirationTime":null,
                "fields":{"name":{"value":"Rosemary","type":"STRING"},"planted":{"value":1893456000000,"type":"TIMESTAMP"},
                "secret":{"value":"plain","type":"STRING","isEncrypted":true},"tags":{"value":[],"type":"EMPTY_LIST"},
                "photo":{"value":{"fileChecksum":"AQ3fAAAAAAAAAAAAAAAAAAAAAAAA","size":4,"downloadURL":"https://cvws.example.org/B/x?f=${f}&sig=1"},
                "type":"ASSETID"}}},
                {"recordName":"gone","reason":"Record not found","serverErrorCode":"NOT_FOUND"}]}
                """#))
        let results = try await client(transport).lookupRecords(LookupRecordsRequest(recordNames: ["p1", "gone"], zoneID: garden)).results
        guard case .record(let record) = results[0], case .failure("gone", let error, _) = results[1] else {
            Issue.record("other results: \(results)")
            return
        }
        #expect(record.recordChangeTag == "2f")
        #expect(record.sharing.parent == "bed-7")
        #expect(record.fields["secret"] == Field(.string("plain"), isEncrypted: true))
        #expect(record.fields["tags"]?.value == .list([], of: nil))
        #expect(error.code == .notFound)
    }

    /// Checksums are opaque, and the client chooses a file name in the address.
    @Test func anAssetOfTheLiveServiceIsFetched() async throws {
        let transport = RecordingTransport(.pieces(status: 200, [[1, 2], [3, 4]], endless: false))
        let asset = AssetValue(
            fileChecksum: "AQ3fAAAAAAAAAAAAAAAAAAAAAAAA", size: 4, downloadURL: "https://cvws.example.org/B/x?f=${f}&sig=1")
        #expect(try await client(transport).downloadAsset(asset) == [1, 2, 3, 4])
        #expect(transport.calls == ["GET asset https://cvws.example.org/B/x?f=asset&sig=1"])
    }

    @Test func anAssetIsUploadedInTwoRequests() async throws {
        let transport = RecordingTransport(
            .ok(#"{"tokens":[{"recordName":"p1","fieldName":"photo","url":"https://assets.example.org/u/9f2c?sig=1"}]}"#),
            .ok(
                #"{"singleFile":{"wrappingKey":"u8kq","fileChecksum":"AQ3f","receipt":"Ax0","referenceChecksum":"AVb1","size":3}}"#))
        let asset = try await client(transport).uploadAsset(
            .bytes([1, 2, 3]), recordType: "Plant", recordName: "p1", fieldName: "photo", zoneID: garden)
        #expect(asset.receipt == "Ax0")
        #expect(asset.wrappingKey == "u8kq")
        #expect(transport.calls[1] == "POST asset https://assets.example.org/u/9f2c?sig=1")
    }

    /// `moreComing` may be missing or null, and deleted records have no type.
    @Test(arguments: ["", #""moreComing":null,"#, #""moreComing":false,"#]) func aFeedEndsWithoutMoreComing(_ member: String) async throws {
        let transport = RecordingTransport(
            .ok(
                #"""
                {"zones":[{"zoneID":{"zoneName":"Garden","ownerRecordName":"\#(Self.owner)"},"syncToken":"AQAAAAAAAAK",\#(member)
                "records":[{"recordName":"p1","recordType":"Plant","recordChangeTag":"c","fields":{}},{"recordName":"p3","deleted":true}]}]}
                """#))
        let response = try await client(transport).zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: garden)]))
        guard case .changes(let changes)? = response.zones.first else {
            Issue.record("no changes")
            return
        }
        #expect(!changes.moreComing)
        #expect(changes.syncToken == "AQAAAAAAAAK")
        #expect(changes.records.map(\.isDeleted) == [false, true])
    }

    /// Reports have both statuses of an atomic failure.
    @Test(arguments: [200, 400]) func anAtomicFailureHasTheErrorsOfItsItems(_ status: Int) async throws {
        let transport = RecordingTransport(
            answer(
                status,
                #"""
                {"records":[{"recordName":"p1","serverErrorCode":"ATOMIC_ERROR","reason":"atomic batch failed","uuid":"a"},
                {"recordName":"p2","serverErrorCode":"CONFLICT","reason":"client oplock error updating record","uuid":"a"}]}
                """#))
        let operations = ["p1", "p2"].map { RecordOperation(.update, Record(recordName: $0, recordChangeTag: "1")) }
        let response = try await client(transport).modifyRecords(
            ModifyRecordsRequest(operations: operations, zoneID: garden), idempotencyKey: "k")
        let codes = response.results.map { if case .failure(_, let error, _) = $0 { error.code.rawValue } else { "saved" } }
        #expect(codes == ["ATOMIC_ERROR", "CONFLICT"])
    }

    /// Every documented code, as the error of a whole request.
    @Test(arguments: [
        (403, "ACCESS_DENIED", CKError.Code.permissionFailure), (401, "AUTHENTICATION_FAILED", .notAuthenticated),
        (421, "AUTHENTICATION_REQUIRED", .notAuthenticated), (400, "BAD_REQUEST", .invalidArguments),
        (500, "INTERNAL_ERROR", .serverRejectedRequest), (404, "NOT_FOUND", .unknownItem), (413, "QUOTA_EXCEEDED", .quotaExceeded),
        (429, "THROTTLED", .requestRateLimited), (503, "TRY_AGAIN_LATER", .serviceUnavailable), (404, "ZONE_NOT_FOUND", .zoneNotFound),
    ])
    func documentedErrorsHaveACode(_ status: Int, _ code: String, _ expected: CKError.Code) async throws {
        let transport = RecordingTransport(
            answer(status, #"{"uuid":"f7c7a1d0","serverErrorCode":"\#(code)","reason":"text","retryAfter":12}"#))
        let error = await failure { try await client(transport).listZones() }
        #expect(error?.code == expected)
        #expect(error?.retryAfterSeconds == 12)
    }

    /// The page's wording has a list, and reports have the identity alone.
    @Test(arguments: [#"{"users":[{"userRecordName":"_1"}]}"#, #"{"userRecordName":"_1","nameComponents":{"givenName":"Mia"}}"#])
    func theCallerIsReadInBothForms(_ json: String) async throws {
        #expect(try await client(RecordingTransport(.ok(json))).callerIdentity().userRecordName == "_1")
    }

    /// A push token is created and registered, and then the web courier is polled, without a stream.
    @Test(arguments: ["{}", #"{"apnsEnvironment":"development","apnsToken":"c2Ft","webcourierURL":"https://courier.example.org/c/1"}"#])
    func theWebCourierIsPolledAfterARegistration(_ registered: String) async throws {
        let transport = RecordingTransport(
            .ok(#"{"apnsEnvironment":"development","apnsToken":"c2Ft","webcourierURL":"https://courier.example.org/c/1"}"#),
            .ok(registered),
            .ok(""),
            .ok(
                #"""
                {"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.org.example.notes","nid":"0f2e3d4c-5b6a-4798-8897-a6b5c4d3e2f1",
                "ckuserid":"_1","fet":{"sid":"garden-changes","zid":"Garden","zoid":"_1","dbs":2}}}
                """#),
            .failure(CKError(.networkFailure)))
        var events: [PushStreamEvent] = []
        let pace = ClientClock(now: { .zero }, sleep: { _ in })
        _ = await failure { for try await event in client(transport).pushStream(pace: pace) { events.append(event) } }
        #expect(events.count == 3)
        guard case .notification(let notification)? = events.last else {
            Issue.record("no notification")
            return
        }
        #expect(notification.subscriptionID == "garden-changes")
        #expect(
            transport.calls == [
                "POST /device/1/iCloud.org.example.notes/development/tokens/create",
                "POST /device/1/iCloud.org.example.notes/development/tokens/register", "GET asset https://courier.example.org/c/1",
                "GET asset https://courier.example.org/c/1", "GET asset https://courier.example.org/c/1",
            ])
    }
}
