// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

@testable import TarnCommands

/// API tokens and server-to-server keys that expire, and their rotation.
@Suite struct CredentialExpiryTests {
    private static let day: Int64 = 86_400

    private static func addToken(_ server: LiveServer, days: Int64?) async throws -> String {
        let token = APIToken(
            containerIdentifier: LiveServer.container, environment: .development, label: "page",
            callbackURL: "https://app.example.org/in", allowedOrigins: ["https://app.example.org"],
            expires: days.map { server.clock.now + $0 * day * 1000 })
        return try await server.store.addAPIToken(token, now: server.clock.now)
    }

    private static func get(_ server: LiveServer, _ token: String) async throws -> Answer {
        try await server.send("GET", "\(SignedRequestTests.root)/zones/list?ckAPIToken=\(token)", token: nil)
    }

    @Test func anExpiredAPITokenIsRejectedWithItsReason() async throws {
        try await LiveServer.run { server in
            let token = try await Self.addToken(server, days: 1)
            server.clock.advance(seconds: Self.day - 1)
            #expect(try await Self.get(server, token).status == 200)
            server.clock.advance(seconds: 1)
            let refused = try await Self.get(server, token)
            #expect(refused.status == 401)
            #expect(refused.error?.code == .authenticationFailed)
            #expect(refused.error?.reason.contains("expired") == true)
        }
    }

    @Test func bothTokensAreAcceptedDuringTheOverlapOfARotation() async throws {
        try await LiveServer.run { server in
            let old = try await Self.addToken(server, days: nil)
            let id = try #require(try await server.store.apiTokens().first?.id)
            let new = try await server.store.rotateAPIToken(
                id: id, now: server.clock.now, CredentialRotation(overlap: 3_600_000, expires: server.clock.now + 2 * 3_600_000))
            let tokens = try await server.store.apiTokens()
            #expect(tokens.map(\.expires) == [server.clock.now + 3_600_000, server.clock.now + 2 * 3_600_000])
            #expect(tokens[1].callbackURL == "https://app.example.org/in")
            #expect(tokens[1].allowedOrigins == ["https://app.example.org"])
            #expect(tokens[1].label == "page")
            for (seconds, oldStatus, newStatus) in [(0, 200, 200), (3599, 200, 200), (1, 401, 200), (3600, 401, 401)] as [(Int64, Int, Int)]
            {
                server.clock.advance(seconds: seconds)
                #expect(try await Self.get(server, old).status == oldStatus)
                #expect(try await Self.get(server, new).status == newStatus)
            }
            await #expect(throws: StorageFailure.self) {
                try await server.store.rotateAPIToken(id: id, now: server.clock.now, CredentialRotation(overlap: 0, expires: nil))
            }
        }
    }

    @Test func rotationDoesNotExtendTheExpiryOfTheOldToken() async throws {
        try await LiveServer.run { server in
            let old = try await Self.addToken(server, days: 1)
            let id = try #require(try await server.store.apiTokens().first?.id)
            _ = try await server.store.rotateAPIToken(
                id: id, now: server.clock.now, CredentialRotation(overlap: 7 * Self.day * 1000, expires: nil))
            server.clock.advance(seconds: Self.day)
            #expect(try await Self.get(server, old).status == 401)
        }
    }

    /// A sign-in that began before its token expired hands over nothing.
    @Test func aSignInForARemovedTokenFails() async throws {
        try await LiveServer.run { server in
            _ = try await server.addUser("mia")
            let token = try await Self.addToken(server, days: nil)
            let asked = try await server.send("GET", "\(LiveServer.database)/zones/list?ckAPIToken=\(token)", token: nil)
            let flow = try #require(asked.error?.redirectURL?.split(separator: "flow=").last.map(String.init))
            let signIn = try #require(server.service.signInFlows.flow(flow))
            #expect(try await server.service.signInFlows.apiToken(of: signIn)?.label == "page")
            try await server.store.removeAPIToken(id: signIn.apiToken)
            await #expect(throws: WireError.self) { try await server.service.signInFlows.apiToken(of: signIn) }
        }
    }

    @Test func aRotatedServerKeyActsForTheSameUser() async throws {
        try await SignedRequestTests.withKey { server, old in
            func status(_ key: String) async throws -> Answer {
                let headers = SignedRequestTests.headers(key, SignedRequestTests.listSignature)
                return try await server.send("GET", SignedRequestTests.listPath, token: nil, headers: headers)
            }
            let expires = server.clock.now + 120_000
            let new = try await server.store.rotateServerKey(
                id: old, pem: SignedRequestTests.pem, now: server.clock.now, CredentialRotation(overlap: 60_000, expires: expires))
            let keys = try await server.store.serverKeys()
            #expect(Set(keys.map(\.key.userRecordName)).count == 1)
            #expect(keys.map(\.label) == ["job", "job"])
            #expect(try await status(old).status == 200)
            #expect(try await status(new).status == 200)
            server.clock.advance(seconds: 60)
            let refused = try await status(old)
            #expect(refused.status == 401)
            #expect(refused.error?.reason.contains("expired") == true)
            #expect(try await status(new).status == 200)
            #expect(try await server.store.isInForce(.serverKey(id: new), now: server.clock.now))
            #expect(try await !server.store.isInForce(.serverKey(id: old), now: server.clock.now))
            server.clock.advance(seconds: 60)
            #expect(try await status(new).status == 401)
        }
    }

    /// Sessions that a device created end with the device's token.
    @Test func aWebSessionExpiresWithItsDeviceToken() async throws {
        try await LiveServer.run { server in
            _ = try await server.addUser("mia")
            let apiToken = try await Self.addToken(server, days: nil)
            let loan = try await server.store.addToken(
                userName: "mia", deviceLabel: "loan", now: server.clock.now, expires: server.clock.now + 60_000)
            let answer = try await server.send(
                "POST", "/device/1/\(LiveServer.container)/development/tokens/webAuth", token: loan,
                body: WebAuthTokenRequest(apiToken: apiToken).encoded())
            let webToken = QueryItems.encode(try WebAuthTokenResponse(json: answer.body).webAuthToken)
            let path = "\(LiveServer.database)/zones/list?ckAPIToken=\(apiToken)&ckWebAuthToken=\(webToken)"
            #expect(try await server.send("GET", path, token: nil).status == 200)
            server.clock.advance(seconds: 60)
            #expect(try await server.send("GET", path, token: nil).status == 421, "sign in again")
        }
    }

    @Test func theConsoleListsAndRotatesTokens() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let page = "/console/c/\(Village.container)/development/tokens"
        #expect(await visitor.post(page, ["do": "add-token", "label": "page", "days": "0"]).status == 400)
        #expect(await visitor.post(page, ["do": "add-token", "label": "page", "days": "30"]).status == 200)
        let first = try #require(try await village.store.apiTokens().first)
        #expect(first.expires == village.clock.now + 30 * Self.day * 1000)
        #expect(await visitor.post(page, ["do": "rotate-token", "id": String(first.id)]).text.contains("shown once"))
        #expect(try await village.store.apiTokens().map(\.expires) == [village.clock.now + 7 * Self.day * 1000, nil])
        village.clock.advance(seconds: 7 * Self.day)
        let later = BrowserSession(village)
        _ = await later.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(await later.get(page).text.contains("<td>expired "))
    }

    @Test func commandsSetTheExpiryOfTokensAndRotateThem() async throws {
        let folder = TemporaryFolder()
        func run(_ arguments: String...) async throws {
            var command = try TarnCommand.parseAsRoot(arguments + ["--data", folder.path])
            if var asynchronous = command as? any AsyncParsableCommand { try await asynchronous.run() } else { try command.run() }
        }
        let container = ["--container", LiveServer.container]
        try await run("token", "add", container[0], container[1], "--expires-after", "30")
        try await run("token", "rotate", "1", "--overlap", "1", "--expires-after", "60")
        try await run("token", "list")
        let store = try SQLiteServerStore(path: folder.path, use: .command, passwordRounds: 16)
        let now = CloudService.Surroundings.system.now()
        let hours = try await store.apiTokens().map { (($0.expires ?? 0) - now + 1_800_000) / 3_600_000 }
        #expect(hours == [1, 1440])
        #expect(try await store.auditEvents(before: nil, limit: 9).map(\.event.action) == ["token.rotate", "token.add"])
        try store.close()
        await #expect(throws: (any Error).self) { try await run("token", "add", container[0], container[1], "--expires-after", "0") }
        await #expect(throws: (any Error).self) { try await run("token", "rotate", "7") }
    }
}
