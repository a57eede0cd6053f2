// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The address of a server: scheme, host, port, and a path prefix if it is behind a gateway.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// Without a trailing slash.
    package let root: String
    /// Scheme, host and port.
    private let origin: String

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
        var path = parts.percentEncodedPath[...]
        while path.last == "/" { path.removeLast() }
        root = origin + path
    }

    package var description: String { root }

    func url(path: String) -> String { root + path }

    /// Resolves the address of an asset: absolute, or a path on this server.
    func resolve(_ address: String) -> String? {
        if address.hasPrefix("/") { return address.hasPrefix("//") ? nil : origin + address }
        guard let parts = URLComponents(string: address), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", parts.host?.isEmpty == false
        else { return nil }
        return address
    }
}
