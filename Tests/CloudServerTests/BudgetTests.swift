// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudServer
import CloudWire
import NIOHTTP1
import TestBasics
import Testing

@testable import CloudService

/// The rate limit of anonymous clients: one for each network, so that a loud one starves no other.
@Suite struct BudgetTests {
    private static let path = "/database/1/\(LiveServer.container)/development/public/records/lookup"

    /// Requests with these `X-Forwarded-For` headers are within the budget, or not.
    private func expect(
        _ senders: [String?], taken expected: [Bool], by server: LiveServer, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var taken: [Bool] = []
        for sender in senders {
            let answer = try await server.send(
                "POST", Self.path, token: nil, body: Array("{}".utf8), headers: sender.map { [("X-Forwarded-For", $0)] } ?? [])
            #expect(answer.headers.first(name: "RateLimit-Limit") == "2")
            taken.append(answer.status != 429)
        }
        #expect(taken == expected, sourceLocation: sourceLocation)
    }

    private var two: Limits {
        var limits = Limits()
        limits.requestsPerMinute = 2
        return limits
    }

    @Test func rateLimitsOfAnonymousClientsAreSeparatePerNetwork() async throws {
        try await LiveServer.run(limits: two, proxies: try #require(TrustedProxies("127.0.0.1"))) { server in
            let a = "192.0.2.1"
            try await expect([a, a, a, "192.0.2.2"], taken: [true, true, false, true], by: server)
            // Addresses that a client sends itself, before the one that the gateway adds, have no effect.
            try await expect(["198.51.100.9, \(a)", "\(a):4711", "::ffff:\(a)"], taken: [false, false, false], by: server)
            // A client with one IPv6 address has a whole prefix of addresses.
            let long = ["2001:db8::1", "[2001:db8::2]:80", "2001:db8::ffff:3", "2001:db8:0:1::1"]
            try await expect(long, taken: [true, true, false, true], by: server)
            // Requests without a valid address count as the gateway's own.
            try await expect(["unknown", nil, ""], taken: [true, true, false], by: server)
        }
    }

    @Test func forwardedAddressesOfUntrustedProxiesAreIgnored() async throws {
        for proxies in [TrustedProxies(), try #require(TrustedProxies("10.0.0.0/8, fd00::/8"))] {
            try await LiveServer.run(limits: two, proxies: proxies) { server in
                try await expect(["192.0.2.1", "192.0.2.2", "192.0.2.3"], taken: [true, true, false], by: server)
            }
        }
    }

    /// Addresses cost little: remembering each would let one of them fill the memory.
    @Test func theNumberOfTrackedNetworksIsLimited() async throws {
        try await LiveServer.run { server in
            let budgets = RequestBudgets(perMinute: 2, networksMax: 3)
            func take(_ network: String) -> Bool? {
                budgets.take(of: .network(network), now: server.service.now).map { $0.wait == nil }
            }
            for network in ["a", "b", "c"] { #expect(take(network) == true) }
            // Those that come new have one budget together, and those that are known go on with their own.
            #expect(["d", "e", "f", "a", "a"].map { take($0) } == [true, true, false, true, false])
            for number in 0..<1000 { _ = take("n\(number)") }
            #expect(budgets.networkCount == 4, "three networks, and all others")
            server.clock.advance(seconds: 60)
            #expect(["n", "n", "n"].map { take($0) } == [true, true, false], "who has its whole budget need not be remembered")
        }
    }

    @Test func addressesOfChainedTrustedProxiesAreSkipped() async throws {
        try await LiveServer.run(limits: two, proxies: try #require(TrustedProxies("127.0.0.1,10.128.0.0/9"))) { server in
            try await expect(["192.0.2.1, 10.200.0.1", "192.0.2.1,10.129.0.1", "192.0.2.1"], taken: [true, true, false], by: server)
            // 10.1.0.1 is not in the network: it stands for itself.
            try await expect(["192.0.2.1, 10.1.0.1"], taken: [true], by: server)
        }
        for wrong in ["", "x", "10.0.0.1,", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "fd00::/129", "localhost"] {
            #expect(TrustedProxies(wrong) == nil, "\(wrong)")
        }
    }
}
