// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import GRDB
import ServiceFixtures
import TestBasics
import Testing

/// Hashes with older parameters are replaced when their owners sign in.
@Suite struct PasswordHashTests {
    private static let web = SignInPlace(containerIdentifier: Village.container, environment: .development, isKept: false)

    private struct Stored: Equatable {
        var salt: Data
        var parameters: [Int]
    }

    private static func stored(_ village: Village) throws -> Stored {
        let queue = try DatabaseQueue(path: village.folder.path + "/tarn.sqlite")
        defer { try? queue.close() }
        return try queue.read { db in
            let row = try #require(
                try Row.fetchOne(db, sql: "SELECT salt, rounds, block_size, parallelism FROM accounts WHERE name = 'mia'"))
            return Stored(salt: row[0], parameters: [row[1], row[2], row[3]])
        }
    }

    /// A server with user mia and a password hash of 8 rounds.
    private static func village() async throws -> Village {
        let village = try Village()
        _ = try await village.villager("mia")
        let old = try SQLiteServerStore(path: village.folder.path, use: .command, passwordRounds: 8)
        try await old.setPassword("correct horse", ofUser: "mia")
        try old.close()
        return village
    }

    @Test func signInStoresANewHash() async throws {
        let village = try await Self.village()
        let old = try Self.stored(village)
        #expect(old.parameters == [8, 8, 3])
        let result = try await village.service.signIns.signIn(name: "mia", password: "correct horse", to: Self.web, network: "home")
        let new = try Self.stored(village)
        #expect(new.parameters == [16, 8, 3])
        #expect(new.salt != old.salt)
        #expect(try await village.store.account(named: "mia", password: "correct horse") != nil)
        #expect(try await village.store.account(named: "mia", password: "wrong") == nil)
        guard case .signedIn(let token) = result else {
            Issue.record("the account has no second factor")
            return
        }
        #expect(try await village.service.sessions.session(ofToken: token).session.use == .container(Village.container))
    }

    @Test func wrongPasswordKeepsTheHash() async throws {
        let village = try await Self.village()
        let old = try Self.stored(village)
        await #expect(throws: (any Error).self) {
            try await village.service.signIns.signIn(name: "mia", password: "wrong", to: Self.web, network: "home")
        }
        #expect(try Self.stored(village) == old)
    }

    @Test func presentHashIsKept() async throws {
        let village = try await Self.village()
        for _ in 0..<2 {
            _ = try await village.service.signIns.signIn(name: "mia", password: "correct horse", to: Self.web, network: "home")
        }
        let first = try Self.stored(village)
        _ = try await village.service.signIns.signIn(name: "mia", password: "correct horse", to: Self.web, network: "home")
        #expect(try Self.stored(village) == first)
    }

    /// A concurrent sign-in does not restore the old password.
    @Test func renewalOfAnOldPasswordChangesNothing() async throws {
        let village = try await Self.village()
        let account = try #require(try await village.store.account(named: "mia"))
        async let renewal: Void = village.store.renewPasswordHash(ofAccount: account, password: "correct horse")
        try await village.store.setPassword("another horse", ofUser: "mia")
        try await renewal
        #expect(try await village.store.account(named: "mia", password: "another horse") == account)
        #expect(try await village.store.account(named: "mia", password: "correct horse") == nil)
    }
}
