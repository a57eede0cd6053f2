// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Synchronization
import SystemSupport

/// The one-time link that makes the first operator of a server.
///
/// The link has 256 random bits, of which memory holds the hash. It works for an hour, once, and only while the server has no
/// operator. It is bound to this process: after a restart there is another one.
final class FirstRun: Sendable {
    static let path = "/console/first-run"
    static let minutesValid = 60
    /// Wrong links per minute that get a response of their own. More of them are throttled; the right link never is.
    static let failuresPerMinute = 10

    enum Verdict: Equatable {
        case valid, invalid, throttled
    }

    private struct State {
        var hash: [UInt8]?
        var expires: Int64 = 0
        var minute: Int64 = 0
        var failures = 0
    }

    private let state = Mutex(State())

    /// Creates the link's secret in place of the previous one.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    func open(_ service: CloudService) -> String {
        let secret = Hex.text(service.surroundings.randomBytes(32))
        let (hash, now) = (service.sha256(Array(secret.utf8)), service.now)
        state.withLock { state in
            state.hash = hash
            state.expires = now + Int64(Self.minutesValid) * 60_000
        }
        return secret
    }

    /// Returns `true` while a link works.
    func isOpen(now: Int64) -> Bool { state.withLock { $0.hash != nil && now < $0.expires } }

    func check(_ secret: String, _ service: CloudService) -> Verdict {
        let (hash, now) = (service.sha256(Array(secret.utf8.prefix(200))), service.now)
        return state.withLock { state in
            if let expected = state.hash, now < state.expires, ConstantTime.areEqual(expected, hash) { return .valid }
            if state.minute != now / 60_000 { (state.minute, state.failures) = (now / 60_000, 0) }
            state.failures += 1
            return state.failures > Self.failuresPerMinute ? .throttled : .invalid
        }
    }

    /// Ends the link.
    func close() { state.withLock { $0.hash = nil } }
}

extension Console {
    /// Opens the link that makes the first operator.
    ///
    /// - Returns: Its path and query; nil if the server has an operator.
    package func openFirstRun() async throws -> String? {
        guard try await !storage.hasOperator() else { return nil }
        return "\(FirstRun.path)?secret=\(firstRun.open(service))"
    }
}
