// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudIdentity
import CloudService
import CloudStorageSupport
import CloudWire
import Crypto
import CryptoExtras
import Foundation
import ServiceFixtures
import Synchronization
import TestBasics
import Testing

/// Sign-in at an OpenID provider, from the page to the session.
@Suite struct OpenIDTests {
    /// A browser with cookies, at the server.
    final class Browser {
        let console: Console
        var cookies: [String: String] = [:]

        init(_ village: Village, _ part: Console.Part = .all) {
            console = Console(service: village.service, storage: village.store).serving(part)
        }

        func get(_ path: String) async -> ServiceResponse? {
            let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            let header = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            let response = await console.respond(
                to: ServiceRequest(
                    method: "GET", path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "", headers: ["cookie": header],
                    body: .bytes([]),
                    baseURL: "http://tarn.example"))
            for (name, value) in response?.headers ?? [] where name == "Set-Cookie" {
                let pair = value.split(separator: ";")[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                cookies[String(pair[0])] = String(pair[1])
            }
            return response
        }

        static func text(_ response: ServiceResponse?) -> String {
            guard case .bytes(let bytes) = response?.body else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }

        static func location(_ response: ServiceResponse?) -> String? { response?.headers.first { $0.name == "Location" }?.value }

        /// Goes to the provider and back.
        func signIn(at provider: ProviderFixture, flow: String = "") async throws -> ServiceResponse? {
            let begun = await get("/signin/provider" + (flow.isEmpty ? "" : "?flow=\(flow)"))
            let query = try provider.visit(try #require(Self.location(begun)))
            return await get("/signin/callback?\(query)")
        }
    }

    private static let identity = Identity(issuer: ProviderFixture.issuer, subject: "subject-1")

    /// A server with the operator mia, and a provider that knows her as `subject-1`.
    private static func linked(_ accounts: IdentitySignIn.Accounts = .linked) async throws -> (Village, ProviderFixture) {
        let provider = ProviderFixture()
        let village = try Village(identitySignIn: provider.signIn(accounts))
        _ = try await village.villager("mia")
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        try await village.store.addIdentity(identity, ofUser: "mia", now: village.clock.now)
        provider.clock.set(village.clock.now)
        return (village, provider)
    }

    @Test func operatorSignsInToTheConsole() async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        #expect(Browser.text(await browser.get("/console")).contains("href=\"/signin/provider\">Sign in with Example ID"))
        let done = try await browser.signIn(at: provider)
        #expect(done?.status == 200)
        #expect(done?.headers.contains { $0.name == "Refresh" && $0.value == "0; url=/console" } == true)
        #expect(Browser.text(await browser.get("/console")).contains("Containers"))
        #expect(browser.cookies["tarn_signin"] == "")
        #expect(
            try await village.store.auditEvents(before: nil, limit: 1).map { "\($0.event.actor) \($0.event.action)" } == [
                "mia console.sign-in"
            ])
    }

    @Test(arguments: [
        ("/console/users?saved=1", "/console/users?saved=1"), ("https://evil.example/console/", "/console"), ("//evil.example", "/console"),
        ("/console/\\evil.example", "/console"), ("/signin", "/console"), ("/console/a\r\nSet-Cookie: a=b", "/console"),
    ])
    func theSignInOpensTheRequestedPageOfTheConsole(_ next: String, _ opened: String) async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        let begun = await browser.get("/signin/provider?next=\(QueryItems.encode(next))")
        let query = try provider.visit(try #require(Browser.location(begun)))
        let done = await browser.get("/signin/callback?\(query)")
        #expect(done?.headers.first { $0.name == "Refresh" }?.value == "0; url=\(opened)")
        #expect(Browser.text(done).contains("href=\"\(opened)\""))
        #expect(browser.cookies["tarn_next"] == "")
    }

    /// A page of another host of the domain may have set the cookie.
    @Test func thePageOfACookieIsOneOfTheConsole() async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        let page = Browser.text(await browser.get("/console/users"))
        #expect(page.contains("href=\"/signin/provider?next=%2Fconsole%2Fusers\""))
        let query = try provider.visit(try #require(Browser.location(await browser.get("/signin/provider?next=%2Fconsole%2Fusers"))))
        #expect(browser.cookies["tarn_next"] == "%2Fconsole%2Fusers")
        browser.cookies["tarn_next"] = "https%3A%2F%2Fevil.example"
        let done = await browser.get("/signin/callback?\(query)")
        #expect(done?.headers.first { $0.name == "Refresh" }?.value == "0; url=/console")
    }

    /// The provider sends browsers to the public address, which has no console then.
    @Test func consoleOnItsOwnAddressHasPasswordsOnly() async throws {
        let (village, _) = try await Self.linked()
        let page = await Browser(village, .console).get("/console")
        #expect(page?.status == 200)
        #expect(!Browser.text(page).contains("/signin/provider"))
        let apps = Browser(village, .apps)
        #expect(await apps.get("/signin/provider")?.status == 404)
        #expect(apps.cookies.isEmpty)
    }

    /// As devices and web apps do: the sign-in page of a request without a user.
    @Test func webAppGetsAToken() async throws {
        let (village, provider) = try await Self.linked()
        let apiToken = try await village.store.addAPIToken(
            APIToken(
                containerIdentifier: Village.container, environment: .development, label: "app", callbackURL: "https://app.example.org/in"),
            now: village.clock.now)
        let path = "/database/1/\(Village.container)/development/private/zones/list"
        func ask(_ query: String) async -> ServiceResponse {
            await village.service.respond(to: ServiceRequest(method: "GET", path: path, query: query, baseURL: "http://tarn.example"))
        }
        let refused = await ask("ckAPIToken=\(apiToken)")
        let address = try #require(try WireError(json: Array(Browser.text(refused).utf8)).redirectURL)
        let browser = Browser(village)
        let page = Browser.text(await browser.get(String(address.dropFirst("http://tarn.example".count))))
        let flow = String(address.split(separator: "flow=")[1])
        #expect(page.contains("href=\"/signin/provider?flow=\(flow)\""))
        let done = try await browser.signIn(at: provider, flow: flow)
        let callback = try #require(Browser.location(done))
        #expect(callback.hasPrefix("https://app.example.org/in?ckWebAuthToken="))
        let token = try #require(QueryItems(String(callback.split(separator: "?")[1]))["ckWebAuthToken"])
        #expect(await ask("ckAPIToken=\(apiToken)&ckWebAuthToken=\(token)").status == 200)
    }

    @Test func requestsToTheProviderAreBoundedAndKeepSecrets() async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        for _ in 0..<3 { #expect(try await browser.signIn(at: provider)?.status == 200) }
        let requests = provider.state.withLock { $0.requests }
        #expect(requests.count { $0.form == nil } == 2, "documents are fetched once an hour")
        #expect(requests.allSatisfy { $0.bytesMax <= 256_000 })
        #expect(requests.allSatisfy { !$0.address.contains("s3cret") })
        #expect(Set(requests.compactMap { QueryItems($0.form ?? "")["code_verifier"] }).count == 3)
    }

    /// Each change makes the ID token invalid.
    static let forgeries: [(name: String, change: @Sendable (inout [String: Any]) -> Void)] = [
        ("issuer", { $0["iss"] = "https://evil.example" }), ("audience", { $0["aud"] = "other" }),
        ("no audience", { $0["aud"] = [String]() }), ("audience of several without azp", { $0["aud"] = ["tarn", "other"] }),
        ("azp", { $0["azp"] = "other" }), ("nonce", { $0["nonce"] = "n" }), ("no nonce", { $0["nonce"] = nil }),
        ("expired", { $0["exp"] = ($0["iat"] as? Int64 ?? 0) - 61 }), ("no expiry", { $0["exp"] = nil }),
        ("huge expiry as text", { $0["exp"] = "9e999" }), ("from the future", { $0["iat"] = ($0["iat"] as? Int64 ?? 0) + 61 }),
        ("no subject", { $0["sub"] = nil }), ("empty subject", { $0["sub"] = "" }),
        ("long subject", { $0["sub"] = String(repeating: "x", count: 256) }), ("subject as number", { $0["sub"] = 7 }),
    ]

    @Test(arguments: forgeries.indices)
    func tokensWithWrongClaimsAreRefused(_ index: Int) async throws {
        let (village, provider) = try await Self.linked(.created)
        provider.state.withLock { $0.change = Self.forgeries[index].change }
        let browser = Browser(village)
        #expect(try await browser.signIn(at: provider)?.status == 401, "\(Self.forgeries[index].name)")
        #expect(browser.cookies["tarn_console"] == nil)
        #expect(try await village.store.profiles().count == 1)
    }

    static let headers: [(name: String, change: @Sendable (inout [String: Any]) -> Void)] = [
        ("none", { $0["alg"] = "none" }), ("shared secret", { $0["alg"] = "HS256" }),
        ("shared secret with its key", { ($0["alg"], $0["kid"]) = ("HS256", "shared") }),
        ("other algorithm", { $0["alg"] = "ES384" }), ("RSA over an EC key", { $0["alg"] = "RS256" }),
        ("unknown key", { $0["kid"] = "key-9" }),
        ("no key named among several", { $0["kid"] = nil }), ("critical extension", { $0["crit"] = ["x"] }),
        ("no algorithm", { $0["alg"] = nil }),
    ]

    @Test(arguments: headers.indices)
    func tokensWithWrongHeadersAreRefused(_ index: Int) async throws {
        let (village, provider) = try await Self.linked()
        provider.state.withLock {
            $0.keys.append(("key-2", .p256(P256.Signing.PrivateKey())))
            $0.changeHeader = Self.headers[index].change
        }
        #expect(try await Browser(village).signIn(at: provider)?.status == 401, "\(Self.headers[index].name)")
    }

    @Test func tokenOfAnotherKeyUnderAKnownNameIsRefused() async throws {
        let (village, provider) = try await Self.linked()
        #expect(try await Browser(village).signIn(at: provider)?.status == 200)
        provider.state.withLock { $0.keys[0].key = .p256(P256.Signing.PrivateKey()) }
        #expect(try await Browser(village).signIn(at: provider)?.status == 401)
    }

    @Test func rotatedKeysAreFetchedAtMostOnceAMinute() async throws {
        let (village, provider) = try await Self.linked()
        func keyRequests() -> Int { provider.state.withLock { $0.requests.count { $0.address.hasSuffix("/keys") } } }
        #expect(try await Browser(village).signIn(at: provider)?.status == 200)
        let rsa = ProviderFixture.Key.rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048))
        provider.state.withLock { $0.keys.insert(("key-2", rsa), at: 0) }
        #expect(try await Browser(village).signIn(at: provider)?.status == 401)
        #expect(keyRequests() == 1)
        for clock in [provider.clock, village.clock] { clock.advance(seconds: 60) }
        #expect(try await Browser(village).signIn(at: provider)?.status == 200)
        #expect(keyRequests() == 2)
    }

    @Test func stateBelongsToOneBrowserOnce() async throws {
        let (village, provider) = try await Self.linked()
        let victim = Browser(village), attacker = Browser(village)
        let begun = await attacker.get("/signin/provider")
        let query = try provider.visit(try #require(Browser.location(begun)))
        #expect(await victim.get("/signin/callback?\(query)")?.status != 200, "another browser")
        #expect(victim.cookies["tarn_console"] == nil)
        #expect(await attacker.get("/signin/callback?\(query.replacing("state=", with: "state=00"))")?.status != 200, "a forged state")
        let secret = attacker.cookies["tarn_signin"]
        #expect(await attacker.get("/signin/callback?\(query)")?.status == 200)
        #expect(secret?.isEmpty == false)
        let replay = await village.console(cookie: "tarn_signin=\(secret ?? "")", "/signin/callback", query)
        #expect(replay?.status != 200, "a second use")
    }

    @Test func stateExpires() async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        let query = try provider.visit(try #require(Browser.location(await browser.get("/signin/provider"))))
        village.clock.advance(seconds: 600)
        #expect(await browser.get("/signin/callback?\(query)")?.status != 200)
    }

    @Test func responseOfAnotherIssuerIsRefused() async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        let query = try provider.visit(try #require(Browser.location(await browser.get("/signin/provider"))))
        let mixed = query.split(separator: "&iss=")[0] + "&iss=https%3A%2F%2Fevil.example"
        #expect(await browser.get("/signin/callback?\(mixed)")?.status == 401)
        #expect(provider.state.withLock { $0.requests.allSatisfy { $0.form == nil } }, "the code was sent nowhere")
    }

    @Test func personWithoutAnAccountIsTold() async throws {
        let (village, provider) = try await Self.linked()
        provider.state.withLock { $0.subject = "subject-2" }
        let browser = Browser(village)
        let refused = try await browser.signIn(at: provider)
        #expect(refused?.status == 403)
        #expect(Browser.text(refused).contains("subject-2"))
        #expect(browser.cookies["tarn_console"] == nil)
        #expect(try await village.store.profiles().count == 1)
    }

    /// The provider calls a stranger `mia`, which is an operator's name here.
    @Test func accountsAreJoinedByIssuerAndSubjectNeverByName() async throws {
        let (village, provider) = try await Self.linked(.created)
        provider.state.withLock { ($0.subject, $0.preferredName) = ("subject-2", "mia") }
        let browser = Browser(village)
        #expect(try await browser.signIn(at: provider)?.status == 200)
        #expect(Browser.text(await browser.get("/console")).contains("for operators"))
        let made = try #require(try await village.store.profiles().map(\.accountName).first { $0 != "mia" })
        #expect(made.hasPrefix("person-"))
        #expect(try await village.store.identities(ofUser: "mia") == [Self.identity])
        #expect(try await Browser(village).signIn(at: provider)?.status == 200)
        #expect(try await village.store.profiles().count == 2, "the second sign-in finds the account")
    }

    @Test func firstSignInMakesAnAccountIfTheServerAllowsIt() async throws {
        let (village, provider) = try await Self.linked(.created)
        provider.state.withLock { $0.subject = "subject-2" }
        #expect(try await Browser(village).signIn(at: provider)?.status == 200)
        #expect(try await village.store.profiles().map(\.accountName) == ["mia", "nadia"])
        #expect(try await village.store.profiles().map(\.isOperator) == [true, false])
    }

    @Test func removedIdentityNoLongerSignsIn() async throws {
        let (village, provider) = try await Self.linked()
        let browser = Browser(village)
        #expect(try await browser.signIn(at: provider)?.status == 200)
        try await village.store.removeIdentity(Self.identity, ofUser: "mia")
        #expect(Browser.text(await browser.get("/console")).contains("name=\"password\""))
        #expect(try await browser.signIn(at: provider)?.status == 403)
        await #expect(throws: StorageFailure.self) { try await village.store.removeIdentity(Self.identity, ofUser: "mia") }
    }

    @Test func secondFactorIsAskedForAfterTheProvider() async throws {
        let (village, provider) = try await Self.linked()
        let account = try #require(try await village.store.account(named: "mia"))
        let secret = try await village.store.beginSecondFactor(ofAccount: account, now: village.clock.now)
        let code = TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now))
        _ = try #require(try await village.store.confirmSecondFactor(ofAccount: account, code: code, now: village.clock.now))
        let browser = Browser(village)
        #expect(Browser.text(try await browser.signIn(at: provider)).contains("name=\"challenge\""))
        #expect(browser.cookies["tarn_console"] == nil)
    }

    static let documents: [(name: String, response: ProviderResponse)] = [
        ("an error", ProviderResponse(status: 500, body: [])), ("a redirect", ProviderResponse(status: 302, body: [])),
        ("no JSON", ProviderResponse(status: 200, body: Array("<html>".utf8))),
        ("too long", ProviderResponse(status: 200, body: [UInt8](repeating: 32, count: 300_000))),
        ("deep", ProviderResponse(status: 200, body: [UInt8](repeating: UInt8(ascii: "["), count: 60_000))),
    ]

    @Test(arguments: documents.indices)
    func brokenDocumentsAreAnErrorPage(_ index: Int) async throws {
        let (village, provider) = try await Self.linked()
        provider.state.withLock { $0.response = Self.documents[index].response }
        let page = await Browser(village).get("/signin/provider")
        #expect(page?.status == 503, "\(Self.documents[index].name)")
    }

    @Test(arguments: [
        ("issuer", "https://evil.example"), ("token_endpoint", "http://id.example.com/token"), ("jwks_uri", "file:///etc/passwd"),
        ("authorization_endpoint", "javascript:alert(1)"),
    ])
    func documentsThatLeadElsewhereAreRefused(_ member: String, _ value: String) async throws {
        let (village, provider) = try await Self.linked()
        provider.state.withLock { $0.changeMetadata = { $0[member] = value } }
        #expect(await Browser(village).get("/signin/provider")?.status == 503)
    }

    @Test func failedSignInsOfANetworkWait() async throws {
        let (village, provider) = try await Self.linked()
        let forgery = Self.forgeries[5].change
        provider.state.withLock { $0.change = forgery }
        for _ in 0..<5 { #expect(try await Browser(village).signIn(at: provider)?.status == 401) }
        #expect(await Browser(village).get("/signin/provider")?.status == 429)
    }

    @Test func serverWithoutAProviderHasNoSuchPages() async throws {
        let village = try Village()
        let browser = Browser(village)
        #expect(!Browser.text(await browser.get("/console")).contains("Sign in with"))
        #expect(await browser.get("/signin/provider")?.status == 404)
        #expect(await browser.get("/signin/callback?code=1&state=00")?.status == 404)
    }
}

extension Village {
    fileprivate func console(cookie: String, _ path: String, _ query: String) async -> ServiceResponse? {
        await Console(service: service, storage: store).respond(
            to: ServiceRequest(
                method: "GET", path: path, query: query, headers: ["cookie": cookie], body: .bytes([]), baseURL: "http://tarn.example"))
    }
}
