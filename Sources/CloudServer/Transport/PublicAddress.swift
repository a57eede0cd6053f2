// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// The address under which clients reach the server, such as `https://cloud.example.com`.
package struct PublicAddress: Hashable, Sendable {
    /// `http` or `https`.
    package let scheme: String
    /// Host, and port unless it is the scheme's own, in lower case.
    package let authority: String

    /// - Returns: Nil unless the text is `http://` or `https://` followed by a host and, optionally, a port.
    package init?(_ text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()) else { return nil }
        scheme = parts[0].lowercased()
        guard let host = HostHeader(parts[1].last == "/" ? parts[1].dropLast() : parts[1], scheme: scheme) else { return nil }
        authority = host.authority
    }

    package var text: String { "\(scheme)://\(authority)" }
}

/// The value of a `Host` header, in one spelling.
///
/// Source: RFC 9110, section 7.2, and RFC 3986, section 3.2.2.
struct HostHeader: Hashable, Sendable {
    /// In lower case, without a trailing dot; IPv6 addresses in brackets.
    let host: String
    /// Nil if it is the scheme's own.
    let port: Int?

    /// - Returns: Nil for text that isn't a host with an optional port.
    init?(_ text: some StringProtocol, scheme: String) {
        guard (1...255).contains(text.utf8.count) else { return nil }
        let text = text.lowercased()
        var name: Substring
        var portText: Substring?
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            name = text[...end]
            guard NetworkAddress(name.dropFirst().dropLast()) != nil else { return nil }
            let behind = text[text.index(after: end)...]
            guard behind.isEmpty || behind.first == ":" else { return nil }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            name = parts[0]
            portText = parts.count > 1 ? parts[1] : nil
            if name.last == "." { name.removeLast() }
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isHostCharacter) else { return nil }
        }
        var port: Int?
        if let portText, !portText.isEmpty {
            guard portText.utf8.count <= 5, portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(portText),
                (1...65535).contains(number)
            else { return nil }
            port = number == (scheme == "https" ? 443 : 80) ? nil : number
        }
        host = String(name)
        self.port = port
    }

    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }

    var authority: String { port.map { "\(host):\($0)" } ?? host }

    /// `true` for `localhost` and literal addresses, which DNS rebinding cannot use.
    var isLiteralOrLocalhost: Bool { host == "localhost" || host.first == "[" || NetworkAddress(host) != nil }

    /// `true` for names of this machine.
    var isLoopback: Bool { host == "localhost" || host == "[::1]" || (host.hasPrefix("127.") && NetworkAddress(host) != nil) }
}

/// Validates the `Host` of requests.
struct HostRule: Sendable {
    enum Verdict: Equatable {
        /// - Parameter authority: Base of the URLs in the response.
        case accepted(scheme: String, authority: String)
        /// No `Host`, several, or an invalid one: rejected with 400. Source: RFC 9112, section 3.2.
        case malformed
        /// Another host than the configured one: rejected with 421.
        case foreign
    }

    let publicAddress: PublicAddress?
    /// Whether, without a public address, only literal addresses, `localhost` and ``listenHost`` are accepted: a page of a site with a
    /// rebound DNS name sends the site's name.
    var refusesOtherNames = false
    /// The name or address of the socket.
    var listenHost = ""

    /// The last host that was accepted. Nearly all requests name one host, and parsing it took 2% of a request's time.
    private final class LastAccepted: Sendable {
        let host = Mutex<(text: String, scheme: String, verdict: Verdict)?>(nil)
    }

    private let lastAccepted = LastAccepted()

    /// - Parameters:
    ///   - hosts: All values of `Host`.
    ///   - scheme: The scheme of the client's connection, to this server or to a proxy.
    func verdict(hosts: [String], scheme: String) -> Verdict {
        guard hosts.count == 1, let text = hosts.first else { return .malformed }
        if let last = lastAccepted.host.withLock({ $0 }), last.text == text, last.scheme == scheme { return last.verdict }
        let verdict = verdict(host: text, scheme: scheme)
        if case .accepted = verdict { lastAccepted.host.withLock { $0 = (text, scheme, verdict) } }
        return verdict
    }

    private func verdict(host text: String, scheme: String) -> Verdict {
        guard let host = HostHeader(text, scheme: scheme) else { return .malformed }
        guard let publicAddress else {
            guard !refusesOtherNames || host.isLiteralOrLocalhost || host.host == listenHost.lowercased() else { return .foreign }
            return .accepted(scheme: scheme, authority: host.authority)
        }
        // A proxy may send its own name of the server as `Host`; health checks use the machine's address.
        guard host.authority == publicAddress.authority || host.isLiteralOrLocalhost else { return .foreign }
        return .accepted(scheme: publicAddress.scheme, authority: publicAddress.authority)
    }
}
