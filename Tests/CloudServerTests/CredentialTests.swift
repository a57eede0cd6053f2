// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import NIOHTTP1
import ServiceFixtures
import SystemSupport
import TestBasics
import Testing

@Suite struct CredentialTests {
    static let root = "/database/1/\(LiveServer.container)/development"
    static let plant = RecordOperation(
        .create, Record(recordName: "p1", recordType: "Plant", fields: ["name": Field(.string("Sage"))]))

    /// A server with a user, the user's password, and an API token.
    struct Garden {
        let server: LiveServer
        let apiToken: String

        init(_ server: LiveServer, origins: [String] = [], callback: String? = nil) async throws {
            self.server = server
            _ = try await server.addUser("mia")
            try await server.store.setPassword("correct horse", ofUser: "mia")
            apiToken = try await server.store.addAPIToken(
                APIToken(
                    containerIdentifier: LiveServer.container, environment: .development, label: "page",
                    callbackURL: callback, allowedOrigins: origins), now: server.clock.now)
        }

        func signIn(isKept: Bool = false, password: String = "correct horse") async throws -> String {
            let place = SignInPlace(containerIdentifier: LiveServer.container, environment: .development, isKept: isKept)
            let result = try await server.service.signIns.signIn(name: "mia", password: password, to: place, network: "10.0.0.1")
            guard case .signedIn(let token) = result else { throw WireError(.authenticationRequired, "a code is needed") }
            return token
        }

        func get(_ path: String, webToken: String? = nil, origin: String? = nil) async throws -> Answer {
            let query = "?ckAPIToken=\(apiToken)" + (webToken.map { "&ckWebAuthToken=\($0)" } ?? "")
            return try await server.send(
                "GET", CredentialTests.root + path + query, token: nil, headers: origin.map { [("Origin", $0)] } ?? [])
        }
    }

    @Test func anAPITokenAloneReadsThePublicDatabaseOnly() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            #expect(try await garden.get("/public/zones/list").status == 200)
            let refused = try await garden.get("/private/zones/list")
            #expect(refused.status == 421)
            #expect(refused.error?.code == .authenticationRequired)
            #expect(refused.error?.redirectURL?.contains("/signin?flow=") == true)
            let unknown = try await server.send(
                "GET", "\(Self.root)/public/zones/list?ckAPIToken=\(String(repeating: "0", count: 64))", token: nil)
            #expect(unknown.status == 401)
            #expect(unknown.error?.code == .authenticationFailed)
            let elsewhere = try await server.send(
                "GET", "/database/1/\(LiveServer.container)/production/public/zones/list?ckAPIToken=\(garden.apiToken)",
                token: nil)
            #expect(elsewhere.error?.code == .authenticationFailed)
        }
    }

    @Test func aWebAuthTokenActsForTheUserAndIsReplacedByEachResponse() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let first = try await garden.signIn()
            let answer = try await garden.get("/private/zones/list", webToken: first)
            #expect(answer.status == 200)
            let second = try #require(answer.headers.first(name: HeaderNames.webAuthToken))
            server.clock.advance(seconds: 1700)
            // Older tokens stay good for their time, since requests run side by side.
            #expect(try await garden.get("/private/zones/list", webToken: first).status == 200)
            let third = try #require(
                try await garden.get("/private/zones/list", webToken: second).headers.first(name: HeaderNames.webAuthToken))
            server.clock.advance(seconds: 200)
            let expired = try await garden.get("/private/zones/list", webToken: first)
            #expect(expired.status == 421)
            #expect(expired.error?.redirectURL != nil)
            #expect(try await garden.get("/private/zones/list", webToken: third).status == 200)
            try await server.service.sessions.signOut(token: third)
            #expect(try await garden.get("/private/zones/list", webToken: third).status == 421)
        }
    }

    @Test func aPersistentSessionLastsTwoWeeks() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let token = try await garden.signIn(isKept: true)
            server.clock.advance(seconds: 13 * 86_400)
            #expect(try await garden.get("/private/zones/list", webToken: token).status == 200)
            server.clock.advance(seconds: 86_401)
            #expect(try await garden.get("/private/zones/list", webToken: token).status == 421)
        }
    }

    @Test func forgedAndForeignWebAuthTokensAreRejected() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let token = try await garden.signIn()
            for index in stride(from: 0, to: token.utf8.count, by: 7) {
                var bytes = Array(token.utf8)
                bytes[index] = bytes[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
                let forged = try await garden.get("/private/zones/list", webToken: String(decoding: bytes, as: UTF8.self))
                #expect(forged.status == 401, "the token was changed at \(index)")
            }
            for bad in ["", "x", "%", "%zz", "106__54__AZ%2B%2F%3D", "AZ+/=", String(repeating: "a", count: 5000)] {
                #expect(try await garden.get("/private/zones/list", webToken: bad).status == 401, "\(bad.prefix(20))")
            }
            let alone = try await server.send("GET", "\(Self.root)/private/zones/list?ckWebAuthToken=\(token)", token: nil)
            #expect(alone.status == 401)
            let other = try await server.store.addAPIToken(
                APIToken(containerIdentifier: "iCloud.org.example.other", environment: .development, label: ""),
                now: server.clock.now)
            let misplaced = try await server.send(
                "GET",
                "/database/1/iCloud.org.example.other/development/private/zones/list?ckAPIToken=\(other)&ckWebAuthToken=\(token)",
                token: nil)
            #expect(misplaced.error?.code == .authenticationFailed)
            let device = try await server.addDevice(of: "mia")
            let both = try await server.send(
                "GET", "\(Self.root)/private/zones/list?ckAPIToken=\(garden.apiToken)", token: device)
            #expect(both.error?.code == .authenticationFailed)
        }
    }

    /// Also the one that says that something is wrong.
    @Test func anErrorResponseHasTheNextWebAuthToken() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let token = try await garden.signIn()
            let query = "ckAPIToken=\(garden.apiToken)&ckWebAuthToken=\(QueryItems.encode(token))"
            let refused = try await server.send("POST", "\(Self.root)/private/records/lookup?\(query)", token: nil, body: [0x7B])
            let next = try #require(refused.headers.first(name: HeaderNames.webAuthToken))
            #expect(refused.status == 400)
            #expect(try await garden.get("/private/zones/list", webToken: QueryItems.encode(next)).status == 200)
        }
    }

    /// The name under which newer clients know a web auth token.
    @Test func ckSessionIsAcceptedForAWebAuthToken() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let token = QueryItems.encode(try await garden.signIn())
            func status(_ query: String) async throws -> Int {
                try await server.send("GET", "\(Self.root)/private/zones/list?\(query)", token: nil).status
            }
            #expect(try await status("ckAPIToken=\(garden.apiToken)&ckSession=\(token)") == 200)
            #expect(try await status("ckAPIToken=\(garden.apiToken)&ckSession=x") == 401)
            #expect(try await status("ckSession=\(token)") == 401)
        }
    }

    @Test func percentEncodedTokensInURLsAreAccepted() throws {
        #expect(QueryItems("ckWebAuthToken=a%2Bb%2Fc%3D")["ckWebAuthToken"] == "a+b/c=")
        #expect(QueryItems("ckWebAuthToken=a+b/c=")["ckWebAuthToken"] == "a+b/c=")
        #expect(QueryItems("a=1&a=2&b")["a"] == "1")
        #expect(QueryItems("a&b")["b"] == "")
        #expect(QueryItems("a=%4")["a"] == nil)
        #expect(QueryItems("a=%ff")["a"] == nil)
        #expect(try QueryItems(form: Array("name=Mia+Ott&x=%2B".utf8))["name"] == "Mia Ott")
    }

    @Test func wrongPasswordsAreThrottled() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            for _ in 0..<5 {
                await #expect(throws: WireError.self) { try await garden.signIn(password: "wrong") }
            }
            let waiting = await Self.refusal { try await garden.signIn() }
            #expect(waiting?.code == .throttled)
            #expect(waiting?.retryAfter != nil)
            server.clock.advance(seconds: 3)
            _ = try await garden.signIn()
            let unknown = await Self.refusal {
                try await server.service.signIns.signIn(
                    name: "nobody", password: "correct horse", to: .console(isKept: false), network: "10.0.0.1")
            }
            #expect(unknown?.code == .authenticationFailed)
        }
    }

    @Test func aPasswordChangeEndsSessions() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let token = try await garden.signIn()
            try await server.store.setPassword("another horse", ofUser: "mia")
            #expect(try await garden.get("/private/zones/list", webToken: token).status == 421)
        }
    }

    @Test func requestsFromOtherOriginsAreRejected() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server, origins: ["https://app.example.org"])
            let allowed = try await garden.get("/public/zones/list", origin: "https://app.example.org")
            #expect(allowed.status == 200)
            #expect(allowed.headers.first(name: "Access-Control-Allow-Origin") == "https://app.example.org")
            // The headers that a page's script may read, in addition to the body.
            let exposed = Set((allowed.headers.first(name: "Access-Control-Expose-Headers") ?? "").split(separator: ",").map(String.init))
            for name in [
                HeaderNames.requestUUID, HeaderNames.webAuthToken, "Retry-After", "RateLimit-Limit", "RateLimit-Remaining",
                "RateLimit-Reset",
                "ETag", "Content-Range", "Repr-Digest", "Upload-Offset", "Upload-Complete",
            ] { #expect(exposed.contains(name), "\(name) is hidden from pages") }
            #expect(try await garden.get("/public/zones/list", origin: "https://evil.example").status == 403)
            let preflight = try await server.send(
                "OPTIONS", "\(Self.root)/public/records/query", token: nil,
                headers: [("Origin", "https://app.example.org"), ("Access-Control-Request-Headers", "content-type")])
            #expect(preflight.status == 204)
            #expect(preflight.headers.first(name: "Access-Control-Allow-Headers") == "content-type")
        }
    }

    @Test func aDeviceTokenIsExchangedForAWebAuthToken() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let device = try await server.addDevice(of: "mia")
            let path = "/device/1/\(LiveServer.container)/development/tokens/webAuth"
            let answer = try await server.send(
                "POST", path, token: device, body: WebAuthTokenRequest(apiToken: garden.apiToken).encoded())
            let token = try WebAuthTokenResponse(json: answer.body).webAuthToken
            let caller = try UserIdentity(json: try await garden.get("/public/users/caller", webToken: token).body)
            let own = try UserIdentity(
                json: try await server.send("GET", "\(Self.root)/public/users/caller", token: device).body)
            #expect(caller.userRecordName == own.userRecordName)
            let wrong = try await server.send(
                "POST", path, token: device, body: WebAuthTokenRequest(apiToken: "0").encoded())
            #expect(wrong.status == 401)
        }
    }

    @Test func onlyDiscoverableUsersAreFound() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            _ = try await server.addUser("bo")
            try await server.store.updateProfile(ofUser: "bo") {
                $0.emailAddress = "Bo@example.org"
                $0.name = NameComponents(givenName: "Bo", familyName: "Lind")
            }
            let token = try await garden.signIn()
            func post(_ path: String, _ body: some WireMessage) async throws -> Answer {
                try await server.send(
                    "POST", "\(Self.root)/public/users/\(path)?ckAPIToken=\(garden.apiToken)&ckWebAuthToken=\(token)",
                    token: nil, body: body.encoded())
            }
            let infos = [LookupInfo.emailAddress("bo@example.org"), .emailAddress("who@example.org")]
            let before = try UserIdentitiesResponse(json: try await post("discover", DiscoverUsersRequest(lookupInfos: infos)).body)
            #expect(before.users.isEmpty)
            try await server.store.updateProfile(ofUser: "bo") { $0.isDiscoverable = true }
            let after = try UserIdentitiesResponse(json: try await post("discover", DiscoverUsersRequest(lookupInfos: infos)).body)
            #expect(after.users.map(\.givenName) == ["Bo"])
            #expect(after.users.first?.lookupInfo == infos[0])
            let old = try UserDictionariesResponse(
                json: try await post("lookup/id", LookupUsersRequest(users: [.userRecordName(after.users[0].userRecordName)])).body)
            #expect(old.users.map(\.lastName) == ["Lind"])
            #expect(try await garden.get("/public/users/current", webToken: token).status == 200)
            #expect(try await garden.get("/public/users/current").status == 421)
        }
    }

    @Test func secretsAreStoredHashed() async throws {
        try await LiveServer.run { server in
            let garden = try await Garden(server)
            let device = try await server.addDevice(of: "mia")
            let web = try await garden.signIn()
            let stored = Data(try server.storedBytes())
            // A web token holds the identifier of its session behind its first byte.
            for secret in ["correct horse", garden.apiToken, device, String(web.dropFirst(2).prefix(32))] {
                #expect(stored.range(of: Data(secret.utf8)) == nil, "a secret stands in the database")
                if let raw = Hex.bytes(secret) { #expect(stored.range(of: Data(raw)) == nil) }
            }
            #expect(!server.log.all.contains { $0.contains(web) || $0.contains(garden.apiToken) })
        }
    }

    static func refusal<Value>(_ body: () async throws -> Value) async -> WireError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? WireError
        }
    }
}

/// Guessing of passwords on the console's sign-in page.
@Suite struct PasswordGuessTests {
    private let village: Village

    init() async throws {
        village = try Village()
        _ = try await village.villager("bo")
        try await village.store.setPassword("correct horse", ofUser: "bo")
        try await village.store.updateProfile(ofUser: "bo") { $0.emailAddress = "bo@example.org" }
    }

    private func signIn(_ name: String, _ password: String) async -> Int {
        await BrowserSession(village).post("/console/signin", ["name": name, "password": password], code: "").status
    }

    /// Bytes behind a NUL would not be part of the name in the database, but of the name that is counted.
    @Test func aUserNameWithControlCharactersIsRejected() async {
        #expect(await signIn("bo\0zzz", "correct horse") == 401)
        #expect(await signIn("bo", "correct horse") == 303)
    }

    @Test func spellingsOfOneAccountShareAPasswordThrottle() async {
        for name in ["bo", "bo@example.org", "BO@example.org", "Bo@Example.org", "bO@example.org"] {
            #expect(await signIn(name, "wrong") == 401)
        }
        #expect(await signIn("bO@eXample.org", "correct horse") == 429)
        #expect(await signIn("bo", "correct horse") == 429)
    }

    @Test func concurrentWrongPasswordsCountOneByOne() async {
        let statuses = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<30 { group.addTask { await signIn("bo", "wrong") } }
            return await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [401: 5, 429: 25])
    }
}
