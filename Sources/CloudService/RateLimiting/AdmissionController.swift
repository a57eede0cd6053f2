// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Decides which requests run now, which wait, and which are refused, so that the latency of accepted requests stays the same
/// however many arrive.
///
///     arrive ─▶ a slot is free ──────────────▶ run ─▶ finish ─▶ next in turn
///            ├▶ queue of its requester ─▶ turn ─┘
///            │        └▶ refused after the interval, or after the target while the queue stands
///            └▶ refused immediately, if the queue stands and more requests are ahead than end within the target
///
/// Requesters with waiting requests take turns; one that had no request here comes before those that had. New requesters share a
/// queue, and each of the others has its own: requesters with many requests do not shorten the time of those with few. A queue that was
/// not empty for an interval stands: it no longer absorbs bursts, it only delays. Its requests then wait no longer than the target.
/// It stands until no request was refused for an interval: a commit that ends many requests together empties it for a moment in the
/// middle of an overload.
///
/// The value has no clock and no tasks: times come with the events, and ``AdmissionGate`` carries out the decisions.
///
/// Source: RFC 8289, "Controlled Delay Active Queue Management" (target and interval); RFC 8290, "FlowQueue-CoDel" (a queue and
/// a delay for each flow, new flows first, a full queue drops from the longest flow); B. Maurer, "Fail at Scale", ACM Queue
/// 13(8), 2015 (a queue timeout that depends on when the queue was last empty).
package struct AdmissionController: Sendable {
    package struct Rules: Hashable, Sendable {
        /// Concurrent requests; 0 admits all.
        package var runningMax: Int
        /// Time that a request waits at most, and after which a queue that was not empty stands.
        package var interval: Duration
        package var waitingMax = 1024

        package init(runningMax: Int, interval: Duration) {
            self.runningMax = runningMax
            self.interval = interval
        }

        package init(_ limits: Limits) {
            self.init(runningMax: limits.concurrentRequests, interval: .milliseconds(limits.queueMilliseconds))
        }

        /// Time that a request waits in a queue that stands: five hundredths of the interval, as RFC 8289 recommends.
        package var target: Duration { interval / Rules.targetsPerInterval }
        fileprivate static let targetsPerInterval = 20
        /// Concurrent requests of one requester: others find a slot free.
        package var runningMaxPerRequester: Int { max(1, runningMax / 2) }
        package var waitingMaxPerRequester: Int { max(1, waitingMax / 4) }
    }

    /// Identifies a request until it was refused or has finished.
    package typealias Ticket = Int

    package enum Verdict: Hashable, Sendable { case run, wait, refuse }

    /// Decisions on queued requests.
    package struct Decisions: Hashable, Sendable {
        package var run: [Ticket] = []
        package var refuse: [Ticket] = []

        package var isEmpty: Bool { run.isEmpty && refuse.isEmpty }
    }

    private struct Lane {
        var waiting: [(ticket: Ticket, arrival: Duration)] = []
        var runningCount = 0
        /// Number of its last request that began to run. A refusal of waiting requests does not change the turn.
        var lastTurn = 0
        /// Whether the requester had no other request when the first of those that wait arrived, and has not had its turn since.
        var isNew = false
        /// Time since which a request of this requester has always been waiting; only meaningful while one is.
        var waitingSince = Duration.zero
        /// An interval after the last refusal of a request in this queue while it stood.
        var standsUntil = Duration.zero
    }

    /// Requests that ended in the present window and in the one before. A window is as long as the interval.
    private struct Ends {
        var start = Duration.zero
        var count = 0
        var countBefore = 0

        /// - Returns: Whether a new window began.
        @discardableResult mutating func advance(to now: Duration, _ length: Duration) -> Bool {
            guard now - start >= length else { return false }
            (countBefore, count) = (now - start < length * 2 ? count : 0, 0)
            start = now
            return true
        }
    }

    package let rules: Rules
    private var lanes: [String: Lane] = [:]
    /// Requesters with waiting requests, in their turn: the new ones, and the others.
    private var newTurns: [String] = []
    private var oldTurns: [String] = []
    private var lastTicket: Ticket = 0
    private var lastTurn = 0
    /// Time since which a new requester has always been waiting.
    private var sharedSince: Duration?
    /// An interval after the last refusal of a new requester while their queue stood.
    private var sharedStandsUntil = Duration.zero
    /// Time until which some queue stands, since it was in vain to wait in it.
    private var standsUntil = Duration.zero
    private var ends = Ends()
    package private(set) var runningCount = 0
    package private(set) var waitingCount = 0
    package private(set) var refusedCount = 0
    /// Time at which a waiting request may have to be refused; nil if none waits.
    package private(set) var deadline: Duration?

    package init(_ rules: Rules) { self.rules = rules }

    private enum Refusal { case isFull, wouldWaitInVain }

    /// `true` if a request may be refused before it arrives: others wait, or a queue stands.
    package func isPressed(at now: Duration) -> Bool { waitingCount > 0 || now < standsUntil }

    /// Refuses a request before it arrives, which costs its sender nothing: its body was not read.
    ///
    /// While a queue stands, requests that have arrived count as well, though they do not wait here yet. Otherwise all requests that a
    /// loop reads in one round would be admitted by the queue of the round before. A requester without a request here is refused later.
    ///
    /// - Parameter inServiceCount: Requests that have arrived and have no response; 0 decides by the queue alone.
    /// - Returns: `false` for a request that may arrive.
    package mutating func refusesEarly(_ requester: String, inServiceCount: Int = 0, at now: Duration) -> Bool {
        guard rules.runningMax > 0 else { return false }
        let refusal: Refusal?
        if now < standsUntil, inServiceCount >= inServiceMax(of: requester, at: now) {
            refusal = .wouldWaitInVain
        } else {
            refusal = self.refusal(of: requester, at: now)
        }
        guard let refusal else { return false }
        refusedCount += 1
        if refusal == .wouldWaitInVain {
            var lane = lanes[requester] ?? Lane()
            keepStanding(&lane, at: now)
            if lanes[requester] != nil { lanes[requester] = lane }
        }
        return true
    }

    /// The requests that run, and those that end while one waits.
    private func inServiceMax(of requester: String, at now: Duration) -> Int {
        let room = rules.runningMax + endsPerTarget(at: now)
        return lanes[requester].map { $0.runningCount > 0 || !$0.waiting.isEmpty } == true ? room : room * 2
    }

    private func refusal(of requester: String, at now: Duration) -> Refusal? {
        guard rules.runningMax > 0 else { return nil }
        let lane = lanes[requester] ?? Lane()
        guard lane.waiting.count < rules.waitingMaxPerRequester else { return .isFull }
        if runningCount < rules.runningMax, lane.runningCount < rules.runningMaxPerRequester, lane.waiting.isEmpty { return nil }
        guard waitStands(lane, at: now) else { return nil }
        let turns = newTurns.count + oldTurns.count, ends = endsPerTarget(at: now)
        // New requesters come first. Each of the others may have one request waiting, or the order in which they ask would decide about
        // them, unless they are twice as many as slots. One that waits has its next turn after one turn of each.
        let isInVain =
            isNew(lane) && lane.waiting.isEmpty
            ? newTurns.count >= ends
            : lane.waiting.isEmpty ? turns >= max(ends, rules.runningMax * 2) : min(waitingCount, (lane.waiting.count + 1) * turns) >= ends
        return isInVain ? .wouldWaitInVain : nil
    }

    private func isNew(_ lane: Lane) -> Bool { lane.waiting.isEmpty ? lane.runningCount == 0 : lane.isNew }

    /// Requests that ended recently in a time as long as the target; at least 1, so that a queue never stays empty.
    private func endsPerTarget(at now: Duration) -> Int {
        var ends = ends
        ends.advance(to: now, rules.interval)
        return max(1, ends.countBefore / Rules.targetsPerInterval)
    }

    /// Decides on a new request.
    ///
    /// - Parameter now: Time on a clock that never goes back.
    /// - Returns: The verdict, and decisions on others: a full queue refuses the oldest request of the longest one.
    package mutating func arrive(_ requester: String, at now: Duration) -> (ticket: Ticket, verdict: Verdict, others: Decisions) {
        lastTicket += 1
        let ticket = lastTicket
        guard rules.runningMax > 0 else { return (ticket, .run, Decisions()) }
        var others = refuseExpired(at: now)
        var lane = lanes[requester] ?? Lane()
        if runningCount < rules.runningMax, lane.runningCount < rules.runningMaxPerRequester, lane.waiting.isEmpty {
            begin(&lane)
            lanes[requester] = lane
            updateSharedQueue(at: now)
            return (ticket, .run, others)
        }
        if let refusal = refusal(of: requester, at: now) {
            if refusal == .wouldWaitInVain { keepStanding(&lane, at: now) }
            if lanes[requester] != nil { lanes[requester] = lane }
            refusedCount += 1
            return (ticket, .refuse, others)
        }
        if waitingCount >= rules.waitingMax { others.refuse += refuseOldestOfLongest(at: now) }
        if lane.waiting.isEmpty {
            lane.waitingSince = now
            lane.isNew = isNew(lane)
            if lane.isNew { newTurns.append(requester) } else { oldTurns.append(requester) }
        }
        lane.waiting.append((ticket, now))
        lanes[requester] = lane
        waitingCount += 1
        updateSharedQueue(at: now)
        let limit = now + rules.target
        deadline = min(deadline ?? limit, limit)
        return (ticket, .wait, others)
    }

    /// Gives the slot of a request that ended to the next in turn.
    package mutating func finish(_ requester: String, at now: Duration) -> Decisions {
        guard rules.runningMax > 0 else { return Decisions() }
        if ends.advance(to: now, rules.interval) { lanes = lanes.filter { !Self.isForgotten($0.value, at: now) } }
        ends.count += 1
        if var lane = lanes[requester] {
            lane.runningCount -= 1
            runningCount -= 1
            put(lane, for: requester, at: now)
        }
        // A slot that is free at the limit of a request is for that request.
        var decisions = refuseExpired(at: now, includesLimit: false)
        while runningCount < rules.runningMax, let ticket = takeNext(at: now) { decisions.run.append(ticket) }
        return decisions
    }

    /// Refuses requests that have waited too long. Called at ``deadline``.
    package mutating func expire(at now: Duration) -> Decisions { refuseExpired(at: now) }

    /// Forgets a waiting request after its client disconnected.
    ///
    /// - Returns: `false` if it does not wait any more.
    package mutating func cancel(_ ticket: Ticket, of requester: String, at now: Duration) -> Bool {
        guard var lane = lanes[requester], let index = lane.waiting.firstIndex(where: { $0.ticket == ticket }) else { return false }
        lane.waiting.remove(at: index)
        waitingCount -= 1
        put(lane, for: requester, at: now)
        return true
    }

    // MARK: Turns

    private mutating func takeNext(at now: Duration) -> Ticket? {
        guard waitingCount > 0 else { return nil }
        let requester: String
        if let index = newTurns.firstIndex(where: hasSlot) {
            requester = newTurns.remove(at: index)
        } else if let index = oldTurns.indices.filter({ hasSlot(oldTurns[$0]) }).min(by: { lastTurn(oldTurns[$0]) < lastTurn(oldTurns[$1]) }
        ) {
            requester = oldTurns.remove(at: index)
        } else {
            return nil
        }
        guard var lane = lanes[requester], !lane.waiting.isEmpty else { return nil }
        let ticket = lane.waiting.removeFirst().ticket
        begin(&lane)
        waitingCount -= 1
        if !lane.waiting.isEmpty {
            lane.isNew = false
            oldTurns.append(requester)
        }
        lanes[requester] = lane
        updateSharedQueue(at: now)
        return ticket
    }

    private mutating func begin(_ lane: inout Lane) {
        lastTurn += 1
        lane.lastTurn = lastTurn
        lane.runningCount += 1
        runningCount += 1
    }

    private func lastTurn(_ requester: String) -> Int { lanes[requester]?.lastTurn ?? 0 }

    private func hasSlot(_ requester: String) -> Bool { (lanes[requester]?.runningCount ?? 0) < rules.runningMaxPerRequester }

    /// Stores a lane, or removes one that says nothing any more: its requester has no request here, and its queue does not stand.
    private mutating func put(_ lane: Lane, for requester: String, at now: Duration) {
        lanes[requester] = Self.isForgotten(lane, at: now) ? nil : lane
        guard lane.waiting.isEmpty else { return }
        newTurns.removeAll { $0 == requester }
        oldTurns.removeAll { $0 == requester }
    }

    private static func isForgotten(_ lane: Lane, at now: Duration) -> Bool {
        lane.waiting.isEmpty && lane.runningCount == 0 && now >= lane.standsUntil
    }

    // MARK: Delays

    private func stands(_ since: Duration, at now: Duration) -> Bool { now - since >= rules.interval }

    private func stands(_ lane: Lane, at now: Duration) -> Bool {
        now < lane.standsUntil || !isNew(lane) && !lane.waiting.isEmpty && stands(lane.waitingSince, at: now)
    }

    private func sharedStands(at now: Duration) -> Bool {
        now < sharedStandsUntil || sharedSince.map { stands($0, at: now) } == true
    }

    /// Whether a request in the lane waits no longer than the target. If the queue of new requesters stands, so does each other one.
    private func waitStands(_ lane: Lane, at now: Duration) -> Bool { sharedStands(at: now) || stands(lane, at: now) }

    /// Lets a queue stand for another interval, since it was in vain to wait in it.
    private mutating func keepStanding(_ lane: inout Lane, at now: Duration) {
        standsUntil = now + rules.interval
        if isNew(lane), now >= lane.standsUntil {
            sharedStandsUntil = now + rules.interval
        } else {
            lane.standsUntil = now + rules.interval
        }
    }

    private mutating func updateSharedQueue(at now: Duration) { sharedSince = newTurns.isEmpty ? nil : sharedSince ?? now }

    private mutating func refuseExpired(at now: Duration, includesLimit: Bool = true) -> Decisions {
        guard let due = deadline, due <= now else { return Decisions() }
        updateSharedQueue(at: now)
        var refused: [Ticket] = []
        var next: Duration?
        for (requester, lane) in lanes where !lane.waiting.isEmpty {
            let isStanding = waitStands(lane, at: now)
            let limit = isStanding ? rules.target : rules.interval
            let kept = lane.waiting.drop { includesLimit ? now - $0.arrival >= limit : now - $0.arrival > limit }
            refused += lane.waiting.prefix(lane.waiting.count - kept.count).map(\.ticket)
            if let first = kept.first {
                // The queue may stand before the request's limit is reached.
                let limit = max(now + .milliseconds(1), first.arrival + rules.target)
                next = min(next ?? limit, limit)
            }
            guard kept.count < lane.waiting.count else { continue }
            var lane = lane
            if isStanding { keepStanding(&lane, at: now) }
            lane.waiting = Array(kept)
            put(lane, for: requester, at: now)
        }
        waitingCount -= refused.count
        refusedCount += refused.count
        deadline = next
        return Decisions(refuse: refused.sorted())
    }

    private mutating func refuseOldestOfLongest(at now: Duration) -> [Ticket] {
        let longest = lanes.max { ($0.value.waiting.count, $1.key) < ($1.value.waiting.count, $0.key) }
        guard let requester = longest?.key, var lane = longest?.value, !lane.waiting.isEmpty else { return [] }
        let ticket = lane.waiting.removeFirst().ticket
        waitingCount -= 1
        refusedCount += 1
        put(lane, for: requester, at: now)
        return [ticket]
    }
}
