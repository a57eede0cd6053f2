// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Decides which requests run now, which wait, and which are refused, so that the latency of accepted requests stays the same
/// however many arrive.
///
///     arrive ─▶ a slot is free ──────────────▶ run ─▶ finish ─▶ next in turn
///            ├▶ queue of its requester ─▶ turn ─┘
///            │        └▶ refused after the interval, or after the target while the queue stands
///            └▶ refused at once, if the queue stands and more requests are ahead than end within the target
///
/// Requesters with waiting requests take turns; one that had nothing waiting comes before those that had. A queue that was not
/// empty for an interval stands: it no longer absorbs bursts, it only delays. Its requests then wait no longer than the target.
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

        mutating func advance(to now: Duration, _ length: Duration) {
            guard now - start >= length else { return }
            (countBefore, count) = (now - start < length * 2 ? count : 0, 0)
            start = now
        }
    }

    package let rules: Rules
    private var lanes: [String: Lane] = [:]
    /// Requesters with waiting requests, in their turn: those that had none before, and the others.
    private var newTurns: [String] = []
    private var oldTurns: [String] = []
    private var lastTicket: Ticket = 0
    /// Time since which a request of a requester without a standing queue has always been waiting.
    private var sharedSince: Duration?
    /// An interval after the last refusal of one of their requests while their queue stood.
    private var sharedStandsUntil = Duration.zero
    private var ends = Ends()
    package private(set) var runningCount = 0
    package private(set) var waitingCount = 0
    package private(set) var refusedCount = 0
    /// Time at which a waiting request may have to be refused; nil if none waits.
    package private(set) var deadline: Duration?

    package init(_ rules: Rules) { self.rules = rules }

    /// `true` if a request of the requester would be refused now. It costs its sender nothing to ask before the body is read.
    package func wouldRefuse(_ requester: String, at now: Duration) -> Bool { refusal(of: requester, at: now) != nil }

    /// The queue that makes a new request of the requester wait in vain.
    private enum Standing { case full, lane, shared }

    private func refusal(of requester: String, at now: Duration) -> Standing? {
        guard rules.runningMax > 0 else { return nil }
        let lane = lanes[requester] ?? Lane()
        guard lane.waiting.count < rules.waitingMaxPerRequester else { return .full }
        if runningCount < rules.runningMax, lane.runningCount < rules.runningMaxPerRequester, lane.waiting.isEmpty { return nil }
        let laneStands = stands(lane, at: now)
        guard laneStands || sharedStands(at: now) else { return nil }
        // A new requester comes after the new ones before it. One that waits has its next turn after one turn of each.
        let turns = newTurns.count + oldTurns.count
        let ahead = lane.waiting.isEmpty ? newTurns.count : min(waitingCount, (lane.waiting.count + 1) * turns)
        guard ahead >= endsPerTarget(at: now) else { return nil }
        return laneStands ? .lane : .shared
    }

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
            lane.runningCount += 1
            runningCount += 1
            lanes[requester] = lane
            // Nothing waits but requests of requesters at their own limit.
            if waitingCount == 0 { sharedSince = nil }
            return (ticket, .run, others)
        }
        if let standing = refusal(of: requester, at: now) {
            note(standing, of: &lane, at: now)
            if lanes[requester] != nil { lanes[requester] = lane }
            refusedCount += 1
            return (ticket, .refuse, others)
        }
        if waitingCount >= rules.waitingMax { others.refuse += refuseOldestOfLongest() }
        if lane.waiting.isEmpty {
            lane.waitingSince = now
            newTurns.append(requester)
        }
        lane.waiting.append((ticket, now))
        lanes[requester] = lane
        waitingCount += 1
        sharedSince = sharedSince ?? now
        let limit = now + rules.target
        deadline = min(deadline ?? limit, limit)
        return (ticket, .wait, others)
    }

    /// Counts a request that was refused before it arrived, since ``wouldRefuse(_:at:)`` said so.
    package mutating func noteRefusal(_ requester: String, at now: Duration) {
        refusedCount += 1
        guard let standing = refusal(of: requester, at: now) else { return }
        var lane = lanes[requester] ?? Lane()
        note(standing, of: &lane, at: now)
        if lanes[requester] != nil { lanes[requester] = lane }
    }

    /// Gives the slot of a request that ended to the next in turn.
    package mutating func finish(_ requester: String, at now: Duration) -> Decisions {
        guard rules.runningMax > 0 else { return Decisions() }
        ends.advance(to: now, rules.interval)
        ends.count += 1
        if var lane = lanes[requester] {
            lane.runningCount -= 1
            runningCount -= 1
            put(lane, for: requester)
        }
        var decisions = refuseExpired(at: now)
        while runningCount < rules.runningMax, let ticket = takeNext(at: now) { decisions.run.append(ticket) }
        return decisions
    }

    /// Refuses requests that have waited too long. Called at ``deadline``.
    package mutating func expire(at now: Duration) -> Decisions { refuseExpired(at: now) }

    /// Forgets a waiting request whose client disconnected.
    ///
    /// - Returns: `false` if it does not wait any more.
    package mutating func cancel(_ ticket: Ticket, of requester: String) -> Bool {
        guard var lane = lanes[requester], let index = lane.waiting.firstIndex(where: { $0.ticket == ticket }) else { return false }
        lane.waiting.remove(at: index)
        waitingCount -= 1
        put(lane, for: requester)
        return true
    }

    // MARK: Turns

    private mutating func takeNext(at now: Duration) -> Ticket? {
        guard waitingCount > 0 else { return nil }
        let requester: String
        if let index = newTurns.firstIndex(where: hasSlot) {
            requester = newTurns.remove(at: index)
        } else if let index = oldTurns.firstIndex(where: hasSlot) {
            requester = oldTurns.remove(at: index)
        } else {
            return nil
        }
        guard var lane = lanes[requester], !lane.waiting.isEmpty else { return nil }
        let ticket = lane.waiting.removeFirst().ticket
        lane.runningCount += 1
        runningCount += 1
        waitingCount -= 1
        if !lane.waiting.isEmpty { oldTurns.append(requester) }
        lanes[requester] = lane
        updateSharedQueue(at: now)
        return ticket
    }

    private func hasSlot(_ requester: String) -> Bool { (lanes[requester]?.runningCount ?? 0) < rules.runningMaxPerRequester }

    private mutating func put(_ lane: Lane, for requester: String) {
        lanes[requester] = lane.waiting.isEmpty && lane.runningCount == 0 ? nil : lane
        guard lane.waiting.isEmpty else { return }
        newTurns.removeAll { $0 == requester }
        oldTurns.removeAll { $0 == requester }
    }

    // MARK: Delays

    private func stands(_ since: Duration, at now: Duration) -> Bool { now - since >= rules.interval }

    private func stands(_ lane: Lane, at now: Duration) -> Bool {
        now < lane.standsUntil || !lane.waiting.isEmpty && stands(lane.waitingSince, at: now)
    }

    private func sharedStands(at now: Duration) -> Bool {
        now < sharedStandsUntil || sharedSince.map { stands($0, at: now) } == true
    }

    private mutating func note(_ standing: Standing, of lane: inout Lane, at now: Duration) {
        switch standing {
        case .full: break
        case .lane: lane.standsUntil = now + rules.interval
        case .shared: sharedStandsUntil = now + rules.interval
        }
    }

    /// Follows the queue of requesters that do not have a standing queue of their own. One with a standing queue must not shorten
    /// the time of the others.
    private mutating func updateSharedQueue(at now: Duration) {
        // Refusals do not end an overload: only a queue that ran empty does.
        let isEmpty = !lanes.values.contains { !$0.waiting.isEmpty && !stands($0, at: now) }
        sharedSince = isEmpty ? nil : sharedSince ?? now
    }

    private mutating func refuseExpired(at now: Duration) -> Decisions {
        guard let due = deadline, due <= now else { return Decisions() }
        updateSharedQueue(at: now)
        let sharedStands = sharedStands(at: now)
        var refused: [Ticket] = []
        var next: Duration?
        for (requester, lane) in lanes where !lane.waiting.isEmpty {
            let laneStands = stands(lane, at: now)
            let limit = sharedStands || laneStands ? rules.target : rules.interval
            let kept = lane.waiting.drop { now - $0.arrival >= limit }
            refused += lane.waiting.prefix(lane.waiting.count - kept.count).map(\.ticket)
            if let first = kept.first {
                // The queue may stand before the request's limit is reached.
                let limit = max(now + .milliseconds(1), first.arrival + rules.target)
                next = min(next ?? limit, limit)
            }
            guard kept.count < lane.waiting.count else { continue }
            var lane = lane
            lane.waiting = Array(kept)
            if laneStands || sharedStands { note(laneStands ? .lane : .shared, of: &lane, at: now) }
            put(lane, for: requester)
        }
        waitingCount -= refused.count
        refusedCount += refused.count
        deadline = next
        return Decisions(refuse: refused.sorted())
    }

    private mutating func refuseOldestOfLongest() -> [Ticket] {
        let longest = lanes.max { ($0.value.waiting.count, $1.key) < ($1.value.waiting.count, $0.key) }
        guard let requester = longest?.key, var lane = longest?.value, !lane.waiting.isEmpty else { return [] }
        let ticket = lane.waiting.removeFirst().ticket
        waitingCount -= 1
        refusedCount += 1
        put(lane, for: requester)
        return [ticket]
    }
}
