// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The address of a server: scheme, host, port, and a path prefix if it is behind a gateway.
struct ServerRoot: Hashable, Sendable {
    private static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    /// Without a trailing slash.
    private let root: String
    /// Scheme, host and port.
    private let origin: String
    private let host: String
    private let isEncrypted: Bool

    /// - Throws: ``TarnMirror/Failure`` with `.invalidOptions` unless it is an https address without user, query and fragment, or an http
    ///   one of this machine: the token must not leave the device unencrypted.
    init(_ text: String) throws {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = parts.percentEncodedHost, !host.isEmpty, parts.user == nil, parts.password == nil, parts.query == nil,
            parts.fragment == nil
        else {
            throw TarnMirror.Failure(.invalidOptions, "the server's address isn't one; use a form such as https://cloud.example.org")
        }
        isEncrypted = scheme == "https"
        self.host = host.lowercased()
        guard isEncrypted || Self.loopbackHosts.contains(self.host) else {
            throw TarnMirror.Failure(
                .invalidOptions, "the server's address begins with http://, so the token would be sent without encryption; use https://")
        }
        guard parts.port.map({ 1...65535 ~= $0 }) ?? true else {
            throw TarnMirror.Failure(.invalidOptions, "the server's address has an invalid port; use one from 1 to 65535")
        }
        origin = "\(scheme)://\(host)\(parts.port.map { ":\($0)" } ?? "")"
        var path = parts.percentEncodedPath[...]
        while path.last == "/" { path.removeLast() }
        root = origin + path
    }

    func url(path: String) -> URL? { URL(string: root + path) }

    /// Resolves the address of an asset.
    ///
    /// - Returns: nil for an invalid address, and for an `http` one unless it is on this server's host and this server has no `https`: a
    ///   malicious server could make the device send requests to other machines in its network.
    func resolve(_ address: String) -> URL? {
        if address.hasPrefix("/") { return address.hasPrefix("//") ? nil : URL(string: origin + address) }
        guard let parts = URLComponents(string: address), let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = parts.percentEncodedHost, !host.isEmpty, scheme == "https" || !isEncrypted && host.lowercased() == self.host
        else { return nil }
        return URL(string: address)
    }
}
