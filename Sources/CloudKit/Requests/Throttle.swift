// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Synchronization

/// Applies the server's rate limit on the client. During the time of a `Retry-After` header, requests fail here with
/// the remaining time, instead of being rejected there.
///
/// If the published rate limit is exhausted, the next requests are delayed so that the server does not reject them.
/// They fail only if the delay would be long.
final class Throttle: CloudTransport {
    private struct State {
        var retryAfter: Duration?
        /// When the next request may be sent, and the interval to the one after it.
        var turn: (next: Duration, interval: Duration)?
    }

    let base: any CloudTransport
    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var needsIdleTimeout: Bool { base.needsIdleTimeout }
    private let clock: ClientClock
    private let state = Mutex(State())

    init(_ base: any CloudTransport, _ clock: ClientClock) {
        self.base = base
        self.clock = clock
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try check()
        try await waitForTurn()
        let response = try await base.send(request)
        if response.status == 429 || response.status == 503, let seconds = CKError(response).retryAfterSeconds, seconds > 0 {
            let until = clock.now() + .clamped(seconds: min(seconds, Self.maximumRetryAfterSeconds))
            state.withLock { $0.retryAfter = max($0.retryAfter ?? until, until) }
        }
        apply(RateLimit(response.headers))
        return response
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try check()
        return try await base.stream(request)
    }

    /// The maximum delay that a server can ask for.
    private static let maximumRetryAfterSeconds: Double = 3600
    /// The maximum delay of a request for the rate limit.
    private static let maximumTurnDelay: Duration = .seconds(15)

    private func check() throws(CKError) {
        let now = clock.now()
        let remainingTime = state.withLock { state -> Duration? in
            guard let time = state.retryAfter else { return nil }
            if time <= now { state.retryAfter = nil }
            return time > now ? time - now : nil
        }
        guard let remainingTime else { return }
        throw CKError(
            .requestRateLimited, "the server asked for a delay, which isn't over; nothing was sent",
            retryAfter: remainingTime / .seconds(1))
    }

    // MARK: Rate limit

    private func apply(_ limit: RateLimit?) {
        guard let limit else { return }
        let now = clock.now()
        state.withLock { state in
            guard limit.remaining == 0 else {
                state.turn = nil
                return
            }
            state.turn = (max(state.turn?.next ?? .zero, now + limit.interval), limit.interval)
        }
    }

    private func waitForTurn() async throws {
        let now = clock.now()
        let wait = try state.withLock { state throws(CKError) -> Duration? in
            guard let turn = state.turn else { return nil }
            let wait = max(.zero, turn.next - now)
            guard wait <= Self.maximumTurnDelay else {
                throw CKError(
                    .requestRateLimited, "the server's rate limit is exhausted; nothing was sent",
                    retryAfter: wait / .seconds(1))
            }
            state.turn = (max(turn.next, now) + turn.interval, turn.interval)
            return wait
        }
        if let wait, wait > .zero { try await clock.sleep(wait) }
    }
}

/// The rate limit that a server publishes in its responses.
private struct RateLimit {
    var remaining: Int
    /// The interval between two requests.
    var interval: Duration

    init?(_ headers: TransportHeaders) {
        guard let limit = headers[HeaderNames.rateLimit].flatMap(Int.init), limit > 0,
            let remaining = headers[HeaderNames.rateLimitRemaining].flatMap(Int.init),
            let reset = headers[HeaderNames.rateLimitReset].flatMap(Double.init), 0...86_400 ~= reset
        else { return nil }
        self.remaining = remaining
        interval = .seconds(reset / Double(limit))
    }
}
