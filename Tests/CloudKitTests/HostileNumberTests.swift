// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import Synchronization
import Testing

/// Extreme numbers in every response that the client reads: a call returns or throws, and the process never traps.
struct HostileNumberTests {
    /// Replays the responses of a real server, one of them changed.
    private final class Replay: CloudTransport {
        let recorded: [TransportResponse]
        private let changed: Int
        private let replacement: TransportResponse
        private let position = Mutex(0)
        var needsIdleTimeout: Bool { false }

        init(_ recorded: [TransportResponse], changing changed: Int, to replacement: TransportResponse) {
            (self.recorded, self.changed, self.replacement) = (recorded, changed, replacement)
        }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let index = position.withLock { position in
                defer { position += 1 }
                return position
            }
            if index == changed { return replacement }
            // A call that retries gets no further responses.
            guard recorded.indices.contains(index) else { throw CKError(.networkUnavailable, "the recording has ended") }
            return recorded[index]
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream {
            let response = try await send(request)
            return TransportStream(
                status: response.status, headers: response.headers,
                chunks: AsyncThrowingStream<[UInt8], any Error> { continuation in
                    continuation.yield(response.body)
                    continuation.finish()
                })
        }
    }

    /// Records responses of a real server.
    private final class Recorder: CloudTransport {
        private let base: InProcessTransport
        private let responses = Mutex<[TransportResponse]>([])
        var needsIdleTimeout: Bool { false }

        init(_ base: InProcessTransport) { self.base = base }

        func take() -> [TransportResponse] {
            responses.withLock { responses in
                defer { responses = [] }
                return responses
            }
        }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await base.send(request)
            responses.withLock { $0.append(response) }
            return response
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream {
            let stream = try await base.stream(request)
            var body: [UInt8] = []
            for try await chunk in stream.chunks { body += chunk }
            responses.withLock { $0.append(TransportResponse(status: stream.status, headers: stream.headers, body: body)) }
            return TransportStream(
                status: stream.status, headers: stream.headers,
                chunks: AsyncThrowingStream<[UInt8], any Error> { [body] continuation in
                    continuation.yield(body)
                    continuation.finish()
                })
        }
    }

    private static let zone = CKRecordZone.ID(zoneName: "Garden")
    private static let plant = CKRecord.ID(recordName: "plant", zoneID: zone)

    private static func record() throws -> CKRecord {
        let record = CKRecord(recordType: "Plant", recordID: plant)
        record["height"] = 12
        record["width"] = 1.5
        record["planted"] = Date(timeIntervalSince1970: 1_600_000_000)
        record["heights"] = [1, 2, 3]
        record["widths"] = [0.5, 2.5]
        record["dates"] = [Date(timeIntervalSince1970: 1_600_000_000)]
        record["place"] = CLLocation(latitude: 52.5, longitude: 13.4)
        record.encryptedValues["secret"] = 7
        return record
    }

    /// The values of records that were archived.
    private static let archived = Mutex<Set<[String]>>([])

    /// Reads all values that a response can set in a record, and archives it unless an equal one was archived: archiving takes longer
    /// than everything else together, and most responses change no value of the record.
    @discardableResult
    private static func read(_ record: CKRecord) throws -> CKRecord {
        var texts = [text(record.creationDate), text(record.modificationDate), "\(record)"]
        texts.append("\((record.creatorUserRecordID, record.recordChangeTag, record.share, record.parent))")
        texts += record.allKeys().sorted().map { "\($0): \(text(record[$0]))" }
        if let share = record as? CKShare {
            for participant in share.participants { texts.append("\(text(participant.dateAddedToShare)) \(participant)") }
        }
        guard archived.withLock({ $0.insert(texts).inserted }) else { return record }
        _ = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        return record
    }

    /// A value with all digits of its dates.
    private static func text(_ value: Any?) -> String {
        switch value {
        case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
        case let dates as [Date]: "\(dates.map(\.timeIntervalSinceReferenceDate))"
        default: String(describing: value)
        }
    }

    private typealias Call = @Sendable (CKContainer) async throws -> Void

    /// Every kind of request that the client makes, in an order in which a real server carries each one out.
    private static func calls(_ file: URL, _ link: @escaping @Sendable (URL?) -> URL?) -> [(String, Call)] {
        let records: @Sendable (CKContainer) -> CKDatabase = { $0.privateCloudDatabase }
        return [
            ("account", { _ = try await ($0.accountStatus(), $0.userRecordID()) }),
            ("save zone", { _ = try await records($0).save(CKRecordZone(zoneID: zone)) }),
            ("zones", { _ = try await (records($0).allRecordZones(), records($0).recordZone(for: zone)) }),
            ("save record", { try read(await records($0).save(record())) }),
            (
                "save again",
                { container in
                    let record = try read(await records(container).record(for: plant))
                    record["height"] = 13
                    try read(await records(container).save(record))
                }
            ),
            (
                "asset",
                { container in
                    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: zone))
                    (record["small"], record["large"]) = (CKAsset(fileURL: file), CKAsset(fileURL: file))
                    let saved = try await records(container).save(record)
                    let fetched = try read(await records(container).record(for: saved.recordID))
                    try read(await records(container).save(fetched))
                }
            ),
            (
                "query",
                { container in
                    let page = try await records(container).records(
                        matching: CKQuery(recordType: "Plant", predicate: NSPredicate(value: true)), inZoneWith: zone, desiredKeys: nil,
                        resultsLimit: 10)
                    for (_, result) in page.matchResults { try read(result.get()) }
                }
            ),
            (
                "changes",
                { container in
                    let changes = try await records(container).databaseChanges(since: nil)
                    _ = "\(changes)"
                    let zoneChanges = try await records(container).recordZoneChanges(inZoneWith: zone, since: nil)
                    for (_, result) in zoneChanges.modificationResultsByID { try read(result.get().record) }
                }
            ),
            (
                "subscription",
                { container in
                    let subscription = CKQuerySubscription(
                        recordType: "Plant", predicate: NSPredicate(value: true), subscriptionID: "plants", options: .firesOnRecordCreation)
                    let info = CKSubscription.NotificationInfo()
                    (info.alertBody, info.shouldBadge) = ("new", true)
                    subscription.notificationInfo = info
                    _ = try await records(container).save(subscription)
                    _ = try await records(container).allSubscriptions().map { "\($0)" }
                }
            ),
            (
                "share",
                { container in
                    let root = try await records(container).record(for: plant)
                    let share = CKShare(rootRecord: root)
                    share.publicPermission = .readWrite
                    share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
                    let results = try await records(container).modifyRecords(saving: [root, share], deleting: [])
                    for (_, result) in results.saveResults { try read(result.get()) }
                    let saved = try #require(results.saveResults[share.recordID]?.get() as? CKShare)
                    let url = try #require(link(saved.url))
                    _ = try await "\(container.shareMetadata(for: url))"
                    let fetched = try #require(read(await records(container).record(for: share.recordID)) as? CKShare)
                    fetched[CKShare.SystemFieldKey.title] = "Plant"
                    try read(await records(container).save(fetched))
                }
            ),
            (
                "people",
                { container in
                    _ = try await "\(container.shareParticipant(forEmailAddress: "ben@example.org"))"
                    _ = try await container.userIdentity(forEmailAddress: "ben@example.org").map { "\($0)" }
                }
            ),
            (
                "delete",
                { container in
                    _ = try await records(container).deleteRecord(withID: CKRecord.ID(recordName: "nothing", zoneID: zone))
                }
            ),
            ("delete zone", { _ = try await records($0).deleteRecordZone(withID: zone) }),
        ]
    }

    private static func client(_ transport: any CloudTransport) -> CKContainer {
        let identifier = "iCloud.hostile." + UUID().uuidString
        CKContainer.connect(Connection(environment: .development, transport: transport), for: identifier)
        return CKContainer(identifier: identifier)
    }

    @Test func extremeNumbersInResponsesNeverTrap() async throws {
        let cloud = try InProcessCloud()
        let recorder = Recorder(try await cloud.addUser("mia", device: "phone"))
        _ = try await cloud.addUser("ben", device: "tablet")
        try await cloud.introduce("ben", givenName: "Ben", emailAddress: "ben@example.org")
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("photo")
        try Data(repeating: 7, count: 5000).write(to: file)
        let link = Mutex<URL?>(nil)
        let calls = Self.calls(file) { url in
            link.withLock { link in
                link = link ?? url
                return link
            }
        }
        let container = Self.client(recorder)
        var replays = 0
        var choices = SeededChoices(seed: 4)
        for (name, call) in calls {
            if name == "query" {
                try await cloud.addIndexes(toType: "Plant", fields: ["___recordID"], container: try #require(container.containerIdentifier))
            }
            do { try await call(container) } catch { #expect(name == "delete", "\(name): \(error)") }
            let recorded = recorder.take()
            #expect(!recorded.isEmpty, "\(name)")
            for (index, response) in recorded.enumerated() {
                for changed in Self.variants(of: response, &choices) {
                    // A call may fail; it must return.
                    try? await call(Self.client(Replay(recorded, changing: index, to: changed)))
                    replays += 1
                }
            }
        }
        #expect(replays > 2000, "\(replays)")
    }

    /// A response with each number replaced by each extreme value, with random combinations of them, and responses that are
    /// errors of the whole or of the single items.
    private static func variants(of response: TransportResponse, _ choices: inout SeededChoices) -> [TransportResponse] {
        var variants: [TransportResponse] = []
        func add(_ body: [UInt8]) { variants.append(TransportResponse(status: response.status, headers: response.headers, body: body)) }
        let numbers = HostileNumbers(response.body)
        for path in numbers.paths {
            for token in HostileNumbers.extremes { add(numbers.replacing { $1.path == path ? token : nil }) }
        }
        for _ in 0..<20 where !numbers.numbers.isEmpty {
            add(numbers.replacing { _, _ in Bool.random(using: &choices) ? HostileNumbers.extremes.randomElement(using: &choices) : nil })
        }
        for token in HostileNumbers.extremes {
            for (status, code) in [(429, "THROTTLED"), (503, "TRY_AGAIN_LATER"), (413, "QUOTA_EXCEEDED")] {
                let members = #""serverErrorCode":"\#(code)","reason":"busy","retryAfter":\#(token),"nativeErrorCode":\#(token)"#
                variants.append(TransportResponse(status: status, body: Array("{\(members)}".utf8)))
                let list = #"[{"recordName":"plant","zoneID":{"zoneName":"Garden"},"subscriptionID":"plants",\#(members)}]"#
                for key in ["records", "zones", "subscriptions", "results", "tokens"] { add(Array(#"{"\#(key)":\#(list)}"#.utf8)) }
            }
            var limited = response
            let text = token.filter { $0 != "\"" }
            for name in [
                "Retry-After", "Content-Length", "Upload-Offset", HeaderNames.rateLimit, HeaderNames.rateLimitRemaining,
                HeaderNames.rateLimitReset,
            ] {
                limited.headers.add(name, text)
            }
            variants.append(limited)
            variants.append(TransportResponse(status: 503, headers: limited.headers))
            variants.append(TransportResponse(status: 409, headers: limited.headers))
        }
        return variants
    }

    @Test func extremeNumbersOnThePushStreamNeverTrap() async throws {
        let line =
            #"{"ck":{"ce":2,"cid":"iCloud.n","nid":"1","qry":{"dbs":2,"fo":1,"rid":"a","sid":"s","zid":"z","zoid":"o","af":{"n":1,"d":2.5}},"met":{"dbs":2,"zid":"z","sid":"s","zoid":"o"},"fet":{"dbs":2,"sid":"s"}},"aps":{"badge":1,"content-available":1}}"#
        let numbers = HostileNumbers(Array(line.utf8))
        #expect(numbers.paths.count > 6)
        for token in HostileNumbers.extremes {
            for path in numbers.paths {
                let changed = numbers.replacing { $1.path == path ? token : nil }
                var lines = PushLines()
                _ = try? lines.receive(changed + [UInt8(ascii: "\n")])
                guard let dictionary = try? JSONSerialization.jsonObject(with: Data(changed)) as? [AnyHashable: Any] else { continue }
                let notification = CKNotification(fromRemoteNotificationDictionary: dictionary)
                _ = "\(String(describing: notification)) \(String(describing: notification?.badge))"
            }
        }
    }

    @Test(arguments: [1e300, 1e25, -1, .infinity, -.infinity, .nan, 0.0])
    func retryDelaysAreClamped(_ seconds: Double) {
        let wire = WireError(.throttled, "busy", retryAfter: seconds)
        var later = WireError(.throttled, "busy")
        later.retryAfter = seconds
        for clamped in [wire.retryAfter, later.retryAfter, CKError(.requestRateLimited, "busy", retryAfter: seconds).retryAfterSeconds] {
            if seconds >= 0 { #expect(0...UntrustedNumber.retrySecondsMax ~= clamped ?? -1) } else { #expect(clamped == nil) }
        }
        #expect(Duration.clamped(seconds: seconds) >= .zero)
    }
}
