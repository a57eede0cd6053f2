// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import TestBasics
import Testing

/// Decisions on requests of an overloaded server, on a clock that the tests move.
@Suite struct AdmissionTests {
    /// A server with a number of slots; each request takes the same time.
    private struct Server {
        var controller: AdmissionController
        let service: Duration
        /// Requests end together, at multiples of this time; nil ends each at its own time.
        let commit: Duration?
        var now = Duration.zero
        private var running: [(ticket: Int, requester: String, end: Duration)] = []
        private var waiting: [Int: (requester: String, arrival: Duration)] = [:]
        /// Delay until a request began, for each requester.
        private(set) var waits: [String: [Duration]] = [:]
        private(set) var refusals: [String: [Duration]] = [:]

        init(slots: Int, service: Duration, interval: Duration = .milliseconds(200), commit: Duration? = nil) {
            controller = AdmissionController(AdmissionController.Rules(runningMax: slots, interval: interval))
            self.service = service
            self.commit = commit
        }

        var waitingCount: Int { waiting.count }

        mutating func send(_ requester: String, times: Int = 1) {
            for _ in 0..<times {
                let (ticket, verdict, others) = controller.arrive(requester, at: now)
                carryOut(others)
                switch verdict {
                case .run: begin(ticket, requester, waited: .zero)
                case .wait: waiting[ticket] = (requester, now)
                case .refuse: refusals[requester, default: []].append(.zero)
                }
            }
        }

        /// Moves the clock, with ends of requests and deadlines on the way.
        mutating func pass(_ time: Duration) {
            let end = now + time
            while true {
                let times = [running.map(\.end).min(), waiting.isEmpty ? nil : controller.deadline].compactMap(\.self)
                guard let next = times.min(), next <= end else { break }
                now = max(now, next)
                if let index = running.firstIndex(where: { $0.end <= now }) {
                    let requester = running.remove(at: index).requester
                    carryOut(controller.finish(requester, at: now))
                } else {
                    carryOut(controller.expire(at: now))
                }
            }
            now = end
        }

        private mutating func begin(_ ticket: Int, _ requester: String, waited: Duration) {
            waits[requester, default: []].append(waited)
            var end = now + service
            if let commit { end = commit * (Int(end / commit) + 1) }
            running.append((ticket, requester, end))
        }

        private mutating func carryOut(_ decisions: AdmissionController.Decisions) {
            for ticket in decisions.refuse {
                guard let (requester, arrival) = waiting.removeValue(forKey: ticket) else { continue }
                refusals[requester, default: []].append(now - arrival)
            }
            for ticket in decisions.run {
                guard let (requester, arrival) = waiting.removeValue(forKey: ticket) else { continue }
                begin(ticket, requester, waited: now - arrival)
            }
        }
    }

    @Test func aBurstWaits() {
        var server = Server(slots: 4, service: .milliseconds(10))
        for number in 0..<40 { server.send("u\(number)") }
        server.pass(.seconds(1))
        #expect(server.refusals.isEmpty, "40 requests take 100 ms")
        #expect(server.waits.values.flatMap(\.self).max() == .milliseconds(90))
        #expect(server.controller.runningCount == 0)
        #expect(server.controller.waitingCount == 0)
        #expect(server.controller.deadline == nil)
    }

    /// Four slots serve 400 requests a second; 1600 arrive, each of another requester.
    @Test func anOverloadKeepsTheLatencyOfAcceptedRequests() {
        var server = Server(slots: 4, service: .milliseconds(10))
        for number in 0..<1600 {
            server.send("early\(number)")
            server.pass(.microseconds(625))
        }
        var waitingMax = 0
        for number in 0..<8000 {
            server.send("late\(number)")
            server.pass(.microseconds(625))
            waitingMax = max(waitingMax, server.waitingCount)
        }
        #expect(waitingMax <= 40)
        server.pass(.seconds(1))
        let waits = server.waits.filter { $0.key.hasPrefix("late") }.values.flatMap(\.self)
        let refusals = server.refusals.filter { $0.key.hasPrefix("late") }.values.flatMap(\.self)
        #expect((waits.max() ?? .zero) <= .milliseconds(11))
        #expect((refusals.max() ?? .zero) <= .milliseconds(12))
        #expect((1950...2050).contains(waits.count), "the server is never idle: \(waits.count)")
        #expect(waits.count + refusals.count == 8000)
    }

    /// A commit ends the writes of many requests together, and so empties the queue for a moment. The overload goes on.
    @Test(arguments: [16, 400])
    func commitsDoNotEndAnOverload(_ users: Int) {
        var server = Server(slots: 64, service: .milliseconds(40), commit: .milliseconds(20))
        func run(_ requests: Int) {
            for number in 0..<requests {
                server.send("u\(number % users)")
                server.pass(.microseconds(156))
            }
        }
        run(6400)
        let before = (waits: server.waits.mapValues(\.count), refusals: server.refusals.mapValues(\.count))
        run(12_800)
        let waits = server.waits.flatMap { $0.value.dropFirst(before.waits[$0.key] ?? 0) }
        let refusals = server.refusals.flatMap { $0.value.dropFirst(before.refusals[$0.key] ?? 0) }
        #expect(waits.count > 1800, "the server is not idle: \(waits.count)")
        #expect((waits.max() ?? .zero) <= .milliseconds(12))
        #expect((refusals.max() ?? .zero) <= .milliseconds(12))
    }

    @Test func requestsThatWouldWaitInVainAreRefusedAtOnce() {
        var server = Server(slots: 64, service: .milliseconds(40))
        for number in 0..<4000 {
            server.send("u\(number % 16)")
            server.pass(.microseconds(156))
        }
        let early = server.refusals.values.map(\.count).reduce(0, +)
        var waitingMax = 0
        for number in 0..<16_000 {
            server.send("u\(number % 16)")
            server.pass(.microseconds(156))
            waitingMax = max(waitingMax, server.waitingCount)
        }
        #expect(waitingMax <= 32, "1600 requests end in a second, so 16 within the target")
        let refusals = server.refusals.values.flatMap(\.self)
        #expect(refusals.count - early > 11_000)
        #expect(refusals.count { $0 == .zero } - early > 8000, "the others wait for the target")
        #expect(server.controller.runningCount == 64)
    }

    @Test func aRefusalBeforeTheArrivalCounts() {
        var rules = AdmissionController.Rules(runningMax: 1, interval: .milliseconds(200))
        rules.waitingMax = 4
        var controller = AdmissionController(rules)
        for _ in 0..<2 { _ = controller.arrive("ann", at: .zero) }
        let isRefused = controller.refusesEarly("ann", at: .zero)
        #expect(isRefused)
        #expect(controller.refusedCount == 1)
        #expect(controller.waitingCount == 1)
    }

    /// A loop reads the heads of many requests before the first of them waits.
    @Test func headsOfAStandingQueueAreBounded() {
        var server = Server(slots: 4, service: .milliseconds(10))
        let refusesABurst = server.controller.refusesEarly("ann", inServiceCount: 1000, at: .zero)
        #expect(!refusesABurst, "a burst waits")
        for _ in 0..<400 {
            server.send("ann")
            server.send("bob")
            server.pass(.milliseconds(1))
        }
        var controller = server.controller
        while controller.runningCount > 1 { _ = controller.finish("ann", at: server.now) }
        let now = server.now + .milliseconds(11)
        _ = controller.expire(at: now)
        #expect(controller.waitingCount == 0)
        #expect(controller.isPressed(at: now))
        let room = Self.room("bob", &controller, at: now)
        // Four run, and four end within the target.
        #expect(room == 8)
        let roomOfANewRequester = Self.room("eve", &controller, at: now)
        #expect(roomOfANewRequester == 16, "she has no request here")
        let later = now + .milliseconds(201)
        #expect(!controller.isPressed(at: later))
        let refusesLater = controller.refusesEarly("bob", inServiceCount: 100, at: later)
        #expect(!refusesLater)
    }

    /// The number of requests in service at which the requester's next one is refused.
    private static func room(_ requester: String, _ controller: inout AdmissionController, at now: Duration) -> Int? {
        (0...100).first { controller.refusesEarly(requester, inServiceCount: $0, at: now) }
    }

    @Test func theEndOfAnOverloadEndsTheShortWaits() {
        var server = Server(slots: 2, service: .milliseconds(10))
        for _ in 0..<600 {
            server.send("ann")
            server.send("bob")
            server.pass(.milliseconds(1))
        }
        server.pass(.seconds(1))
        let refused = server.refusals.values.map(\.count).reduce(0, +)
        #expect(refused > 500)
        for number in 0..<20 { server.send("u\(number)") }
        server.pass(.seconds(1))
        #expect(server.refusals.values.map(\.count).reduce(0, +) == refused)
    }

    @Test func oneRequesterDoesNotDelayOthers() {
        var server = Server(slots: 8, service: .milliseconds(20))
        for step in 0..<5000 {
            server.send("heavy", times: 2)
            if step % 50 == 0 { server.send("light") }
            server.pass(.milliseconds(1))
        }
        server.pass(.seconds(1))
        #expect(server.refusals["light"] == nil)
        #expect(server.waits["light"]?.count == 100)
        #expect(server.waits["light"]?.max() == .zero, "half of the slots are for others")
        #expect((server.refusals["heavy"]?.count ?? 0) > 5000)
    }

    /// Requesters that together fill all slots take turns with a new one.
    @Test func aNewRequesterComesBeforeStandingQueues() {
        var server = Server(slots: 4, service: .milliseconds(20))
        for step in 0..<3000 {
            for number in 0..<4 { server.send("heavy\(number)") }
            if step > 500, step % 50 == 0 { server.send("light") }
            server.pass(.milliseconds(1))
        }
        #expect(server.refusals["light"] == nil)
        #expect((server.waits["light"]?.max() ?? .seconds(9)) <= .milliseconds(20))
        let shares = (0..<4).map { server.waits["heavy\($0)"]?.count ?? 0 }
        #expect((shares.max() ?? 0) - (shares.min() ?? 0) <= 10, "turns are equal: \(shares)")
    }

    @Test func aFullQueueRefusesTheLongest() {
        var rules = AdmissionController.Rules(runningMax: 1, interval: .seconds(10))
        rules.waitingMax = 8
        var controller = AdmissionController(rules)
        let ann = (0..<4).map { _ in controller.arrive("ann", at: .zero) }
        #expect(ann.map(\.verdict) == [.run, .wait, .wait, .refuse])
        let refused = ["ann", "bob"].map { controller.refusesEarly($0, at: .zero) }
        #expect(refused == [true, false])
        let others = ["b", "c", "d", "e", "f", "g"].map { controller.arrive($0, at: .zero).verdict }
        #expect(others.allSatisfy { $0 == .wait })
        let last = controller.arrive("h", at: .zero)
        #expect(last.verdict == .wait)
        #expect(last.others.refuse == [ann[1].ticket])
        #expect(controller.waitingCount == 8)
    }

    @Test func aCancelledRequestTakesNoTurn() {
        var controller = AdmissionController(AdmissionController.Rules(runningMax: 1, interval: .seconds(1)))
        _ = controller.arrive("ann", at: .zero)
        let bob = controller.arrive("bob", at: .zero).ticket, eve = controller.arrive("eve", at: .zero).ticket
        let isCancelled = controller.cancel(bob, of: "bob", at: .zero), isCancelledAgain = controller.cancel(bob, of: "bob", at: .zero)
        #expect(isCancelled)
        #expect(!isCancelledAgain)
        let afterAnn = controller.finish("ann", at: .zero), afterEve = controller.finish("eve", at: .zero)
        #expect(afterAnn.run == [eve])
        #expect(afterEve.isEmpty)
        #expect(controller.runningCount == 0)
        #expect(controller.waitingCount == 0)
    }

    @Test func noLimitAdmitsAll() {
        var controller = AdmissionController(AdmissionController.Rules(Limits()))
        let verdicts = (0..<1000).map { _ in controller.arrive("ann", at: .zero).verdict }
        #expect(verdicts.allSatisfy { $0 == .run })
        let decisions = controller.finish("ann", at: .zero)
        #expect(decisions.isEmpty)
    }
}

/// The gate carries decisions out in tasks.
@Suite(.timeLimit(.minutes(1))) struct AdmissionGateTests {
    @Test func whatWaitsTooLongIsRefused() async throws {
        let gate = AdmissionGate(AdmissionController.Rules(runningMax: 1, interval: .milliseconds(20)))
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let first = Task { try await gate.run("ann") { for await _ in ends { break } } }
        try await until { gate.counts.running != 0 }
        let error = await #expect(throws: WireError.self) { try await gate.run("bob") {} }
        #expect(error?.code == .tryAgainLater)
        #expect((error?.retryAfter ?? 0) >= 1)
        end.yield()
        try await first.value
        try await gate.run("bob") {}
        let counts = gate.counts
        #expect(counts.running == 0)
        #expect(counts.waiting == 0)
        #expect(counts.refused == 1)
    }

    @Test func aCancelledRequestLeavesTheQueue() async throws {
        let gate = AdmissionGate(AdmissionController.Rules(runningMax: 1, interval: .seconds(60)))
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let first = Task { try await gate.run("ann") { for await _ in ends { break } } }
        try await until { gate.counts.running != 0 }
        let second = Task { try await gate.run("bob") {} }
        try await until { gate.counts.waiting != 0 }
        let third = Task { try await gate.run("eve") { "eve" } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        end.yield()
        try await first.value
        #expect(try await third.value == "eve")
        let counts = gate.counts
        #expect(counts.running == 0)
        #expect(counts.waiting == 0)
        #expect(counts.refused == 0)
    }
}
