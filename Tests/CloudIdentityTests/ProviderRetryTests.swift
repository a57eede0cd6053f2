// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudIdentity
import CloudService
import ServiceFixtures
import Synchronization
import TestBasics
import Testing

/// Failures while the provider's documents are fetched.
@Suite struct ProviderRetryTests {
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
        // A retry would get the same response.
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
