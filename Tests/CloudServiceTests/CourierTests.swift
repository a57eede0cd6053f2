// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

@Suite struct CourierTests {
    /// A page that has made a push token, and a subscription to everything.
    static func page() async throws -> (Village, Village.Villager, courier: String) {
        let village = try Village()
        let mia = try await village.villager("mia")
        let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
        _ = try await mia.ask(
            .private, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]), SubscriptionsResponse.self)
        let answer = await village.service.respond(
            to: ServiceRequest(
                method: "POST", path: "/device/1/\(Village.container)/development/tokens/create",
                headers: ["authorization": "Bearer \(mia.token)"],
                body: .bytes(PushTokenRequest(apnsEnvironment: .development, clientID: "page").encoded()), baseURL: ""))
        guard case .bytes(let bytes) = answer.body else { throw WireError(.internalError, "no answer") }
        return (village, mia, try PushTokenResponse(json: bytes).webcourierURL)
    }

    static func poll(_ village: Village, _ courier: String) async -> (status: Int, body: [UInt8]) {
        let answer = await village.service.respond(to: ServiceRequest(method: "GET", path: courier, baseURL: ""))
        guard case .bytes(let bytes) = answer.body else { return (answer.status, []) }
        return (answer.status, bytes)
    }

    @Test func eachAnswerIsOneNotification() async throws {
        let (village, mia, courier) = try await Self.page()
        async let waiting = Self.poll(village, courier)
        try await until { village.hub.waiting != 0 }
        try await mia.modify([RecordOperation(.create, .plant("sage"))])
        #expect(try PushNotification(json: await waiting.body).subscriptionID == "all")
        // What happens between two waits is kept.
        try await mia.modify([RecordOperation(.create, .plant("mint"))])
        #expect(try PushNotification(json: await Self.poll(village, courier).body).subject == .database(.private))
    }

    /// A page that has registered hears of what happens before it first waits.
    @Test func notificationsBeforeTheFirstPollAreKept() async throws {
        let (village, mia, courier) = try await Self.page()
        try await mia.modify([RecordOperation(.create, .plant("sage"))])
        #expect(try PushNotification(json: await Self.poll(village, courier).body).subscriptionID == "all")
    }

    @Test func betweenPollsOneNotificationOfEachSubscriptionIsKept() async throws {
        let (village, mia, courier) = try await Self.page()
        let more = Subscription(subscriptionID: "garden", kind: .zone(mia.zone()), notification: .silent)
        _ = try await mia.ask(
            .private, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(more)]), SubscriptionsResponse.self)
        for name in ["sage", "mint"] { try await mia.modify([RecordOperation(.create, .plant(name))]) }
        var kept: [String] = []
        for _ in 0..<2 { kept.append(try PushNotification(json: await Self.poll(village, courier).body).subscriptionID) }
        #expect(kept.sorted() == ["all", "garden"])
        async let waiting = Self.poll(village, courier)
        try await until { village.hub.waiting != 0 }
        try await mia.modify([RecordOperation(.create, .plant("dill"))])
        #expect(["all", "garden"].contains(try PushNotification(json: await waiting.body).subscriptionID))
    }

    @Test func aWaitInVainEndsWithAnEmptyAnswer() async throws {
        let (village, _, courier) = try await Self.page()
        async let waiting = Self.poll(village, courier)
        try await until { village.hub.waiting != 0 }
        let beats = Task {
            while !Task.isCancelled {
                village.hub.beat()
                await Task.yield()
            }
        }
        let answer = await waiting
        beats.cancel()
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
    }

    /// A heartbeat comes every 15 seconds.
    @Test(arguments: [(20, true), (21, false)]) func notificationsAreKeptForFiveMinutes(beats: Int, areKept: Bool) async throws {
        let (village, mia, courier) = try await Self.page()
        try await mia.modify([RecordOperation(.create, .plant("sage"))])
        for _ in 0..<beats { village.hub.beat() }
        async let answer = Self.poll(village, courier)
        if !areKept {
            // The poll finds nothing, and waits for the next save.
            try await until { village.hub.waiting != 0 }
            try await mia.modify([RecordOperation(.create, .plant("mint"))])
        }
        #expect(try PushNotification(json: await answer.body).subscriptionID == "all")
    }

    @Test func aSecondWaitEndsTheFirst() async throws {
        let (village, mia, courier) = try await Self.page()
        async let first = Self.poll(village, courier)
        try await until { village.hub.waiting != 0 }
        async let second = Self.poll(village, courier)
        let started = await first
        #expect(started.body.isEmpty)
        try await mia.modify([RecordOperation(.create, .plant("sage"))])
        #expect(!(await second).body.isEmpty)
    }

    @Test func addressesThatWereNotGivenOutAreNone() async throws {
        let (village, _, courier) = try await Self.page()
        for forged in ["/courier/1/", "/courier/1/00", courier + "00", String(courier.dropLast(2)), "/courier/1/../../health"] {
            #expect(await Self.poll(village, forged).status == 404, "\(forged.prefix(30))")
        }
    }
}
