// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@testable import CloudService

@Suite struct PasswordThrottleTests {
    private let throttle = PasswordThrottle()

    /// - Returns: How many of the attempts were let through.
    private func fail(_ count: Int, _ account: (Int) -> String, from network: (Int) -> String, now: Int64 = 0) async -> Int {
        var accepted = 0
        for number in 0..<count {
            guard let attempt = try? await throttle.begin(account(number), from: network(number), now: now, allowed: 5) else { continue }
            try? await throttle.end(attempt, isRight: false, now: now, allowed: 5)
            accepted += 1
        }
        return accepted
    }

    private func mayTry(_ account: String, from network: String, now: Int64) async throws -> Bool {
        guard let attempt = try? await throttle.begin(account, from: network, now: now, allowed: 5) else { return false }
        try await throttle.end(attempt, isRight: true, now: now, allowed: 5)
        return true
    }

    @Test func attemptsAtOnceCountAsMany() async throws {
        var attempts: [PasswordThrottle.Attempt] = []
        for _ in 0..<60 {
            if let attempt = try? await throttle.begin("mia", from: "a", now: 0, allowed: 5) { attempts.append(attempt) }
        }
        #expect(attempts.count == 5)
        for attempt in attempts { try await throttle.end(attempt, isRight: false, now: 0, allowed: 5) }
        #expect(try await !mayTry("mia", from: "a", now: 999))
        #expect(try await mayTry("mia", from: "a", now: 1000))
    }

    @Test func theWaitDoubles() async throws {
        #expect(await fail(5, { _ in "mia" }, from: { _ in "a" }) == 5)
        #expect(await fail(1, { _ in "mia" }, from: { _ in "a" }, now: 1000) == 1)
        #expect(await fail(1, { _ in "mia" }, from: { _ in "a" }, now: 2999) == 0)
        #expect(await fail(1, { _ in "mia" }, from: { _ in "a" }, now: 3000) == 1)
        #expect(try await !mayTry("mia", from: "a", now: 6999))
        #expect(try await mayTry("mia", from: "a", now: 7000))
        #expect(await fail(5, { _ in "mia" }, from: { _ in "a" }, now: 7000) == 5)
    }

    @Test func aStrangerKeepsOnlyTheirOwnNetworkWaiting() async throws {
        #expect(await fail(60, { _ in "mia" }, from: { _ in "stranger" }) == 5)
        #expect(try await mayTry("mia", from: "home", now: 0))
        #expect(try await !mayTry("mia", from: "stranger", now: 0))
    }

    @Test func madeUpNamesAreTheNetworks() async throws {
        #expect(await fail(200, { "nobody \($0)" }, from: { _ in "stranger" }) == 20)
        #expect(try await mayTry("mia", from: "home", now: 0))
    }

    /// A hundred networks guess one account's password: only networks that its owner used go on.
    @Test func manyNetworksTogetherAreSlow() async throws {
        #expect(try await mayTry("mia", from: "home", now: 0))
        #expect(await fail(1000, { _ in "mia" }, from: { "network \($0 / 2)" }) == 100)
        #expect(try await mayTry("mia", from: "home", now: 0))
        #expect(try await !mayTry("mia", from: "hotel", now: 0))
        #expect(try await mayTry("mia", from: "hotel", now: 900_001))
    }

    @Test func aCorrectPasswordKeepsTheFailuresOfTheNetwork() async throws {
        #expect(await fail(19, { "nobody \($0)" }, from: { _ in "a" }) == 19)
        #expect(try await mayTry("own", from: "a", now: 0))
        #expect(await fail(2, { "somebody \($0)" }, from: { _ in "a" }) == 1)
    }

    /// With a second factor the password is half of the way: entering it again does not forget wrong codes.
    @Test func halfDoneAttemptsAreNeitherRightNorWrong() async throws {
        for _ in 0..<4 { _ = await fail(1, { _ in "mia" }, from: { _ in "a" }) }
        for _ in 0..<50 {
            let attempt = try await throttle.begin("mia", from: "a", now: 0, allowed: 5)
            try await throttle.end(halfDone: attempt, now: 0, allowed: 5)
        }
        #expect(await fail(1, { _ in "mia" }, from: { _ in "a" }) == 1)
        #expect(try await !mayTry("mia", from: "a", now: 0))
    }

    /// A process that ends before it compared the password has counted the attempt.
    @Test func anAttemptWithoutAnEndIsWrong() async throws {
        for _ in 0..<5 { _ = try await throttle.begin("mia", from: "a", now: 0, allowed: 5) }
        #expect(try await !mayTry("mia", from: "a", now: 999))
        #expect(try await mayTry("mia", from: "a", now: 1000))
    }

    @Test func takingAnAttemptBackRestoresTheCountUnlessOthersBegan() {
        let before = AttemptCount(failed: 5, until: 900, last: 0)
        var count = before
        count.begin(1000, allowed: 5)
        #expect(count == AttemptCount(failed: 6, until: 3000, last: 1000))
        var alone = count
        alone.takeBack(before: before, allowed: 5)
        #expect(alone == before)
        count.begin(3000, allowed: 5)
        count.takeBack(before: before, allowed: 5)
        #expect(count.failed == 6)
        #expect(count.until == 7000)
    }
}
