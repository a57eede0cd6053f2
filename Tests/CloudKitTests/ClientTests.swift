// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

private let empty = ModifyRecordsRequest(operations: [])

@Suite struct ClientTests {
    @Test func aRequestHasItsPathHeadersAndBody() async throws {
        let transport = RecordingTransport(.ok(#"{"records":[{"recordName":"p","fields":{}}]}"#))
        let request = ModifyRecordsRequest(operations: [RecordOperation(.create, Record(recordName: "p", recordType: "T"))])
        let answer = try await CloudDatabaseClient(transport).modifyRecords(request, idempotencyKey: "k1")
        #expect(answer.results == [.record(Record(recordName: "p"))])
        #expect(transport.calls == ["POST /database/1/iCloud.n/development/private/records/modify"])
        #expect(try transport.body(0) == request)
        let headers = transport.requests[0].headers
        #expect(headers["x-tarn-idempotency-key"] == "k1")
        #expect(headers["X-Tarn-Capabilities"] == "access-requests,budget,idempotency-key,push-stream,server-record")
        #expect(headers["Content-Type"] == "application/json; charset=UTF-8")
    }

    @Test func theCallerIsAskedForInThePublicDatabase() async throws {
        let transport = RecordingTransport(.ok(UserIdentity(userRecordName: "_7a1c")))
        #expect(try await CloudDatabaseClient(transport).callerIdentity().userRecordName == "_7a1c")
        #expect(transport.calls == ["GET /database/1/iCloud.n/development/public/users/caller"])
    }

    @Test func anErrorOfTheWholeRequestIsThrown() async {
        let transport = RecordingTransport(.refused(WireError(.throttled, "slow down", retryAfter: 7)))
        let error = await failure { try await CloudDatabaseClient(transport).databaseChanges(DatabaseChangesRequest()) }
        #expect(error?.code == .requestRateLimited)
        #expect(error?.retryAfterSeconds == 7)
        #expect(error?.localizedDescription == "slow down")
    }

    @Test(arguments: [
        (401, CKError.Code.notAuthenticated), (421, .notAuthenticated), (403, .permissionFailure), (413, .limitExceeded),
        (429, .requestRateLimited), (500, .serviceUnavailable), (502, .serviceUnavailable), (503, .serviceUnavailable),
        (404, .serverRejectedRequest), (302, .networkFailure),
    ])
    func aStatusWithoutReasonStillHasACode(_ status: Int, _ code: CKError.Code) async {
        let transport = RecordingTransport(
            .response(TransportResponse(status: status, headers: ["retry-after": "4"], body: Array("<html>".utf8))))
        let error = await failure { try await CloudDatabaseClient(transport).listZones() }
        #expect(error?.code == code)
        #expect(error?.retryAfterSeconds == 4)
    }

    /// The server behind a gateway may have executed the request.
    @Test(arguments: [(502, CKError.Code.serverResponseLost), (503, .serviceUnavailable), (504, .serverResponseLost)])
    func aSaveThatAGatewayAnswersIsInDoubt(_ status: Int, _ code: CKError.Code) async {
        let transport = RecordingTransport(
            .response(TransportResponse(status: status, headers: ["retry-after": "4"], body: Array("<html>".utf8))))
        let error = await failure { try await CloudDatabaseClient(transport).modifyRecords(empty, idempotencyKey: "k") }
        #expect(error?.code == code)
        #expect(error?.retryAfterSeconds == 4)
        #expect(error?.localizedDescription.contains("\(status)") == true)
    }

    /// The server lost its database during the commit.
    @Test func aSaveThatTheServerLeavesInDoubtHasALostResponse() async {
        let inDoubt = WireError(.tryAgainLater, "in doubt", retryAfter: 1, nativeCode: .serverResponseLost)
        let error = await failure {
            try await CloudDatabaseClient(RecordingTransport(.refused(inDoubt))).modifyRecords(empty, idempotencyKey: "k")
        }
        #expect(error?.code == .serverResponseLost)
        #expect(error?.retryAfterSeconds == 1)
    }

    @Test func anInvalidResponseIsOneErrorMessage() async {
        let page = TransportResponse(status: 200, headers: ["content-type": "text/html"], body: Array("<html>".utf8))
        let web = await failure { try await CloudDatabaseClient(RecordingTransport(.response(page))).listZones() }
        #expect(web?.code == .networkFailure)
        #expect(web?.localizedDescription == "the response is a web page; is the configured address that of a Tarn server?")
        let half = await failure { try await CloudDatabaseClient(RecordingTransport(.ok(#"{"zones":["#))).listZones() }
        #expect(half?.localizedDescription == "the server's response cannot be decoded (the text ends too early, at zones[0] (byte 10))")
        let few = await failure {
            try await CloudDatabaseClient(RecordingTransport(.ok(#"{"zones":[]}"#)))
                .modifyZones(ZonesModifyRequest(operations: [.create(ZoneID(zoneName: "G"))]))
        }
        #expect(few?.localizedDescription == "the server returned 0 results for 1 operations")
    }

    /// Unknown errors, and responses that no server sends.
    @Test(arguments: [
        (#"{"serverErrorCode":"BRAND_NEW","reason":"because"}"#, 400), (#"{"serverErrorCode":7,"reason":null}"#, 400),
        (#"{"serverErrorCode":"CONFLICT","reason":"r","nativeErrorCode":123456}"#, 409),
        (#"{"serverErrorCode":"THROTTLED","retryAfter":-1}"#, 503),
        (#"{"serverErrorCode":"THROTTLED","reason":"r","retryAfter":1e308}"#, 429), ("null", 200), ("[]", 200), ("7", 200), ("", 200),
        (#"{"zones":{}}"#, 200), (#"{"zones":[{}]}"#, 200), (#"{"zones":[{"zoneID":{"zoneName":7}}]}"#, 200),
        (#"{"zones":[{"zoneID":{"zoneName":"G"},"serverErrorCode":"BRAND_NEW","reason":"r"}]"#, 200),
        (String(repeating: "[", count: 100_000), 200), (#"{"zones":"# + String(repeating: "[", count: 100_000), 200),
        ("\u{0}\u{1}", 200), ("{\"zones\":[\u{FFFD}]}", 200),
    ])
    func anUnexpectedResponseIsAnError(_ body: String, _ status: Int) async {
        let answer = TransportResponse(status: status, body: Array(body.utf8))
        let error = await failure { try await CloudDatabaseClient(RecordingTransport(.response(answer))).listZones() }
        #expect(error?.localizedDescription.isEmpty == false)
        #expect(error?.retryAfterSeconds.map { $0 >= 0 } ?? true)
    }

    @Test func aRejectedAtomicRequestHasItsItemsWithEitherStatus() async throws {
        let items = ModifyRecordsResponse(results: [.failure(recordName: "p", WireError(.conflict, "stale"), serverRecord: nil)])
        let request = ModifyRecordsRequest(operations: [RecordOperation(.update, Record(recordName: "p"))])
        for status in [200, 400] {
            let transport = RecordingTransport(.response(TransportResponse(status: status, body: items.encoded())))
            #expect(try await CloudDatabaseClient(transport).modifyRecords(request, idempotencyKey: "k") == items)
        }
    }

    @Test func aRequestThatIsTooLargeIsNotSent() async {
        let transport = RecordingTransport()
        var client = CloudDatabaseClient(transport)
        client.limits.requestBodyBytes = empty.encoded().count - 1
        let error = await failure { try await client.modifyRecords(empty, idempotencyKey: "k") }
        #expect(error?.code == .limitExceeded)
        #expect(transport.requests.isEmpty)
    }

    @Test func cancellationIsACode() async {
        let transport = RecordingTransport(.failure(CancellationError()))
        let error = await failure { try await CloudDatabaseClient(transport).listZones() }
        #expect(error?.code == .operationCancelled)
    }
}

@Suite struct AssetTests {
    private let value = AssetValue(fileChecksum: "AQ3f", size: 5, receipt: "Ax0")
    private let granted = AssetUploadResponse(results: [
        .address(AssetUploadAddress(recordName: "p", fieldName: "photo", url: "/u/1"))
    ])

    private func upload(_ source: AssetSource, _ transport: RecordingTransport) async throws(CKError) -> AssetValue {
        try await CloudDatabaseClient(transport)
            .uploadAsset(source, recordType: "T", recordName: "p", fieldName: "photo")
    }

    @Test func anUploadAsksForAnAddressAndSendsTheBytesThere() async throws {
        let transport = RecordingTransport(.ok(granted), .ok(AssetUploadReceipt(asset: value)))
        #expect(try await upload(.bytes(Array("hello".utf8)), transport) == value)
        #expect(transport.calls == ["POST /database/1/iCloud.n/development/private/assets/upload", "POST asset /u/1"])
        guard case .bytes(let sent) = transport.requests[1].body else {
            Issue.record("no bytes were sent")
            return
        }
        #expect(text(sent) == "hello")
    }

    @Test func anInvalidUploadIsRejected() async throws {
        let missing = await failure { try await upload(.file(URL(fileURLWithPath: "/nowhere/x")), RecordingTransport()) }
        #expect(missing?.code == .assetFileNotFound)
        let short = RecordingTransport(.ok(granted), .ok(AssetUploadReceipt(asset: value)))
        #expect(await failure { try await upload(.bytes([1]), short) }?.code == .networkFailure)
        let full = AssetUploadResponse(results: [.failure(recordName: "p", fieldName: nil, WireError(.quotaExceeded, "full"))])
        #expect(await failure { try await upload(.bytes([1]), RecordingTransport(.ok(full))) }?.code == .quotaExceeded)
    }

    @Test func aDownloadIsCheckedAgainstItsSizeAndAppearsWhole() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("photo")
        let asset = AssetValue(fileChecksum: "x", size: 5, downloadURL: "https://a.example/${f}?k=1")
        let transport = RecordingTransport(
            .pieces(status: 200, [Array("hel".utf8), Array("lo".utf8)], endless: false),
            .pieces(status: 200, [Array("hel".utf8)], endless: false), .pieces(status: 206, [], endless: false),
            .pieces(status: 206, [], endless: false),
            .pieces(status: 200, [Array("hello and more".utf8)], endless: true),
            .pieces(status: 404, [], endless: false))
        let client = CloudDatabaseClient(transport)
        try await client.downloadAsset(asset, to: file)
        #expect(try String(contentsOf: file, encoding: .utf8) == "hello")
        #expect(transport.calls == ["GET asset https://a.example/asset?k=1"])
        #expect(await failure { try await client.downloadAsset(asset) }?.code == .networkFailure)
        #expect(await failure { try await client.downloadAsset(asset, to: file) }?.code == .networkFailure)
        #expect(await failure { try await client.downloadAsset(asset) }?.code == .assetNotAvailable)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["photo"])
    }

    @Test func anInterruptedDownloadResumes() async throws {
        let asset = AssetValue(fileChecksum: "x", size: 5, downloadURL: "/a/1")
        let transport = RecordingTransport(
            .pieces(status: 200, [Array("he".utf8)], endless: false), .pieces(status: 206, [Array("l".utf8)], endless: false),
            .pieces(status: 206, [], endless: false), .pieces(status: 206, [Array("lo".utf8)], endless: false))
        let client = CloudDatabaseClient(transport)
        #expect(text(try await client.downloadAsset(asset)) == "hello")
        #expect(transport.requests.map { $0.headers["Range"] } == [nil, "bytes=2-", "bytes=3-", "bytes=3-"])
        let stuck = RecordingTransport(
            .pieces(status: 200, [Array("he".utf8)], endless: false), .pieces(status: 206, [], endless: false),
            .pieces(status: 206, [], endless: false))
        let error = await failure { try await CloudDatabaseClient(stuck).downloadAsset(asset) }
        #expect(error?.code == .networkFailure)
        #expect(stuck.requests.count == 3)
    }
}
