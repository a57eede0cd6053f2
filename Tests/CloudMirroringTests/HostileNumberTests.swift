// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import Synchronization
import TestBasics
import Testing

/// Extreme numbers in the responses that a mirrored container reads: the process never traps, neither then nor at its next
/// launch, and the store syncs as soon as the server's responses are sound again.
@Suite(.closesFixtures) struct HostileNumberTests {
    /// Changes the responses of one operation until ``stop()``.
    private final class HostileTransport: CloudTransport {
        private let base: InProcessTransport
        private let operation: String
        private let change: @Sendable (TransportResponse) -> TransportResponse
        private let isHostile = Atomic(true)
        private let changes = Atomic(0)
        var needsIdleTimeout: Bool { base.needsIdleTimeout }
        var credential: String? { base.credential }
        var changeCount: Int { changes.load(ordering: .relaxed) }

        init(_ base: InProcessTransport, _ operation: String, _ change: @escaping @Sendable (TransportResponse) -> TransportResponse) {
            (self.base, self.operation, self.change) = (base, operation, change)
        }

        func stop() { isHostile.store(false, ordering: .relaxed) }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await base.send(request)
            guard isHostile.load(ordering: .relaxed), case .service(let path) = request.target, path.contains(operation) else {
                return response
            }
            changes.add(1, ordering: .relaxed)
            return change(response)
        }

        func stream(_ request: TransportRequest) async throws -> TransportStream { try await base.stream(request) }
    }

    private static let operations = [
        "records/modify", "changes/zone", "changes/database", "zones/modify", "subscriptions/modify", "users/caller",
    ]

    /// A cloud with an object of another device.
    private static func cloud() async throws -> (InProcessCloud, InProcessTransport) {
        let cloud = try InProcessCloud()
        let phone = try Device("phone", try await cloud.addUser("mia", device: "phone"))
        try phone.edit { context in
            let post = context.insert("Post", ["title": "theirs", "timestamp": Date(timeIntervalSince1970: 1_600_000_000)])
            post.setValue(Set([context.insert("Tag", ["name": "tag"])]), forKey: "tags")
            context.insert("Attachment", ["thumbnail": Data(repeating: 7, count: 900)]).setValue(post, forKey: "post")
        }
        try await phone.settles()
        try await phone.discard()
        return (cloud, try await cloud.addDevice("tablet", of: "mia"))
    }

    /// Syncs a new device over hostile responses, ends it, and syncs the same store over sound ones.
    ///
    /// - Returns: How many responses were changed.
    private static func run(
        _ transport: InProcessTransport, _ operation: String, _ change: @escaping @Sendable (TransportResponse) -> TransportResponse,
        _ comment: @autoclosure () -> Comment
    ) async throws -> Int {
        let hostile = HostileTransport(transport, operation, change)
        let tablet = try Device("tablet", transport, over: hostile)
        try tablet.edit { $0.insert("Post", ["title": "mine"]) }
        try await tablet.until { status in
            switch status.activity {
            case .idle: status.lastSuccess != nil && status.pendingCount == 0
            case .error, .offline: true
            default: false
            }
        }
        _ = try tablet.container.supportBundle()
        try await tablet.kill()
        let again = try Device("tablet", transport, file: tablet.file)
        do {
            try await again.container.sync(timeout: .seconds(600))
            let titles = try again.read { try $0.all("Post").compactMap { $0.value(forKey: "title") as? String } }
            #expect(titles.contains("theirs"), comment())
            #expect(titles.contains("mine"), comment())
            // The next run of the same cloud begins without it.
            try again.edit { context in
                for post in try context.all("Post") where post.value(forKey: "title") as? String == "mine" { context.delete(post) }
            }
            try await again.container.sync(timeout: .seconds(600))
        } catch {
            Issue.record(error, comment())
        }
        try await again.discard()
        return hostile.changeCount
    }

    @Test(arguments: operations)
    func extremeNumbersInResponsesNeverTrap(_ operation: String) async throws {
        let (cloud, transport) = try await Self.cloud()
        // The names of the numbers in a valid response.
        let paths = Mutex<Set<String>>([])
        _ = try await Self.run(
            transport, operation,
            { response in
                paths.withLock { $0.formUnion(HostileNumbers(response.body).paths) }
                return response
            }, "sound")
        for path in paths.withLock({ $0 }).sorted() {
            for token in HostileNumbers.fewExtremes {
                let changed = try await Self.run(
                    transport, operation,
                    { response in
                        var response = response
                        response.body = HostileNumbers(response.body).replacing { $1.path == path ? token : nil }
                        return response
                    }, "\(operation) \(path) \(token)")
                #expect(changed > 0)
            }
        }
        try cloud.discard()
    }

    @Test(arguments: ["THROTTLED", "TRY_AGAIN_LATER", "QUOTA_EXCEEDED", "INTERNAL_ERROR", "ACCESS_DENIED"])
    func extremeRetryDelaysNeverTrap(_ code: String) async throws {
        let (cloud, transport) = try await Self.cloud()
        for token in HostileNumbers.fewExtremes {
            let error = #""serverErrorCode":"\#(code)","reason":"busy","retryAfter":\#(token)"#
            _ = try await Self.run(
                transport, "records/modify",
                { response in
                    guard let answer = try? ModifyRecordsResponse(json: response.body) else { return response }
                    let items = answer.results.compactMap { result -> String? in
                        guard case .record(let record) = result else { return nil }
                        return #"{"recordName":"\#(record.recordName)",\#(error)}"#
                    }
                    return TransportResponse(status: 200, body: Array(#"{"records":[\#(items.joined(separator: ","))]}"#.utf8))
                }, "item \(code) \(token)")
            for operation in ["records/modify", "changes/zone"] {
                _ = try await Self.run(
                    transport, operation, { _ in TransportResponse(status: 503, body: Array("{\(error)}".utf8)) },
                    "\(operation) \(code) \(token)")
            }
        }
        try cloud.discard()
    }

    @Test func retryAfterHeadersNeverTrap() async throws {
        let (cloud, transport) = try await Self.cloud()
        for token in HostileNumbers.fewExtremes {
            let response = TransportResponse(status: 503, headers: [HeaderNames.retryAfter: token.filter { $0 != "\"" }])
            _ = try await Self.run(transport, "records/modify", { _ in response }, "header \(token)")
        }
        try cloud.discard()
    }

    /// The longest delays, as numbers of a response and as durations of an app.
    @Test(arguments: [1e300, 1e25, -1, .infinity, -.infinity, .nan, 0.0])
    func waitingTakesAnyNumberOfSeconds(_ seconds: Double) async throws {
        for duration in [.clamped(seconds: seconds), Duration.seconds(Int64.max), .seconds(Int64.min)] {
            let waiting = Task { try await SyncEnvironment.live.sleep(duration) }
            waiting.cancel()
            _ = await waiting.result
        }
    }
}
