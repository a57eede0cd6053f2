// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudService
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1
import TestBasics
import Testing

@Suite struct PushTests {
    static let mia = PushAudience(
        containerIdentifier: LiveServer.container, environment: .development, userRecordName: "_mia")

    static func notification(_ id: String, subscription: String = "all") -> PushNotification {
        PushNotification(
            notificationID: id, containerIdentifier: LiveServer.container, subscriptionID: subscription,
            subject: .database(.private))
    }

    /// The next events of a listener, as words.
    static func next(_ count: Int, of listener: PushListener) async -> [String] {
        var words: [String] = []
        for await event in listener.events {
            switch event {
            case .heartbeat: words.append("beat")
            case .notification(let notification): words.append(notification.notificationID)
            }
            if words.count == count { break }
        }
        return words
    }

    @Test func notificationsReachOnlyOtherDevicesOfTheSameUser() async {
        let hub = PushHub()
        let bo = PushAudience(
            containerIdentifier: LiveServer.container, environment: .development, userRecordName: "_bo")
        let tablet = hub.listen(Self.mia, deviceID: "tablet")
        let phone = hub.listen(Self.mia, deviceID: "phone")
        let other = hub.listen(bo, deviceID: "phone")
        hub.publish([Self.notification("n1")], to: Self.mia, exceptDevice: "tablet")
        #expect(await Self.next(1, of: phone) == ["n1"])
        #expect(await Self.next(1, of: tablet) == ["beat"])
        #expect(await Self.next(1, of: other) == ["beat"])
        tablet.close()
        phone.close()
        #expect(hub.listeners == 1)
        hub.close()
        #expect(await Self.next(1, of: other).isEmpty)
        #expect(await Self.next(1, of: hub.listen(Self.mia, deviceID: "late")).isEmpty)
    }

    @Test func aSlowListenerHasOnePendingNotificationPerSubscription() async {
        let hub = PushHub()
        let phone = hub.listen(Self.mia, deviceID: "phone")
        for number in 0..<1000 {
            hub.publish(
                [Self.notification("a\(number)"), Self.notification("b\(number)", subscription: "b")], to: Self.mia, exceptDevice: "")
            hub.beat()
        }
        #expect(await Self.next(3, of: phone) == ["a999", "b999", "beat"])
    }

    @Test func aWaitingListenerIsNotified() async {
        let hub = PushHub()
        let phone = hub.listen(Self.mia, deviceID: "phone")
        #expect(await Self.next(1, of: phone) == ["beat"])
        async let words = Self.next(1, of: phone)
        hub.publish([Self.notification("n1")], to: Self.mia, exceptDevice: "tablet")
        #expect(await words == ["n1"])
    }

    /// Connected listeners are notified, disconnected ones are not, in any order of arrival.
    @Test(arguments: 1...20) func connectedListenersAreNotifiedAndDisconnectedOnesAreNot(_ seed: UInt64) async {
        var state = seed
        func draw(_ below: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % below
        }
        let hub = PushHub()
        var there: [PushListener] = [], gone: [PushListener] = []
        for _ in 0..<300 {
            if there.isEmpty || draw(2) == 0 {
                // The sixty-fifth ends the oldest.
                if there.count == 64 { gone.append(there.removeFirst()) }
                there.append(hub.listen(Self.mia, deviceID: "d"))
            } else {
                let left = there.remove(at: draw(3) == 0 ? 0 : draw(there.count))
                left.close()
                gone.append(left)
            }
            #expect(hub.listeners == there.count)
        }
        hub.publish([Self.notification("n")], to: Self.mia, exceptDevice: "")
        for listener in there { #expect(await Self.next(1, of: listener) == ["n"]) }
        for listener in gone { #expect(await Self.next(1, of: listener).isEmpty) }
    }

    @Test func tooManyPollingDevicesDisconnectTheOldest() async {
        let hub = PushHub()
        for number in 0..<100 { hub.expectPolls(Self.mia, deviceID: "p\(number)") }
        #expect(hub.listeners == 64)
        hub.publish([Self.notification("n")], to: Self.mia, exceptDevice: "")
        #expect(await hub.poll(Self.mia, deviceID: "p99")?.notificationID == "n")
        // A listener that was disconnected connects again, and so disconnects another.
        hub.expectPolls(Self.mia, deviceID: "p0")
        hub.publish([Self.notification("m")], to: Self.mia, exceptDevice: "")
        #expect(await hub.poll(Self.mia, deviceID: "p0")?.notificationID == "m")
        #expect(hub.listeners == 64)
    }

    /// An account may name any container, and each has a limit of its own.
    @Test func mailboxesOfAnAccountAreLimited() async {
        let hub = PushHub()
        func expect(_ number: Int, account: Int64) -> (audience: PushAudience, credential: CredentialReference) {
            let audience = PushAudience(
                containerIdentifier: "iCloud.org.c\(number / 8)", environment: .development, userRecordName: "_\(account)")
            let credential = CredentialReference.device(account: account, deviceID: "d\(number % 2)")
            hub.expectPolls(audience, deviceID: "p\(number)", credential: credential)
            return (audience, credential)
        }
        _ = expect(0, account: 2)
        for number in 0..<PushHub.mailboxesPerAccount + 20 { _ = expect(number, account: 1) }
        #expect(hub.listeners == PushHub.mailboxesPerAccount + 1)
        // The first containers have no mailbox left.
        #expect(hub.audiences.count == PushHub.mailboxesPerAccount / 8 + 2)
        let (audience, credential) = expect(PushHub.mailboxesPerAccount + 20, account: 1)
        hub.publish([Self.notification("n")], to: audience, exceptDevice: "")
        let told = await hub.poll(audience, deviceID: "p\(PushHub.mailboxesPerAccount + 20)", credential: credential)
        #expect(told?.notificationID == "n")
        // Idle mailboxes leave room.
        for _ in 0..<21 { hub.beat() }
        #expect(hub.listeners == 0)
        _ = expect(0, account: 1)
        #expect(hub.listeners == 1)
    }

    @Test func tooManyListenersDisconnectTheOldest() async {
        let hub = PushHub()
        let first = hub.listen(Self.mia, deviceID: "d")
        let others = (0..<64).map { _ in hub.listen(Self.mia, deviceID: "d") }
        #expect(hub.listeners == 64)
        #expect(await Self.next(1, of: first).isEmpty)
        #expect(await Self.next(1, of: others[63]) == ["beat"])
    }
}

@Suite struct PushStreamTests {
    /// Lines of a held connection.
    struct Lines {
        var iterator: HTTPClientResponse.Body.AsyncIterator
        var rest = ""

        mutating func next() async throws -> String? {
            while true {
                if let end = rest.firstIndex(of: "\n") {
                    defer { rest = String(rest[rest.index(after: end)...]) }
                    return String(rest[..<end])
                }
                guard let buffer = try await iterator.next() else { return nil }
                rest += String(buffer: buffer)
            }
        }
    }

    static func listen(_ server: LiveServer, token: String) async throws -> Lines {
        let request = server.request(
            "GET", "/device/1/\(LiveServer.container)/development/push/stream", token: token)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        #expect(response.status.code == 200)
        return Lines(iterator: response.body.makeAsyncIterator())
    }

    @Test func aChangeNotifiesOtherDevicesAndNotItsAuthor() async throws {
        try await LiveServer.run { server in
            let tablet = try await server.addUser("mia")
            let phone = try await server.addDevice(of: "mia")
            try await server.makeGarden(token: tablet)
            var onTablet = try await Self.listen(server, token: tablet)
            var onPhone = try await Self.listen(server, token: phone)
            #expect(try await onTablet.next() == "", "the first line says that the device is heard")
            #expect(try await onPhone.next() == "")

            _ = try await server.modify(AccessTests.sage, token: tablet)
            server.hub.beat()
            #expect(try await onPhone.next() == "", "without a subscription there is no news")
            #expect(try await onTablet.next() == "")

            let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
            _ = try await server.post(
                .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]), token: tablet)
            _ = try await server.modify(.init(.forceDelete, Record(recordName: "p1")), token: tablet)
            let line = try #require(try await onPhone.next())
            let notification = try PushNotification(json: Array(line.utf8))
            #expect(notification.subject == .database(.private))
            #expect(notification.subscriptionID == "all")
            #expect(notification.containerIdentifier == LiveServer.container)
            server.hub.beat()
            #expect(try await onTablet.next() == "")
            #expect(try await onPhone.next() == "")

            server.hub.close()
            #expect(try await onTablet.next() == nil, "a server that stops ends its streams")
            #expect(try await onPhone.next() == nil)
        }
    }

    /// When a network breaks, all listeners leave together: none scans the others.
    @Test(.timeLimit(.minutes(10))) func manyListenersDisconnectInLinearTime() async {
        let hub = PushHub()
        let everybody = PushAudience.public(containerIdentifier: "c", environment: .production)
        let listeners = (0..<50_000).map { hub.listen(everybody, deviceID: "d\($0)") }
        #expect(hub.listeners == 50_000)
        hub.publish([PushTests.notification("n")], to: everybody, exceptDevice: "")
        for listener in listeners.dropLast() {
            listener.close()
            // Again, as its connection does once it has ended.
            listener.close()
        }
        #expect(hub.listeners == 1)
        #expect(await PushTests.next(1, of: listeners[49_999]) == ["n"])
    }

    @Test func aResetConnectionEndsItsListenerImmediately() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let all = SubscriptionsModifyRequest(operations: [.create(Subscription(subscriptionID: "all", kind: .database))])
            _ = try await server.post(.modifySubscriptions, all, token: token)
            let head = " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nX-Tarn-Device: page\r\n\r\n"
            let path = "/device/1/\(LiveServer.container)/development"
            do {
                let raw = try RawConnection(port: server.port)
                await raw.send("GET \(path)/push/stream" + head)
                _ = try await raw.read(until: "\r\n\r\n")
                #expect(server.hub.listeners == 1)
                raw.reset()
            }
            try await until { server.hub.listeners == 0 }
            // A cancelled wait leaves the notification for the next one.
            let body = Array(#"{"apnsEnvironment":"development","clientId":"page"}"#.utf8)
            let made = try PushTokenResponse(json: try await server.send("POST", "\(path)/tokens/create", token: token, body: body).body)
            let courier = try #require(URL(string: made.webcourierURL)?.path)
            do {
                let raw = try RawConnection(port: server.port)
                await raw.send("GET \(courier)" + head)
                try await until { server.hub.waiting != 0 }
                raw.reset()
            }
            try await until { server.hub.waiting == 0 }
            _ = try await server.modify(AccessTests.sage, token: token)
            #expect(try PushNotification(json: try await server.send("GET", courier, token: nil).body).subscriptionID == "all")
        }
    }

    @Test func aBrokenConnectionEndsItsListenerAfterAFewHeartbeats() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            do {
                var lines = try await Self.listen(server, token: token)
                #expect(try await lines.next() == "")
                #expect(server.hub.listeners == 1)
            }
            // Giving up the answer closes the connection. Each turn is a round trip to the server and a heartbeat.
            for _ in 0..<1000 where server.hub.listeners > 0 {
                _ = try await server.send("GET", "/health", token: nil)
                server.hub.beat()
            }
            #expect(server.hub.listeners == 0)
        }
    }

    @Test func devicesThatShareATokenAreDistinguishedByName() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
            _ = try await server.post(
                .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]), token: token)
            var here = try await Self.listen(server, token: token)
            #expect(try await here.next() == "")
            let message = ModifyRecordsRequest(operations: [AccessTests.sage], zoneID: LiveServer.garden)
            _ = try await server.send(
                "POST", "\(LiveServer.database)/records/modify", token: token, body: message.encoded(),
                headers: [("X-Tarn-Device", "phone")])
            #expect(try await here.next()?.isEmpty == false)
        }
    }
}
