// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Synchronization

/// A transport that keeps still for as long as the server asked for: requests meanwhile fail here, with the time that is
/// left, instead of being refused there.
final class Throttle: CloudTransport {
    private let base: any CloudTransport
    var linkBase: String { base.linkBase }
    private let pace: Pace
    private let quietUntil = Mutex<Duration?>(nil)

    init(_ base: any CloudTransport, _ pace: Pace) {
        self.base = base
        self.pace = pace
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try check()
        let response = try await base.send(request)
        if response.status == 429 || response.status == 503, let seconds = CKError(response).retryAfterSeconds, seconds > 0 {
            let until = pace.now() + .seconds(min(seconds, Self.longestSeconds))
            quietUntil.withLock { $0 = max($0 ?? until, until) }
        }
        return response
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try check()
        return try await base.stream(request)
    }

    /// What a server can ask for at most.
    private static let longestSeconds: Double = 3600

    private func check() throws(CKError) {
        let now = pace.now()
        let left = quietUntil.withLock { until -> Duration? in
            guard let quiet = until else { return nil }
            if quiet <= now { until = nil }
            return quiet > now ? quiet - now : nil
        }
        guard let left else { return }
        throw CKError(
            .requestRateLimited, "the server asked not to be asked again before some time; nothing was sent",
            retryAfter: left / .seconds(1))
    }
}
