// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Synchronization

/// A transport that keeps still for as long as the server asked for: requests meanwhile fail here, with the time that is
/// left, instead of being refused there.
///
/// Where the server publishes a budget that is used up, the next requests wait for their turn before they are sent, so
/// that the server need not refuse them; they fail only if that would take long.
final class Throttle: CloudTransport {
    private struct State {
        var quietUntil: Duration?
        /// When the next request may be sent, and how long after it the one that follows.
        var turn: (next: Duration, interval: Duration)?
    }

    let base: any CloudTransport
    var linkBase: String { base.linkBase }
    var credential: String? { base.credential }
    var executor: (any TaskExecutor)? { base.executor }
    var fallsSilent: Bool { base.fallsSilent }
    private let pace: Pace
    private let state = Mutex(State())

    init(_ base: any CloudTransport, _ pace: Pace) {
        self.base = base
        self.pace = pace
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try check()
        try await waitForTurn()
        let response = try await base.send(request)
        if response.status == 429 || response.status == 503, let seconds = CKError(response).retryAfterSeconds, seconds > 0 {
            let until = pace.now() + .clamped(seconds: min(seconds, Self.longestSeconds))
            state.withLock { $0.quietUntil = max($0.quietUntil ?? until, until) }
        }
        note(RateLimit(response.headers))
        return response
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try check()
        return try await base.stream(request)
    }

    /// What a server can ask for at most.
    private static let longestSeconds: Double = 3600
    /// How long a request waits for its turn at most.
    private static let longestTurn: Duration = .seconds(15)

    private func check() throws(CKError) {
        let now = pace.now()
        let left = state.withLock { state -> Duration? in
            guard let quiet = state.quietUntil else { return nil }
            if quiet <= now { state.quietUntil = nil }
            return quiet > now ? quiet - now : nil
        }
        guard let left else { return }
        throw CKError(
            .requestRateLimited, "the server asked not to be asked again before some time; nothing was sent",
            retryAfter: left / .seconds(1))
    }

    // MARK: The server's budget

    private func note(_ limit: RateLimit?) {
        guard let limit else { return }
        let now = pace.now()
        state.withLock { state in
            guard limit.remaining == 0 else {
                state.turn = nil
                return
            }
            state.turn = (max(state.turn?.next ?? .zero, now + limit.interval), limit.interval)
        }
    }

    private func waitForTurn() async throws {
        let now = pace.now()
        let wait = try state.withLock { state throws(CKError) -> Duration? in
            guard let turn = state.turn else { return nil }
            let wait = max(.zero, turn.next - now)
            guard wait <= Self.longestTurn else {
                throw CKError(
                    .requestRateLimited, "the server's budget of requests is used up; nothing was sent",
                    retryAfter: wait / .seconds(1))
            }
            state.turn = (max(turn.next, now) + turn.interval, turn.interval)
            return wait
        }
        if let wait, wait > .zero { try await pace.sleep(wait) }
    }
}

/// The budget that a server publishes with its answers.
private struct RateLimit {
    var remaining: Int
    /// After which one more request may be sent.
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
