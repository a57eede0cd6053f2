// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudIdentity
import CloudService
import CloudWire
import Foundation
import Synchronization
import Testing

/// Changes and failures while a sign-in is between its steps.
@Suite struct SignInChangeTests {
    private static func challenge(_ page: String) throws -> String {
        let start = try #require(page.range(of: "name=\"challenge\" value=\""))
        return String(page[start.upperBound...].prefix { $0 != "\"" })
    }

    private static func turnedOn() async throws -> (Village, ConsoleTests.Visitor, secret: [UInt8]) {
        let (village, visitor) = try await ConsoleTests.signedIn()
        let account = try #require(try await village.store.account(named: "mia"))
        let secret = try await village.store.beginSecondFactor(ofAccount: account, now: village.clock.now)
        let code = TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now))
        _ = try #require(try await village.store.confirmSecondFactor(ofAccount: account, code: code, now: village.clock.now))
        village.clock.advance(seconds: 60)
        return (village, visitor, secret)
    }

    /// A person who had the old password and waits for a code does not get in with the new password's owner.
    @Test func aChallengeEndsWithThePassword() async throws {
        let (village, _, secret) = try await Self.turnedOn()
        let visitor = ConsoleTests.Visitor(village)
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

    @Test func aSecondSetupIsRefusedOnItsPage() async throws {
        let (_, visitor, _) = try await Self.turnedOn()
        let page = await visitor.post("/console/second-factor", ["do": "begin", "password": "correct horse"])
        #expect(page.status == 409)
        #expect(page.text.contains("The second factor is on already."))
        #expect(page.text.contains("name=\"code\""), "the page with the form that turns it off")
    }

    // MARK: The provider's documents

    @Test func aFailedFetchIsRetriedWithBackoff() async throws {
        let provider = ProviderFixture()
        let village = try Village(identitySignIn: provider.signIn())
        provider.state.withLock { $0.failures = 2 }
        let browser = OpenIDTests.Browser(village)
        #expect(await browser.get("/signin/provider")?.status == 303)
        #expect(provider.state.withLock { $0.pauses } == [.milliseconds(250), .milliseconds(500)])
        #expect(provider.state.withLock { $0.requests.count } == 3)
    }

    @Test func fetchesEndAfterThreeAttempts() async throws {
        for status in [500, 503, 429] {
            let provider = ProviderFixture()
            let village = try Village(identitySignIn: provider.signIn())
            provider.state.withLock { $0.response = ProviderResponse(status: status, body: []) }
            #expect(await OpenIDTests.Browser(village).get("/signin/provider")?.status == 503)
            #expect(provider.state.withLock { $0.requests.count } == 3)
        }
        // Another response is no better the next time.
        let provider = ProviderFixture()
        let village = try Village(identitySignIn: provider.signIn())
        provider.state.withLock { $0.response = ProviderResponse(status: 404, body: []) }
        #expect(await OpenIDTests.Browser(village).get("/signin/provider")?.status == 503)
        #expect(provider.state.withLock { $0.requests.count } == 1)
    }

    @Test func theLastDiscoveryDocumentIsUsedForADay() async throws {
        let provider = ProviderFixture()
        let village = try Village(identitySignIn: provider.signIn())
        #expect(await OpenIDTests.Browser(village).get("/signin/provider")?.status == 303)
        provider.state.withLock { $0.response = ProviderResponse(status: 503, body: []) }
        provider.clock.advance(seconds: 7200)
        #expect(await OpenIDTests.Browser(village).get("/signin/provider")?.status == 303)
        provider.clock.advance(seconds: 86_400)
        #expect(await OpenIDTests.Browser(village).get("/signin/provider")?.status == 503)
    }
}
