// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudService
import CloudStorageSupport
import Foundation
import ServiceFixtures
import TestBasics
import Testing

/// Changes of passwords and second factors, also while a sign-in is between its steps.
@Suite struct SignInChangeTests {
    private static func challenge(_ page: String) throws -> String {
        let start = try #require(page.range(of: "name=\"challenge\" value=\""))
        return String(page[start.upperBound...].prefix { $0 != "\"" })
    }

    private static func turnedOn() async throws -> (Village, BrowserSession, secret: [UInt8]) {
        let (village, visitor) = try await BrowserSession.signedIn()
        let account = try #require(try await village.store.account(named: "mia"))
        let secret = try await village.store.beginSecondFactor(ofAccount: account, now: village.clock.now)
        let code = TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now))
        _ = try #require(try await village.store.confirmSecondFactor(ofAccount: account, code: code, now: village.clock.now))
        village.clock.advance(seconds: 60)
        return (village, visitor, secret)
    }

    /// A challenge of the old password, with a code still to enter, does not start a session.
    @Test func aPasswordChangeEndsAChallenge() async throws {
        let (village, _, secret) = try await Self.turnedOn()
        let visitor = BrowserSession(village)
        func code() -> String { TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now)) }
        let early = try Self.challenge(await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "").text)
        try await village.store.setPassword("correct donkey", ofUser: "mia")
        let refused = await visitor.post("/console/signin", ["challenge": early, "code": code()], code: "")
        #expect(refused.status != 303)
        #expect(
            !refused.headers.contains { $0.name == "Set-Cookie" && $0.value.contains("tarn_console=") && !$0.value.contains("Max-Age=0") })
        let later = try Self.challenge(await visitor.post("/console/signin", ["name": "mia", "password": "correct donkey"], code: "").text)
        #expect(await visitor.post("/console/signin", ["challenge": later, "code": code()], code: "").status == 303)
    }

    @Test func enablingAnEnabledSecondFactorIsRejected() async throws {
        let (_, visitor, _) = try await Self.turnedOn()
        let page = await visitor.post("/console/second-factor", ["do": "begin", "password": "correct horse"])
        #expect(page.status == 409)
        #expect(page.text.contains("The second factor is on already."))
        #expect(page.text.contains("name=\"code\""), "the page with the form that turns it off")
    }

    @Test func passwordsOfOperatorsHaveALongerMinimum() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        _ = try await village.villager("bo")
        func set(_ password: String, of name: String) async -> Int {
            await visitor.post("/console/users/\(name)", ["do": "password", "password": password]).status
        }
        #expect(await set("eleven xx y", of: "bo") == 303)
        #expect(await set("seven x", of: "bo") == 400)
        #expect(await set("football1", of: "bo") == 400)
        #expect(await set("eleven xx y", of: "mia") == 400)
        #expect(try await village.store.account(named: "mia", password: "correct horse") != nil)
    }
}
