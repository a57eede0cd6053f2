// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Synchronization
import Testing

/// SHA-256 of `hello`.
private let helloChecksum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

private final class ProgressLog: Sendable {
    private let parts = Mutex<[Double]>([])
    var all: [Double] { parts.withLock { $0 } }
    func add(_ part: Double) { parts.withLock { $0.append(part) } }
}

@Suite struct AssetTransferTests {
    private func asset(_ checksum: String = helloChecksum) -> AssetValue {
        AssetValue(fileChecksum: checksum, size: 5, downloadURL: "/a/1")
    }

    @Test func contentWithWrongChecksumIsRejectedAndLeavesNoFile() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("photo")
        let transport = RecordingTransport(
            .pieces(status: 200, [Array("hallo".utf8)], endless: false), .pieces(status: 200, [Array("hello".utf8)], endless: false))
        let client = CloudDatabaseClient(transport)
        let error = await failure { try await client.downloadAsset(asset(), to: file) }
        #expect(error?.code == .networkFailure)
        #expect(error?.localizedDescription == "the checksum of a downloaded asset differs from its record's; fetch the record again")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        try await client.downloadAsset(asset(), to: file)
        #expect(try String(contentsOf: file, encoding: .utf8) == "hello")
    }

    @Test func aSignatureOfAnotherServiceIsAccepted() async throws {
        let transport = RecordingTransport(.pieces(status: 200, [Array("hallo".utf8)], endless: false))
        let other = String(helloChecksum.dropLast(1)) + "g"
        #expect(text(try await CloudDatabaseClient(transport).downloadAsset(asset(other))) == "hallo")
    }

    @Test func downloadSkipsReceivedBytesIfRangesAreIgnored() async throws {
        let transport = RecordingTransport(
            .pieces(status: 200, [Array("hel".utf8)], endless: false),
            .pieces(status: 200, [Array("he".utf8), Array("ll".utf8), Array("o".utf8)], endless: false))
        #expect(text(try await CloudDatabaseClient(transport).downloadAsset(asset())) == "hello")
        #expect(transport.requests.map { $0.headers["Range"] } == [nil, "bytes=3-"])
    }

    @Test func downloadResumesAfterAnIdleTimeout() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("photo")
        let clock = ManualClock()
        let transport = RecordingTransport(
            .pieces(status: 200, [Array("hel".utf8)], endless: true), .pieces(status: 206, [Array("lo".utf8)], endless: false))
        let progress = ByteProgress(total: 5) { part in
            guard part == 0.6 else { return }
            await clock.untilATaskSleeps()
            clock.advance(by: CloudDatabaseClient.idleTimeout)
        }
        try await CloudDatabaseClient(transport).downloadAsset(asset(), to: file, progress: progress, clock: clock)
        #expect(try String(contentsOf: file, encoding: .utf8) == "hello")
        #expect(transport.requests.map { $0.headers["Range"] } == [nil, "bytes=3-"])
    }

    @Test(arguments: [(429, CKError.Code.requestRateLimited), (503, .serviceUnavailable), (404, .assetNotAvailable)])
    func aRejectedDownloadHasARetriableCodeOrNot(_ status: Int, _ code: CKError.Code) async {
        let transport = RecordingTransport(.pieces(status: status, [], endless: false))
        #expect(await failure { try await CloudDatabaseClient(transport).downloadAsset(asset()) }?.code == code)
    }

    /// Mirrors quarantine the values of missing assets, and retry other downloads.
    @Test(arguments: [(404, true), (410, true), (401, false), (403, false), (416, false), (503, false)])
    func onlyAMissingAssetIsMarkedAsMissing(_ status: Int, _ isMissing: Bool) async throws {
        let transport = RecordingTransport(.pieces(status: status, [], endless: false))
        let error = try #require(await failure { try await CloudDatabaseClient(transport).downloadAsset(asset()) })
        #expect((error.userInfo[CKError.assetMissingKey] != nil) == isMissing)
    }

    @Test func progressIsReportedInStepsAndNeverDecreases() async {
        let parts = ProgressLog()
        let progress = ByteProgress(total: 1000) { parts.add($0) }
        for _ in 0..<50 { await progress.moved(1) }
        #expect(parts.all == [0.01, 0.02, 0.03, 0.04, 0.05])
        await progress.moved(-50)
        await progress.moved(40)
        #expect(parts.all.count == 5)
        await progress.moved(960)
        #expect(parts.all.last == 0.99)
    }

    @Test func aFileIsHashedWhileItIsSent() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("asset")
        try Data("hello".utf8).write(to: file)
        let granted = AssetUploadResponse(results: [
            .address(AssetUploadAddress(recordName: "p", fieldName: "photo", url: "/u/1"))
        ])
        for (checksum, isGood) in [(helloChecksum, true), (helloChecksum.replacing("2cf2", with: "0000"), false), ("AQ3f", true)] {
            let receipt = AssetUploadReceipt(asset: AssetValue(fileChecksum: checksum, size: 5, receipt: "r"))
            let client = CloudDatabaseClient(RecordingTransport(.ok(granted), .ok(receipt)))
            let result = await Result {
                try await client.uploadAsset(.file(file), recordType: "T", recordName: "p", fieldName: "photo")
            }
            #expect((try? result.get()) == (isGood ? receipt.asset : nil))
        }
    }
}

@Suite struct UploadInPartsTests {
    private let granted: RecordingTransport.Answer = {
        let address = AssetUploadAddress(recordName: "p", fieldName: "photo", url: "/u/1")
        return .response(
            TransportResponse(
                status: 200, headers: ["X-Tarn-Capabilities": "push-stream,resumable-upload"],
                body: AssetUploadResponse(results: [.address(address)]).encoded()))
    }()
    private let receipt = RecordingTransport.Answer.ok(
        AssetUploadReceipt(asset: AssetValue(fileChecksum: helloChecksum, size: 5, receipt: "r")))

    private func at(_ offset: Int, status: Int = 204) -> RecordingTransport.Answer {
        .response(TransportResponse(status: status, headers: ["Upload-Offset": "\(offset)", "Upload-Complete": "?0"]))
    }

    private func upload(_ transport: RecordingTransport) async throws -> AssetValue {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("asset")
        try Data("hello".utf8).write(to: file)
        return try await CloudDatabaseClient(transport)
            .uploadAsset(.file(file), recordType: "T", recordName: "p", fieldName: "photo")
    }

    @Test func anInterruptedUploadResumesAtTheServersOffset() async throws {
        let broken = RecordingTransport.Answer.failure(CKError(.networkFailure, "broken"))
        let transport = RecordingTransport(granted, broken, at(2), broken, at(4), receipt)
        #expect(try await upload(transport).fileChecksum == helloChecksum)
        #expect(
            transport.calls.dropFirst() == [
                "PATCH asset /u/1", "HEAD asset /u/1", "PATCH asset /u/1", "HEAD asset /u/1", "PATCH asset /u/1",
            ])
        #expect(transport.requests.compactMap { $0.headers["Upload-Offset"] } == ["0", "2", "4"])
        #expect(transport.requests.compactMap { $0.headers["Upload-Complete"] } == ["?1", "?1", "?1"])
        #expect(transport.requests.map(\.body.byteCount).dropFirst() == [5, 0, 3, 0, 1])
    }

    @Test func uploadFollowsTheServersOffsetAfterAConflict() async throws {
        let transport = RecordingTransport(granted, at(3, status: 409), receipt)
        #expect(try await upload(transport).size == 5)
        #expect(transport.requests.compactMap { $0.headers["Upload-Offset"] } == ["0", "3"])
    }

    @Test func uploadEndsAfterAnAttemptWithoutProgress() async throws {
        let broken = RecordingTransport.Answer.failure(CKError(.networkFailure, "broken"))
        let transport = RecordingTransport(granted, broken, at(0), broken, at(0))
        #expect(await failure { try await upload(transport) }?.localizedDescription == "broken")
        let deleted = RecordingTransport(granted, .refused(WireError(.accessDenied, "expired")))
        #expect(await failure { try await upload(deleted) }?.code == .permissionFailure)
        #expect(deleted.requests.count == 2)
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

@Suite struct WaitingTests {
    private func seconds(_ headers: TransportHeaders) async -> Double? {
        let transport = RecordingTransport(.response(TransportResponse(status: 503, headers: headers)))
        return await failure { try await CloudDatabaseClient(transport).listZones() }?.retryAfterSeconds
    }

    @Test func aRetryAfterDateIsReadByTheServersClock() async {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(await seconds(["Retry-After": date, "Date": "Sun, 06 Nov 1994 08:48:30 GMT"]) == 67)
        #expect(await seconds(["Retry-After": date, "Date": "Mon, 07 Nov 1994 08:48:30 GMT"]) == 0)
        #expect(await seconds(["Retry-After": "Thu, 29 Feb 2024 00:00:00 GMT", "Date": "Wed, 28 Feb 2024 23:59:59 GMT"]) == 1)
        #expect(await seconds(["Retry-After": "Fri, 01 Mar 2024 00:00:00 GMT", "Date": "Wed, 28 Feb 2024 00:00:00 GMT"]) == 172_800)
        #expect(await seconds(["Retry-After": date]) == 0)
        for nonsense in ["soon", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "nan", "-5", "inf"] {
            #expect(await seconds(["Retry-After": nonsense]) == nil, "\(nonsense)")
        }
    }

    private func answer(remaining: Int) -> RecordingTransport.Answer {
        .response(
            TransportResponse(
                status: 200,
                headers: ["RateLimit-Limit": "60", "RateLimit-Remaining": "\(remaining)", "RateLimit-Reset": "60"],
                body: ZonesResponse(zones: []).encoded()))
    }

    @Test func requestsAreDelayedOnceTheRateLimitIsExhausted() async throws {
        let time = Mutex(Duration.zero)
        let clock = ClientClock(now: { time.withLock { $0 } }, sleep: { wait in time.withLock { $0 += wait } })
        let transport = RecordingTransport(
            answer(remaining: 1), answer(remaining: 0), answer(remaining: 0), answer(remaining: 0), answer(remaining: 5),
            answer(remaining: 4))
        let connection = Connection(environment: .development, transport: transport, clock: clock)
        let container = CKContainer(identifier: "iCloud.n", connection: OwnConnection(connection))
        var times: [Duration] = []
        for _ in 0..<6 {
            _ = try await container.privateCloudDatabase.allRecordZones()
            times.append(time.withLock { $0 })
        }
        #expect(times == [.zero, .zero, .seconds(1), .seconds(2), .seconds(3), .seconds(3)])
        #expect(transport.requests.count == 6)
    }

    @Test func aLongRateLimitDelayFailsImmediately() async throws {
        let clock = ClientClock(now: { .zero }, sleep: { _ in Issue.record("no caller waits for that long") })
        let slow = RecordingTransport.Answer.response(
            TransportResponse(
                status: 200, headers: ["RateLimit-Limit": "1", "RateLimit-Remaining": "0", "RateLimit-Reset": "60"],
                body: ZonesResponse(zones: []).encoded()))
        let transport = RecordingTransport(slow)
        let connection = Connection(environment: .development, transport: transport, clock: clock)
        let database = CKContainer(identifier: "iCloud.n", connection: OwnConnection(connection)).privateCloudDatabase
        _ = try await database.allRecordZones()
        let error = await failure { try await database.allRecordZones() }
        #expect(error?.code == .requestRateLimited)
        #expect(error?.retryAfterSeconds == 60)
        #expect(transport.requests.count == 1)
    }

    @Test func anOperationEndsAtItsResourceTimeout() async throws {
        let time = Mutex(Duration.zero)
        let clock = ClientClock(now: { time.withLock { $0 } }, sleep: { wait in time.withLock { $0 += wait } })
        let transport = RecordingTransport(.ok(ZonesResponse(zones: [])))
        let connection = Connection(environment: .development, transport: transport, clock: clock)
        let container = CKContainer(identifier: "iCloud.n", connection: OwnConnection(connection))
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 60
        configuration.timeoutIntervalForResource = 10
        try await container.privateCloudDatabase.configuredWith(configuration: configuration) { database in
            _ = try await database.allRecordZones()
        }
        #expect(transport.requests.map(\.timeout) == [.seconds(10)])
    }
}

@Suite struct TimeLimitTests {
    @Test(arguments: [Double.infinity, .greatestFiniteMagnitude, -1, .nan])
    func timeoutsBeyondAClocksRangeAreClamped(_ seconds: Double) async throws {
        let transport = RecordingTransport(.ok(#"{"zones":[]}"#))
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = seconds
        try await container(transport).privateCloudDatabase.configuredWith(configuration: configuration) { database in
            _ = try await database.allRecordZones()
        }
        configuration.timeoutIntervalForResource = seconds
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        operation.configuration = configuration
        let result = await withCheckedContinuation { continuation in
            operation.fetchRecordZonesResultBlock = { continuation.resume(returning: $0) }
            container(RecordingTransport(.ok(#"{"zones":[]}"#))).privateCloudDatabase.add(operation)
        }
        #expect((try? result.get()) != nil || !(seconds > 0), "a timeout of zero ends immediately")
    }
}

@Suite struct SecretTests {
    @Test func secretsAreNotPrinted() async throws {
        var asset = AssetValue(
            fileChecksum: "sum", size: 3, receipt: "s3cr3t-receipt", downloadURL: "https://c.example/s3cr3t-address")
        asset.wrappingKey = "s3cr3t-key"
        let record = CKRecord(
            Record(recordName: "p", recordType: "T", fields: ["photo": Field(.asset(asset))]), in: .default, scope: .private)
        let configuration = CKContainer.Configuration(server: "http://127.0.0.1:1", token: "s3cr3t-token")
        let container = CKContainer(identifier: "iCloud.secret." + UUID().uuidString)
        CKContainer.configure(configuration, for: container.containerIdentifier)
        let unreachable = await failure { try await container.privateCloudDatabase.allRecordZones() }
        let things: [Any] = [
            asset, record, record["photo"] as Any, configuration, container, container.privateCloudDatabase,
            try container.client(for: .private), unreachable as Any,
            AssetUploadAddress(recordName: "p", fieldName: "f", url: "/s3cr3t"),
            PushTokenResponse(apnsEnvironment: .development, apnsToken: "s3cr3t", webcourierURL: "/s3cr3t"),
            WebAuthTokenRequest(apiToken: "s3cr3t"), WebAuthTokenResponse(webAuthToken: "s3cr3t"),
        ]
        for thing in things {
            var dumped = ""
            dump(thing, to: &dumped)
            for text in [String(describing: thing), String(reflecting: thing), dumped] {
                #expect(!text.contains("s3cr3t"), "\(type(of: thing)) prints a secret")
            }
        }
        #expect(String(describing: asset) == "AssetValue(fileChecksum: sum, size: 3)")
    }
}
