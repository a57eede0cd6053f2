// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

/// Rejects all requests, as a server does with those of a revoked token.
private struct RejectingTransport: CloudTransport {
    private let body = WireError(.authenticationFailed, "unknown token").encoded()

    func send(_ request: TransportRequest) async throws -> TransportResponse { TransportResponse(status: 401, body: body) }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        let body = body
        return TransportStream(
            status: 401,
            chunks: AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield(body)
                continuation.finish()
            })
    }
}

/// An app without changes.
private final class IdleApp: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

@Suite(.timeLimit(.minutes(1))) struct SyncEnginePushTests {
    private let rejection = CKError(.notAuthenticated, "unknown token")
    private let breakdown = CKError(.networkFailure, "the server closed the push stream")

    /// Each attempt costs the server a look-up of the token. A change of an account elsewhere in the process begins the delays again.
    @Test func aRejectedStreamIsRetriedWithGrowingDelays() async {
        let delays = AsyncStream<Duration>.makeStream()
        let clock = ClientClock(now: { .zero }, sleep: { _ in }, idle: { delays.continuation.yield($0) })
        let identifier = "iCloud.test." + UUID().uuidString
        CKContainer.connect(Connection(environment: .development, transport: RejectingTransport(), clock: clock), for: identifier)
        let app = IdleApp()
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(
                database: CKContainer(identifier: identifier).privateCloudDatabase, stateSerialization: nil, delegate: app))
        var longest = Duration.zero
        for await delay in delays.stream.prefix(1000) {
            longest = max(longest, delay)
            if longest >= .seconds(60) { break }
        }
        #expect(longest == .seconds(60))
        await engine.cancelOperations()
    }

    @Test func delaysGrowToALimitOfTheirFailure() {
        for (failure, seconds) in [(rejection, [1, 2, 4, 8, 16, 32, 60, 60]), (breakdown, [1, 2, 4, 5, 5])] {
            var attempts = PushAttempts()
            let delays = seconds.map { _ in attempts.delay(after: failure, at: .zero, jitter: 1) }
            #expect(delays == seconds.map { .seconds($0) })
        }
        var attempts = PushAttempts()
        #expect(attempts.delay(after: rejection, at: .zero, jitter: 0) == .milliseconds(500))
        let busy = CKError(.serviceUnavailable, "busy", retryAfter: 30)
        #expect(attempts.delay(after: busy, at: .zero, jitter: 1) == .seconds(30))
        let late = attempts.delay(isRejected: false, retryAfter: .seconds(45), at: .zero, jitter: 1)
        #expect(late == .seconds(45))
        let early = attempts.delay(isRejected: false, retryAfter: .seconds(1), at: .zero, jitter: 1)
        #expect(early == .seconds(5))
    }

    /// One that ends before the first heartbeat may be blocked.
    @Test(arguments: [(15, 1), (14, 4)]) func aStreamThatStayedOpenEndsTheGrowth(_ openSeconds: Int, _ delay: Int) {
        var attempts = PushAttempts()
        for _ in 1...2 { _ = attempts.delay(after: rejection, at: .zero, jitter: 1) }
        attempts.begin()
        attempts.connected(at: .seconds(10))
        #expect(attempts.delay(after: breakdown, at: .seconds(10 + openSeconds), jitter: 1) == .seconds(delay))
    }
}
