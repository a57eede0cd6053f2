// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import Testing

/// Pages of accounts, on every storage.
@Suite struct AccountListTests {
    private static func names(_ profiles: [AccountProfile]) -> String { profiles.map(\.accountName).joined(separator: " ") }

    @Test(arguments: StorageKind.installed)
    func accountsAreReadInPagesByTheBeginningOfTheirNames(_ kind: StorageKind) async throws {
        let test = try kind.make()
        let storage = try test.storage
        for name in ["mia", "bo", "Mia", "mia.b", "mia@example.org", "mi", "nadia"] {
            _ = try await storage.addUser(name: name, deviceLabel: "\(name)'s", now: 1)
        }
        func page(_ prefix: String, _ cursor: AccountCursor = .start, limit: Int = 2) async throws -> String {
            Self.names(try await storage.profiles(named: prefix, cursor, limit: limit))
        }
        #expect(try await page("", limit: 9) == "Mia bo mi mia mia.b mia@example.org nadia")
        #expect(try await page("mi") == "mi mia")
        #expect(try await page("mi", .after("mia")) == "mia.b mia@example.org")
        #expect(try await page("mi", .after("mia@example.org")) == "")
        #expect(try await page("mi", .before("mia@example.org")) == "mia mia.b")
        #expect(try await page("mi", .before("mia")) == "mi")
        // A cursor of another search.
        #expect(try await page("mi", .after("bo")) == "mi mia")
        #expect(try await page("x") == "")

        _ = try await storage.addToken(userName: "bo", deviceLabel: "phone", now: 2)
        let users = try await storage.users(named: ["bo", "nobody", "nadia"])
        #expect(users == [Account(name: "bo", devices: ["bo's", "phone"]), Account(name: "nadia", devices: ["nadia's"])])
        #expect(try await storage.users(named: []).isEmpty)
        #expect(try await storage.usage(ofUsers: ["bo", "nadia"]).isEmpty)
        try test.end()
    }
}
