// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import StorageFixtures
import Testing

@testable import CloudService

/// Networks from which owners signed in, in the SQLite server's database.
@Suite struct KnownNetworkTests {
    private static let account = AttemptKey.account(1)
    private static let day: Int64 = 24 * 60 * 60 * 1000

    /// A server on a data folder.
    private struct Server {
        let place: ServerPlace
        let store: any OperatedStorage
        let networks: any NetworkStorage
        let throttle: PasswordThrottle

        init(_ place: ServerPlace) throws {
            let store = try place.open()
            let networks = try #require(store as? any NetworkStorage)
            (self.place, self.store, self.networks) = (place, store, networks)
            throttle = PasswordThrottle(networks: networks)
        }

        func signIn(_ account: String = KnownNetworkTests.account, from network: String, now: Int64 = 0) async throws -> Bool {
            guard let attempt = try? await throttle.begin(account, from: network, now: now, allowed: 5) else { return false }
            try await throttle.end(attempt, isRight: true, now: now, allowed: 5)
            return true
        }

        func knows(_ network: String, of account: String = KnownNetworkTests.account, now: Int64 = 0) async throws -> Bool {
            try await networks.isKnown(PasswordThrottle.networkKey(account, network), ofAccount: account, now: now)
        }
    }

    /// A hundred networks guess the password after a restart.
    @Test func aNetworkOfTheOwnerIsNotDelayedAfterARestart() async throws {
        let place = try ServerPlace(.sqlite)
        let first = try Server(place)
        #expect(try await first.signIn(from: "home"))
        try first.store.close()
        let second = try Server(place)
        for number in 0..<200 {
            guard let attempt = try? await second.throttle.begin(Self.account, from: "network \(number / 2)", now: 0, allowed: 5) else {
                continue
            }
            try await second.throttle.end(attempt, isRight: false, now: 0, allowed: 5)
        }
        #expect(try await second.signIn(from: "home"))
        #expect(try await !second.signIn(from: "hotel"))
        try second.store.close()
    }

    @Test func anAccountHasItsNewestEightNetworks() async throws {
        let server = try Server(try ServerPlace(.sqlite))
        for number in 0..<20 { #expect(try await server.signIn(from: "network \(number)", now: Int64(number))) }
        var known: [Int] = []
        for number in 0..<20 where try await server.knows("network \(number)") { known.append(number) }
        #expect(known == Array(12..<20))
        #expect(try await !server.knows("network 19", of: AttemptKey.account(2)))
        try server.store.close()
    }

    /// A client could make any number of other keys.
    @Test func onlyNetworksOfAccountsAreStored() async throws {
        let server = try Server(try ServerPlace(.sqlite))
        for key in [PasswordThrottle.key(ofName: "#1"), "device token home"] {
            #expect(try await server.signIn(key, from: "home"))
            #expect(try await !server.knows("home", of: key))
        }
        try server.store.close()
    }

    @Test func aNetworkIsRememberedForThirtyDays() async throws {
        let server = try Server(try ServerPlace(.sqlite))
        #expect(try await server.signIn(from: "home"))
        #expect(try await server.knows("home", now: 30 * Self.day))
        #expect(try await !server.knows("home", now: 30 * Self.day + 1))
        try await server.store.removeExpired(now: 30 * Self.day)
        #expect(try await server.knows("home"))
        try await server.store.removeExpired(now: 30 * Self.day + 1)
        #expect(try await !server.knows("home"))
        try server.store.close()
    }
}
