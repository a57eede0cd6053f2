// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import ServiceFixtures
import Testing

/// The end of a session on the console's pages.
@Suite struct SignOutTests {
    private static func sessions(_ village: Village) async throws -> Int {
        try await village.store.accesses(ofUser: "mia").count { access in
            if case .session(.console, _) = access.kind { true } else { false }
        }
    }

    @Test func aPersonWhoIsNotAnOperatorSignsOut() async throws {
        let (village, other) = try await BrowserSession.signedIn(isOperator: false)
        let refused = await other.get("/console/users")
        #expect(refused.status == 403)
        #expect(refused.text.contains(#"action="/console/signout""#))
        #expect(refused.text.contains("<span>mia</span>"))
        #expect(!refused.text.contains(#"href="/console/users""#), "the menu is for operators")
        let code = try #require(refused.form)
        #expect(await other.post("/console/signout", [:], code: "0").status == 403)
        #expect(try await Self.sessions(village) == 1)
        #expect(await other.post("/console/signout", [:], code: code).status == 303)
        #expect(try await Self.sessions(village) == 0)
        #expect(await other.get("/console").text.contains("name=\"password\""))
    }

    @Test func anOperatorSignsOut() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        #expect(await visitor.post("/console/signout", [:]).status == 303)
        #expect(try await Self.sessions(village) == 0)
    }
}
