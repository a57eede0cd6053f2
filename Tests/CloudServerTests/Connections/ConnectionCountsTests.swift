// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import CloudServer

@Suite struct ConnectionCountsTests {
    private let far = NetworkAddress("192.0.2.7"), other = NetworkAddress("192.0.2.8")

    @Test func aNetworkHasAsManyConnectionsAsItMay() {
        let counts = ConnectionCounts(atMost: 2) { _ in false }
        #expect(counts.add(far))
        #expect(counts.add(far))
        #expect(!counts.add(far))
        #expect(counts.add(other))
        counts.remove(far)
        #expect(counts.add(far))
    }

    /// An IPv6 client chooses any address of its /64.
    @Test func addressesOfOnePrefixAreOneNetwork() {
        let counts = ConnectionCounts(atMost: 1) { _ in false }
        #expect(counts.add(NetworkAddress("2001:db8::1")))
        #expect(!counts.add(NetworkAddress("2001:db8::2")))
        #expect(counts.add(NetworkAddress("2001:db8:0:1::1")))
    }

    @Test func closedConnectionsLeaveNothing() {
        let counts = ConnectionCounts(atMost: 3) { _ in false }
        for _ in 0..<3 { _ = counts.add(far) }
        for _ in 0..<3 { counts.remove(far) }
        #expect(counts.networkCount == 0)
    }

    @Test(arguments: ["127.0.0.1", "127.8.0.1", "::1", "10.0.0.7"])
    func thisMachineAndGatewaysAreNotCounted(_ text: String) throws {
        let gateways = try #require(TrustedProxies("10.0.0.7"))
        let counts = ConnectionCounts(atMost: 1) { $0.isLoopback || gateways.contains($0) }
        for _ in 0..<3 { #expect(counts.add(NetworkAddress(text))) }
        #expect(counts.networkCount == 0)
    }
}
