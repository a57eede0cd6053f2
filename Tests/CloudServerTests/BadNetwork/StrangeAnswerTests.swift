// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import TestBasics
import Testing

private func answer(_ status: String, _ body: String, _ headers: String = "") -> String {
    """
    HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nConnection: close\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)
    """
}

/// Answers over real sockets that no server of ours gives, bytes that change on the way, and clocks that are far off.
@Suite struct StrangeAnswerTests {
    /// Unknown codes are errors with the server's reason, without a retry; a delay that the server requests is in the error.
    @Test(arguments: [
        (
            answer("400 Bad Request", #"{"serverErrorCode":"BRAND_NEW","reason":"because"}"#), CKError.Code.serverRejectedRequest,
            "BRAND_NEW: because", nil
        ),
        (
            answer("403 Forbidden", #"{"serverErrorCode":"ACCESS_DENIED","reason":"no","nativeErrorCode":4711}"#), .permissionFailure, "no",
            nil
        ),
        (answer("418 I'm a teapot", "short and stout"), .serverRejectedRequest, "418", nil),
        (answer("451 Unavailable", ""), .serverRejectedRequest, "451", nil),
        (
            answer("507 Insufficient", #"{"serverErrorCode":"DISK_FULL","reason":"no room","retryAfter":9}"#), .serverRejectedRequest,
            "DISK_FULL: no room", 9
        ),
        (answer("599 Whatever", "{}"), .serviceUnavailable, "599", nil),
        (answer("799 Whatever", "{}"), .networkFailure, "799", nil),
        (
            answer("503 Busy", #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"later","retryAfter":1e300}"#), .serviceUnavailable, "later",
            604_800
        ),
    ])
    func whatNobodyKnowsIsAnErrorThatSaysIt(_ text: String, _ code: CKError.Code, _ says: String, _ wait: Double?) async throws {
        try await LiveServer.run { server in
            let device = try await BadNetworkTests.Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            try await device.database.save(device.plant("sage"))
            for operation in BadNetworkTests.operations {
                device.relay.fail(.answerAll(text))
                let before = device.relay.requests.count
                let error = await #expect(throws: CKError.self) { try await operation.body(device.fresh()) }
                let place = "\(operation.name): \(String(describing: error))"
                #expect(error?.code == code, "\(place)")
                #expect(error?.localizedDescription.contains(says) == true, "\(place)")
                #expect(error?.retryAfterSeconds == wait, "\(place)")
                #expect(device.relay.requests.count == before + 1, "what was answered is not asked again")
                device.relay.heal()
                try await operation.body(device)
            }
        }
    }

    @Test func anUnknownErrorCodeFailsOnlyItsItem() async throws {
        try await LiveServer.run { server in
            let device = try await BadNetworkTests.Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let (a, b) = (device.plant("a"), device.plant("b"))
            device.relay.fail(
                .answer(
                    answer(
                        "200 OK",
                        #"""
                        {"records":[{"recordName":"a","serverErrorCode":"BRAND_NEW","reason":"because"},
                        {"recordName":"b","recordType":"Plant","recordChangeTag":"t","fields":{"count":{"value":1}}}]}
                        """#)))
            let results = try await device.database.modifyRecords(saving: [a, b], deleting: [], atomically: false).saveResults
            let error = #expect(throws: CKError.self) { try results[a.recordID]?.get() }
            #expect(error?.code == .serverRejectedRequest)
            #expect(error?.localizedDescription == "BRAND_NEW: because")
            #expect(try results[b.recordID]?.get().recordChangeTag == "t")
            #expect(a.recordChangeTag == nil, "what was not saved is still to be saved")
            #expect(a.changedKeys() == ["count"], "what was not saved is still to be saved")
        }
    }

    private func photo(_ content: Data, in folder: TemporaryFolder) throws -> URL {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = URL(fileURLWithPath: folder.path + "/photo")
        try content.write(to: file)
        return file
    }

    /// Every address redirects to the next, of the service and of assets alike: none is followed, so there cannot be a loop.
    @Test(arguments: ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
    func redirectsAreNotFollowed(_ status: String) async throws {
        let files = TemporaryFolder()
        let file = try photo(Data(repeating: 7, count: 1000), in: files)
        try await LiveServer.run { server in
            let device = try await BadNetworkTests.Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let sage = device.plant("sage")
            sage["photo"] = CKAsset(fileURL: file)
            try await device.database.save(sage)
            let found = try await device.container.client(for: .private)
                .lookupRecords(LookupRecordsRequest(recordNames: ["sage"], zoneID: LiveServer.garden))
            guard case .record(let record)? = found.results.first, case .asset(let photo)? = record.fields["photo"]?.value else {
                Issue.record("there is no asset")
                return
            }
            device.relay.fail(.answerAll(answer(status, "", "Location: \(device.relay.address)/again\r\n")))
            let before = device.relay.requests.count
            let service = await #expect(throws: CKError.self) { try await device.database.allRecordZones() }
            #expect(service?.code == .networkFailure)
            #expect(service?.localizedDescription.contains("a redirect, which is not followed") == true)
            let asset = await #expect(throws: CKError.self) { try await device.container.client(for: .private).downloadAsset(photo) }
            #expect(asset?.code == .assetNotAvailable)
            #expect(device.relay.requests.count == before + 2)
            device.relay.heal()
            #expect(try await device.container.client(for: .private).downloadAsset(photo).count == 1000)
        }
    }

    @Test func aCorruptedUploadIsRejectedByItsChecksum() async throws {
        let files = TemporaryFolder()
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let file = try photo(content, in: files)
        try await LiveServer.run { server in
            let device = try await BadNetworkTests.Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let sage = device.plant("sage")
            sage["photo"] = CKAsset(fileURL: file)
            device.relay.fail(.flipRequest)
            let error = await #expect(throws: CKError.self) { try await device.database.save(sage) }
            #expect(error?.code == .networkFailure)
            #expect(
                error?.localizedDescription
                    == "the checksum of the uploaded asset differs from that of the sent bytes; save the record again")
            await #expect(throws: CKError.self) { try await device.database.record(for: sage.recordID) }
            try await device.database.save(sage)
            let fetched = try await device.database.record(for: sage.recordID)
            let url = try #require((fetched["photo"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: url) == content)
        }
    }

    /// The server's clock is the one that counts, however far it is from the device's.
    @Test(arguments: [Int64(86_400_000), 7_258_118_400_000])
    func aSkewedDeviceClockDoesNotAffectRequests(_ milliseconds: Int64) async throws {
        let files = TemporaryFolder()
        let file = try photo(Data(repeating: 7, count: 1000), in: files)
        try await LiveServer.run { server in
            server.clock.set(milliseconds)
            let device = try await BadNetworkTests.Device(server)
            defer { device.relay.stop() }
            try await device.database.save(device.zone)
            let sage = device.plant("sage")
            sage["photo"] = CKAsset(fileURL: file)
            try await device.database.save(sage)
            #expect(sage.modificationDate == Date(timeIntervalSince1970: Double(milliseconds) / 1000))
            let open = CKRecord(recordType: "Plant")
            open["count"] = 1
            try await device.container.publicCloudDatabase.save(open)
            for operation in BadNetworkTests.operations { try await operation.body(device) }
            let fetched = try await device.database.record(for: sage.recordID)
            let url = try #require((fetched["photo"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: url).count == 1000)
            // A date to wait for is read by the clock that wrote it.
            let page = answer(
                "503 Busy", "", "Date: Fri, 31 Dec 1999 23:59:50 GMT\r\nRetry-After: Fri, 31 Dec 1999 23:59:57 GMT\r\n")
            device.relay.fail(.answer(page))
            let busy = await #expect(throws: CKError.self) { try await device.fresh().database.allRecordZones() }
            #expect(busy?.code == .serviceUnavailable)
            #expect(busy?.retryAfterSeconds == 7)
        }
    }
}
