// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Who may ask a server how it is: `/metrics` and `/ready`.
package struct OperationsAccess: Hashable, Sendable {
    /// Whether everybody may. Otherwise only who is on this machine, or has the token.
    package var isOpen: Bool
    package var token: String?

    package init(isOpen: Bool = false, token: String? = nil) {
        self.isOpen = isOpen
        self.token = token
    }

    static let paths: Set = ["/metrics", "/ready"]

    /// - Parameter headers: By lower-case name.
    func allows(isLocal: Bool, headers: [String: String]) -> Bool {
        if isOpen { return true }
        // Whoever comes through a gateway on this machine is elsewhere.
        let isForwarded = headers.keys.contains { $0.hasPrefix("x-forwarded-") || $0 == "forwarded" }
        if isLocal, !isForwarded { return true }
        guard let token, let given = headers["authorization"].flatMap(HeaderNames.token(inAuthorization:)) else { return false }
        return Self.areEqual(token, given)
    }

    /// Takes as long wherever the texts differ.
    private static func areEqual(_ a: String, _ b: String) -> Bool {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        guard a.count == b.count else { return false }
        return zip(a, b).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
