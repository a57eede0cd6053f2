// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore

/// An IPv4 address of 4 bytes or an IPv6 address of 16 bytes.
struct NetworkAddress: Hashable, Sendable {
    let bytes: [UInt8]

    /// - Returns: Nil unless the address is an IP address.
    init?(_ address: SocketAddress?) {
        switch address {
        // The offsets of the address in sockaddr_in and sockaddr_in6.
        case .v4(let address): bytes = withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address):
            let all = withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
            // A dual-stack socket reports the IPv4 peer 1.2.3.4 as ::ffff:1.2.3.4.
            bytes = all.starts(with: Self.mapped) ? Array(all.suffix(4)) : all
        case .unixDomainSocket, nil: return nil
        }
    }

    /// - Parameter text: An address as proxies write it: `1.2.3.4`, `1.2.3.4:567`, `2001:db8::1`, `[2001:db8::1]:567`.
    init?(_ text: some StringProtocol) {
        var host = text.drop { $0 == " " || $0 == "\t" }
        while host.last == " " || host.last == "\t" { host.removeLast() }
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]") else { return nil }
            host = host[..<end].dropFirst()
        } else if host.count(where: { $0 == ":" }) == 1, let colon = host.firstIndex(of: ":") {
            host = host[..<colon]
        }
        self.init(try? SocketAddress(ipAddress: String(host), port: 0))
    }

    private static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// Whether the address is one of this machine.
    var isLoopback: Bool { bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1] }

    /// The prefix that shares one rate limit: the whole IPv4 address, or the /64 of an IPv6 address, within which a client can
    /// choose any address.
    var network: String { bytes.prefix(8).map { String($0) }.joined(separator: ".") }
}

/// Reverse proxies with a trusted `X-Forwarded-For`.
package struct TrustedProxies: Hashable, Sendable {
    private struct Network: Hashable, Sendable {
        var start: [UInt8]
        var bits: Int

        func contains(_ address: NetworkAddress) -> Bool {
            guard address.bytes.count == start.count else { return false }
            let whole = bits / 8
            guard address.bytes.prefix(whole) == start.prefix(whole) else { return false }
            return bits % 8 == 0 || (address.bytes[whole] ^ start[whole]) >> (8 - bits % 8) == 0
        }
    }

    private var networks: [Network] = []

    /// Trusts no proxy.
    package init() {}

    /// - Parameter list: Addresses such as `10.0.0.7`, and networks such as `10.0.0.0/8`, separated by commas.
    /// - Returns: Nil if an item of the list is neither.
    package init?(_ list: String) {
        for part in list.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = NetworkAddress(halves[0]) else { return nil }
            let most = address.bytes.count * 8
            let text = halves.count == 1 ? "\(most)" : halves[1].filter { $0 != " " }
            guard let bits = Int(text), (0...most).contains(bits) else { return nil }
            networks.append(Network(start: address.bytes, bits: bits))
        }
    }

    func contains(_ address: NetworkAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// Returns the client's address: the peer or, if the peer is a trusted proxy, the last untrusted address of the headers.
    ///
    /// Each proxy appends the address of its own peer. The untrusted client may have forged all addresses before its own.
    ///
    /// - Parameter forwarded: The request's `X-Forwarded-For` headers.
    func sender(_ peer: NetworkAddress?, forwarded: @autoclosure () -> [String]) -> NetworkAddress? {
        guard !networks.isEmpty, var sender = peer, contains(sender) else { return peer }
        for name in forwarded().joined(separator: ",").split(separator: ",").reversed() {
            guard let address = NetworkAddress(name) else { return sender }
            sender = address
            if !contains(address) { return address }
        }
        return sender
    }
}
