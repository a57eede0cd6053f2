// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The address of a server: scheme, host, port, and a path prefix if it is behind a gateway.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// Without a trailing slash.
    package let root: String
    /// Scheme, host and port.
    private let origin: String
    private let host: String
    /// Whether requests, with the token, leave this machine without encryption.
    package var isUnencryptedRemote: Bool { !isEncrypted && !Self.loopbackHosts.contains(host) }
    private var isEncrypted: Bool { origin.hasPrefix("https:") }
    private static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    /// - Parameter text: For example `https://cloud.example.org` or `http://localhost:8080/tarn`.
    /// - Returns: `nil` unless it is an http or https address without user, query and fragment.
    package init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.percentEncodedHost, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
        else { return nil }
        var port = ""
        if let number = parts.port {
            guard 1...65535 ~= number else { return nil }
            port = ":\(number)"
        }
        origin = "\(scheme)://\(host)\(port)"
        self.host = host.lowercased()
        var path = parts.percentEncodedPath[...]
        while path.last == "/" { path.removeLast() }
        root = origin + path
    }

    package var description: String { root }

    func url(path: String) -> String { root + path }

    /// Resolves the address of an asset or of the web courier: absolute, or a path on this server.
    ///
    /// - Returns: `nil` for an invalid address, and for an `http` one unless it is on this server's host and this server has no `https`:
    ///   a malicious server could make the client send requests to other machines in its network, or without encryption.
    package func resolve(_ address: String) -> String? {
        if address.hasPrefix("/") { return address.hasPrefix("//") ? nil : origin + address }
        guard let parts = URLComponents(string: address), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.percentEncodedHost, !host.isEmpty
        else { return nil }
        guard scheme == "https" || !isEncrypted && host.lowercased() == self.host else { return nil }
        return address
    }
}
