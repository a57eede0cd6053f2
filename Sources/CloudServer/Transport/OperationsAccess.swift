// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import SystemSupport

/// The rule for `/metrics`, which lists counts of requests, commits, listeners and stored bytes.
package struct OperationsAccess: Hashable, Sendable {
    package enum Scope: String, CaseIterable, Sendable {
        /// Requests with the token. Behind a proxy on the same machine, requests from the internet have a loopback address too,
        /// and the proxy might add no header: the address alone proves nothing.
        case token
        /// Also requests over loopback that have no header of a proxy and a loopback `Host`.
        case local
        /// All requests.
        case all
    }

    package var scope: Scope
    package var token: String?

    package init(scope: Scope = .token, token: String? = nil) {
        self.scope = scope
        self.token = token
    }

    static let metricsPath = "/metrics"

    private static let gatewayHeaders: Set = ["forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip"]

    /// - Parameters:
    ///   - isLocal: The peer is on this machine.
    ///   - isLoopbackHost: `Host` names this machine by its loopback address, which no rebound DNS name does.
    ///   - headers: By lower-case name.
    func allows(isLocal: Bool, isLoopbackHost: Bool, headers: RequestHeaders) -> Bool {
        if scope == .all { return true }
        if scope == .local, isLocal, isLoopbackHost {
            let isForwarded = headers.names.contains { $0.hasPrefix("x-forwarded-") || Self.gatewayHeaders.contains($0) }
            if !isForwarded { return true }
        }
        guard let token, let given = headers["authorization"].flatMap(HeaderNames.token(inAuthorization:)) else { return false }
        return ConstantTime.areEqual(token, given)
    }
}
