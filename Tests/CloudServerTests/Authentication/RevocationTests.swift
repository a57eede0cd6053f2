// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import StorageFixtures
import TestBasics
import Testing

/// A revoked device token takes everything with it that was made with it.
@Suite struct RevocationTests {
    private static let devicePath = "/device/1/\(LiveServer.container)/development"

    /// A server where mia's tablet writes, and her phone, labelled `phone`, is about to be revoked.
    private static func run(
        _ body: @Sendable (_ server: LiveServer, _ tablet: String, _ phone: String) async throws -> Void
    ) async throws {
        try await LiveServer.run { server in
            let tablet = try await server.addUser("mia")
            try await server.makeGarden(token: tablet)
            let all = SubscriptionsModifyRequest(operations: [.create(Subscription(subscriptionID: "all", kind: .database))])
            _ = try await server.post(.modifySubscriptions, all, token: tablet)
            try await body(server, tablet, try await server.addDevice(of: "mia"))
        }
    }

    /// Revokes as `tarn user revoke` does: another process, which shares nothing but the data folder.
    private static func revokePhone(_ server: LiveServer) async throws {
        let store = try server.place.open(isServer: false)
        try await store.removeDevice(labelled: "phone", ofUser: "mia")
        try store.close()
    }

    private static func courier(_ server: LiveServer, token: String) async throws -> String {
        let body = PushTokenRequest(apnsEnvironment: .development, clientID: "page").encoded()
        let answer = try await server.send("POST", "\(devicePath)/tokens/create", token: token, body: body)
        return try #require(URL(string: try PushTokenResponse(json: answer.body).webcourierURL)?.path)
    }

    @Test func aCourierURLIsRejectedAfterItsTokenIsRevoked() async throws {
        try await Self.run { server, tablet, phone in
            let courier = try await Self.courier(server, token: phone)
            _ = try await server.modify(AccessTests.sage, token: tablet)
            #expect(try await server.send("GET", courier, token: nil).status == 200)
            try await Self.revokePhone(server)
            _ = try await server.modify(.init(.create, Record(recordName: "mint", recordType: "Plant")), token: tablet)
            let refused = try await server.send("GET", courier, token: nil)
            #expect(refused.status == 401)
            #expect(refused.error?.code == .authenticationFailed)
        }
    }

    @Test func aWaitingCourierRequestEndsWhenItsTokenIsRevoked() async throws {
        try await Self.run { server, _, phone in
            let courier = try await Self.courier(server, token: phone)
            let count = try await server.service.revocations.endListenersIfRevoked(since: nil)
            async let waiting = server.send("GET", courier, token: nil)
            try await until { server.hub.waiting != 0 }
            try await Self.revokePhone(server)
            #expect(try await server.service.revocations.endListenersIfRevoked(since: count) > count)
            #expect(try await waiting.status == 401)
        }
    }

    @Test func aCourierURLExpires() async throws {
        try await Self.run { server, _, phone in
            let courier = try await Self.courier(server, token: phone)
            server.clock.advance(seconds: 30 * 86_400)
            #expect(try await server.send("GET", courier, token: nil).status == 401)
        }
    }

    @Test func aPushStreamEndsWhenItsTokenIsRevoked() async throws {
        try await Self.run { server, _, phone in
            let count = try await server.service.revocations.endListenersIfRevoked(since: nil)
            var lines = try await PushStreamTests.listen(server, token: phone)
            #expect(try await lines.next() == "")
            #expect(try await server.service.revocations.endListenersIfRevoked(since: count) == count, "nothing was revoked")
            #expect(server.hub.listeners == 1)
            try await Self.revokePhone(server)
            _ = try await server.service.revocations.endListenersIfRevoked(since: count)
            #expect(try await lines.next() == nil)
            #expect(server.hub.listeners == 0)
        }
    }

    @Test func aPushStreamSendsNothingAfterTheRevocation() async throws {
        try await Self.run { server, tablet, phone in
            var lines = try await PushStreamTests.listen(server, token: phone)
            #expect(try await lines.next() == "")
            try await Self.revokePhone(server)
            _ = try await server.modify(AccessTests.sage, token: tablet)
            #expect(try await lines.next() == nil)
        }
    }

    @Test func revokingADeviceLeavesPushStreamsOfOthersOpen() async throws {
        try await Self.run { server, tablet, _ in
            let laptop = try await server.store.addToken(userName: "mia", deviceLabel: "laptop", now: server.clock.now)
            var lines = try await PushStreamTests.listen(server, token: laptop)
            #expect(try await lines.next() == "")
            try await Self.revokePhone(server)
            _ = try await server.service.revocations.endListenersIfRevoked(since: 0)
            _ = try await server.modify(AccessTests.sage, token: tablet)
            #expect(try await lines.next()?.contains("\"sid\":\"all\"") == true)
        }
    }

    @Test func aWebSessionEndsWhenItsDeviceTokenIsRevoked() async throws {
        try await Self.run { server, _, phone in
            let token = APIToken(containerIdentifier: LiveServer.container, environment: .development, label: "page")
            let apiToken = try await server.store.addAPIToken(token, now: server.clock.now)
            let body = WebAuthTokenRequest(apiToken: apiToken).encoded()
            let answer = try await server.send("POST", "\(Self.devicePath)/tokens/webAuth", token: phone, body: body)
            let webToken = QueryItems.encode(try WebAuthTokenResponse(json: answer.body).webAuthToken)
            let path = "\(LiveServer.database)/zones/list?ckAPIToken=\(apiToken)&ckWebAuthToken=\(webToken)"
            #expect(try await server.send("GET", path, token: nil).status == 200)
            try await Self.revokePhone(server)
            #expect(try await server.send("GET", path, token: nil).status == 421, "sign in again")
        }
    }

    @Test func anExpiredDeviceTokenIsRejected() async throws {
        try await Self.run { server, _, _ in
            let expires = server.clock.now + 60_000
            let token = try await server.store.addToken(userName: "mia", deviceLabel: "loan", now: server.clock.now, expires: expires)
            let path = "\(LiveServer.database)/zones/list"
            #expect(try await server.send("GET", path, token: token).status == 200)
            let courier = try await Self.courier(server, token: token)
            server.clock.advance(seconds: 60)
            #expect(try await server.send("GET", path, token: token).status == 401)
            #expect(try await server.send("GET", courier, token: nil).status == 401)
        }
    }

    @Test func devicesAndSessionsAreListedWithTheirLastUse() async throws {
        try await Self.run { server, _, phone in
            let headers = [("User-Agent", "Notes/2.1 \u{1F4D3} Linux")]
            _ = try await server.send("GET", "\(LiveServer.database)/zones/list", token: phone, headers: headers)
            try await server.service.requestCredentials.storeUses()
            let accesses = try await server.store.accesses(ofUser: "mia")
            #expect(Set(accesses.map(\.kind)) == [.device(label: "tablet", expires: nil), .device(label: "phone", expires: nil)])
            let access = try #require(accesses.first { $0.kind == .device(label: "phone", expires: nil) })
            let use = try #require(access.lastUse)
            #expect(use.time == server.clock.now)
            #expect(use.network == "127.0.0.1")
            #expect(use.platform == "Notes/2.1  Linux")
            let id = access.id
            try await server.store.removeDevice(id: id, ofUser: "mia")
            #expect(try await server.store.accesses(ofUser: "mia").count == 1)
            await #expect(throws: StorageFailure.self) { try await server.store.removeDevice(id: id, ofUser: "mia") }
        }
    }
}
