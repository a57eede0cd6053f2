// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudConsole
import CloudEngineSQLite
import CloudIdentity
import CloudService
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1
import ServiceFixtures
import TestBasics
import Testing

@testable import TarnCommands

private let foreignProvider = ProcessInfo.processInfo.environment["TARN_OIDC_PROVIDER"]

/// Sign-in at an OpenID provider that others wrote, over HTTP. `make test` installs it; `TARN_OIDC_PROVIDER` names its program.
@Suite(
    .enabled(if: foreignProvider != nil, "TARN_OIDC_PROVIDER names no provider: see .ci/oidc-provider"), .serialized,
    .timeLimit(.minutes(2)))
struct ForeignProviderTests {
    /// A running provider. Each start makes a new key. It ends with the test process.
    private final class Provider: Sendable {
        let port: Int
        private let process: ChildProcess

        private static let script = #"""
            trap : TERM
            exec 3> >(sed -un 's/.*Uvicorn running on http:..127.0.0.1:\([0-9]*\).*/port \1/p')
            "$0" "$@" >&3 2>&3 3>&- & provider=$!
            exec 3>&-
            cat > /dev/null
            kill -9 $provider
            """#

        /// - Parameter port: 0 lets the system choose.
        init(port: Int = 0) async throws {
            let program = try #require(foreignProvider)
            let claims = #"{"sub": "subject-1", "preferred_username": "nadia"}"#
            process = try ChildProcess(
                "the provider", program: URL(fileURLWithPath: "/bin/bash"),
                arguments: ["-c", Self.script, program, "--port", String(port), "--user-claims", claims],
                environment: ["PYTHONUNBUFFERED": "1"], log: URL(fileURLWithPath: "/dev/null"))
            self.port = try #require(Int(try await process.line(after: "port ")))
        }

        var issuer: String { "http://127.0.0.1:\(port)" }

        /// The provider ends when standard input does.
        func stop() async { await process.stop() }
    }

    /// A server with sign-in at the provider, and a hook for the requests to it.
    private static func village(
        _ provider: Provider, _ clock: HandClock = HandClock(),
        change: @escaping @Sendable (inout ProviderRequest) -> Void = { _ in }
    ) throws -> Village {
        let settings = OpenIDProvider.Settings(issuer: provider.issuer, clientID: "tarn", clientSecret: "s3cret", name: "Another ID")
        let signIn = IdentitySignIn(
            provider: OpenIDProvider(settings, now: { clock.now }) { request in
                var request = request
                change(&request)
                return try await ProviderClient.fetch(request)
            }, accounts: .created)
        let village = try Village(identitySignIn: signIn)
        clock.set(systemMilliseconds)
        return village
    }

    /// The time on the provider's clock: milliseconds since 1970 UTC.
    private static var systemMilliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// The person signs in at the provider's page.
    ///
    /// - Parameter change: Changes the provider's address on its way through the browser.
    /// - Returns: The server's response to the browser that came back.
    private static func signIn(_ village: Village, change: (String) -> String = { $0 }) async throws -> (
        ServiceResponse?, OpenIDTests.Browser
    ) {
        let browser = OpenIDTests.Browser(village)
        village.clock.set(systemMilliseconds)
        let begun = await browser.get("/signin/provider")
        let address = change(try #require(begun?.headers.first { $0.name == "Location" }?.value))
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(ByteBuffer(string: "sub=subject-1"))
        let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow))
        let response = try await client.execute(request, timeout: .seconds(60))
        let back = response.headers.first(name: "Location")
        try await client.shutdown()
        let location = try #require(back)
        let query = try #require(location.split(separator: "?", maxSplits: 1).last)
        // A token from the future is refused, and on a busy machine the provider may have taken more than the minute of tolerance.
        village.clock.set(systemMilliseconds)
        return (await browser.get("/signin/callback?\(query)"), browser)
    }

    @Test func aPersonSignsInAndHasOneAccount() async throws {
        let provider = try await Provider()
        let village = try Self.village(provider)
        for _ in 0..<2 {
            let (response, browser) = try await Self.signIn(village)
            #expect(response?.status == 200, "\(OpenIDTests.Browser.text(response))")
            #expect(response?.headers.first { $0.name == "Refresh" }?.value == "0; url=/console")
            // The account is not an operator.
            #expect(await browser.get("/console")?.status == 403)
        }
        #expect(try await village.store.profiles().count == 1)
        let identity = Identity(issuer: provider.issuer, subject: "subject-1")
        #expect(try await village.store.account(ofIdentity: identity) != nil)
        await provider.stop()
    }

    /// The provider starts again with another key: the server fetches its keys, once a minute at most.
    @Test func aNewKeyIsFetched() async throws {
        let first = try await Provider()
        let clock = HandClock()
        let village = try Self.village(first, clock)
        #expect(try await Self.signIn(village).0?.status == 200)
        await first.stop()
        let second = try await Provider(port: first.port)
        #expect(try await Self.signIn(village).0?.status == 401, "the keys were fetched within this minute")
        clock.advance(seconds: 61)
        let response = try await Self.signIn(village).0
        #expect(response?.status == 200, "\(OpenIDTests.Browser.text(response))")
        await second.stop()
    }

    @Test func aTokenOfAnotherSignInIsRefused() async throws {
        let provider = try await Provider()
        let (response, _) = try await Self.signIn(try Self.village(provider)) { $0.replacing(/nonce=[^&]*/, with: "nonce=0") }
        #expect(response?.status == 401)
        #expect(OpenIDTests.Browser.text(response).contains("another sign-in"))
        await provider.stop()
    }

    /// A code that another client of the provider got: the provider refuses it, and the server refuses the token that it would be exchanged for.
    @Test func aTokenForAnotherClientIsRefused() async throws {
        let provider = try await Provider()
        let other = { (address: String) in address.replacing("client_id=tarn", with: "client_id=other") }
        #expect(try await Self.signIn(try Self.village(provider), change: other).0?.status == 401)
        let village = try Self.village(provider) { request in
            if request.form != nil { request.headers["Authorization"] = "Basic " + Data("other:s3cret".utf8).base64EncodedString() }
        }
        let (response, _) = try await Self.signIn(village, change: other)
        #expect(response?.status == 401)
        #expect(OpenIDTests.Browser.text(response).contains("for another client"))
        await provider.stop()
    }

    /// The provider names itself by the host of the request.
    @Test func aTokenOfAnotherIssuerIsRefused() async throws {
        let provider = try await Provider()
        let village = try Self.village(provider) { request in
            if request.form != nil { request.address = request.address.replacing("127.0.0.1", with: "localhost") }
        }
        let (response, _) = try await Self.signIn(village)
        #expect(response?.status == 401)
        #expect(OpenIDTests.Browser.text(response).contains("of another issuer"))
        let discovered = try Self.village(provider) { request in
            if request.form == nil { request.address = request.address.replacing("127.0.0.1", with: "localhost") }
        }
        #expect(await OpenIDTests.Browser(discovered).get("/signin/provider")?.status == 503)
        await provider.stop()
    }
}
