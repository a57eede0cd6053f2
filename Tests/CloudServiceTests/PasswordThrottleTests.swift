// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@testable import CloudService

@Suite struct PasswordThrottleTests {
    private let throttle = PasswordThrottle()

    /// - Returns: How many of the attempts were let through.
    private func fail(_ count: Int, _ account: (Int) -> String, from network: (Int) -> String, now: Int64 = 0) -> Int {
        (0..<count).count { number in
            guard let attempt = try? throttle.begin(account(number), from: network(number), now: now, allowed: 5) else { return false }
            throttle.end(attempt, isRight: false, now: now, allowed: 5)
            return true
        }
    }

    private func mayTry(_ account: String, from network: String, now: Int64) -> Bool {
        guard let attempt = try? throttle.begin(account, from: network, now: now, allowed: 5) else { return false }
        throttle.end(attempt, isRight: true, now: now, allowed: 5)
        return true
    }

    @Test func attemptsAtOnceCountAsMany() throws {
        let attempts = (0..<60).compactMap { _ in try? throttle.begin("mia", from: "a", now: 0, allowed: 5) }
        #expect(attempts.count == 5)
        for attempt in attempts { throttle.end(attempt, isRight: false, now: 0, allowed: 5) }
        #expect(!mayTry("mia", from: "a", now: 999))
        #expect(mayTry("mia", from: "a", now: 1000))
    }

    @Test func theWaitDoubles() {
        #expect(fail(5, { _ in "mia" }, from: { _ in "a" }) == 5)
        #expect(fail(1, { _ in "mia" }, from: { _ in "a" }, now: 1000) == 1)
        #expect(fail(1, { _ in "mia" }, from: { _ in "a" }, now: 2999) == 0)
        #expect(fail(1, { _ in "mia" }, from: { _ in "a" }, now: 3000) == 1)
        #expect(!mayTry("mia", from: "a", now: 6999))
        #expect(mayTry("mia", from: "a", now: 7000))
        #expect(fail(5, { _ in "mia" }, from: { _ in "a" }, now: 7000) == 5)
    }

    @Test func aStrangerKeepsOnlyTheirOwnNetworkWaiting() {
        #expect(fail(60, { _ in "mia" }, from: { _ in "stranger" }) == 5)
        #expect(mayTry("mia", from: "home", now: 0))
        #expect(!mayTry("mia", from: "stranger", now: 0))
    }

    @Test func madeUpNamesAreTheNetworks() {
        #expect(fail(200, { "nobody \($0)" }, from: { _ in "stranger" }) == 20)
        #expect(mayTry("mia", from: "home", now: 0))
    }

    /// A hundred networks guess one account's password: only networks that its owner used go on.
    @Test func manyNetworksTogetherAreSlow() {
        #expect(mayTry("mia", from: "home", now: 0))
        #expect(fail(1000, { _ in "mia" }, from: { "network \($0 / 2)" }) == 100)
        #expect(mayTry("mia", from: "home", now: 0))
        #expect(!mayTry("mia", from: "hotel", now: 0))
        #expect(mayTry("mia", from: "hotel", now: 900_001))
    }

    @Test func aCorrectPasswordKeepsTheFailuresOfTheNetwork() {
        #expect(fail(19, { "nobody \($0)" }, from: { _ in "a" }) == 19)
        #expect(mayTry("own", from: "a", now: 0))
        #expect(fail(2, { "somebody \($0)" }, from: { _ in "a" }) == 1)
    }

    /// With a second factor the password is half of the way: entering it again does not forget wrong codes.
    @Test func halfDoneAttemptsAreNeitherRightNorWrong() throws {
        for _ in 0..<4 { _ = fail(1, { _ in "mia" }, from: { _ in "a" }) }
        for _ in 0..<50 { throttle.end(halfDone: try throttle.begin("mia", from: "a", now: 0, allowed: 5)) }
        #expect(fail(1, { _ in "mia" }, from: { _ in "a" }) == 1)
        #expect(!mayTry("mia", from: "a", now: 0))
    }
}
