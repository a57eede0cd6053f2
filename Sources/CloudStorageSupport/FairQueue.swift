// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Waiting jobs of several requesters. The next job is one of the requester that has used the least processor time (start-time fair
/// queueing), so that a requester with much work waits for the others, and not the other way round.
///
///     ann: ████████████ 12 s used, three jobs wait
///     bob: ▏             new, one job waits           ─▶ bob, ann, ann, ann
///
/// A requester that was idle starts level with the one served last: idle time is not saved up.
///
/// Invariants: a requester without waiting and running jobs has no lane, unless it is ahead of ``servedTime``; jobs of one requester run
/// in the order of their arrival, unless one is exempt from the limit of its requester.
///
/// Inlinable: each request passes the queue several times, and code for any type of job costs six times as much.
@usableFromInline package struct FairQueue<Job> {
    /// Charge of every job, in nanoseconds, so that many short ones count as well.
    @usableFromInline static var jobCharge: Int64 { 1_000_000 }
    /// Processor time is charged in slices: the order of short jobs does not depend on small differences, and runs can be repeated.
    @usableFromInline static var slice: Int64 { 50_000_000 }
    /// Lanes that are remembered at most for requesters without jobs.
    @usableFromInline static var idleLanesMax: Int { 10_000 }

    @usableFromInline struct Lane {
        /// A place is empty once its job was taken: the runner of a job frees its memory, and not under the lock of the queue.
        @usableFromInline var jobs: [(arrival: Int, job: Job?)] = []
        /// Jobs before it have been taken.
        @usableFromInline var head = 0
        /// Processor time in nanoseconds at which the next job begins, on the queue's own scale.
        @usableFromInline var start: Int64
        @usableFromInline var runningCount = 0

        @inlinable var waitingCount: Int { jobs.count - head }
        @inlinable var isIdle: Bool { waitingCount == 0 && runningCount == 0 }

        @inlinable init(start: Int64) { self.start = start }

        @inlinable mutating func add(_ job: Job, arrival: Int, servedTime: Int64) {
            if isIdle { start = max(start, servedTime) }
            jobs.append((arrival, job))
        }

        /// - Returns: Nil if no job waits.
        @inlinable mutating func takeFirst() -> Job? {
            guard head < jobs.count, let job = jobs[head].job.take() else { return nil }
            head += 1
            runningCount += 1
            if head > 32, head * 2 > jobs.count {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }

        /// - Parameter index: Of a job that waits.
        @inlinable mutating func take(at index: Int) -> Job? {
            guard index > head else { return takeFirst() }
            guard let job = jobs.remove(at: index).job else { return nil }
            runningCount += 1
            return job
        }

        @inlinable mutating func end(charge: Int64) {
            runningCount -= 1
            start += charge
        }
    }

    @usableFromInline var lanes: [String: Lane] = [:]
    /// Start of the job that was taken last.
    @usableFromInline var servedTime: Int64 = 0
    @usableFromInline var arrivals = 0
    @usableFromInline var waiting = 0

    /// Jobs of all requesters that wait.
    @inlinable package var waitingCount: Int { waiting }

    @inlinable package init() {}

    @inlinable package func waitingCount(of requester: String) -> Int { lanes[requester]?.waitingCount ?? 0 }

    @inlinable package mutating func add(_ job: Job, for requester: String) {
        // In place: a copy of a lane would copy its jobs.
        lanes[requester, default: Lane(start: servedTime)].add(job, arrival: arrivals, servedTime: servedTime)
        arrivals += 1
        waiting += 1
    }

    /// - Returns: The requester of the next job, the start of its lane, and the index of the job in it.
    @inlinable func nextPlace(runningMax: Int, exempting isExempt: ((Job) -> Bool)?) -> (requester: String, start: Int64, index: Int)? {
        var best: (requester: String, start: Int64, arrival: Int, index: Int)?
        for (requester, lane) in lanes where lane.waitingCount > 0 {
            var index = lane.head
            if lane.runningCount >= runningMax, !requester.isEmpty {
                guard let isExempt, let exempt = lane.jobs[lane.head...].firstIndex(where: { $0.job.map(isExempt) == true }) else {
                    continue
                }
                index = exempt
            }
            let arrival = lane.jobs[index].arrival
            if best.map({ (lane.start, arrival) < ($0.start, $0.arrival) }) ?? true { best = (requester, lane.start, arrival, index) }
        }
        return best.map { ($0.requester, $0.start, $0.index) }
    }

    /// The next job, which stays.
    @inlinable package var first: Job? {
        guard let next = nextPlace(runningMax: .max, exempting: nil) else { return nil }
        return lanes[next.requester]?.jobs[next.index].job
    }

    /// Takes the next job out.
    ///
    /// - Parameters:
    ///   - runningMax: Concurrent jobs of one requester at most. The server itself, the empty requester, is exempt.
    ///   - isExempt: Called for the waiting jobs of requesters with that many running. An exempt job passes those before it.
    /// - Returns: Nil if none waits, or all that wait are of requesters with that many running.
    @inlinable package mutating func next(
        runningMax: Int = .max, exempting isExempt: ((Job) -> Bool)? = nil
    ) -> (requester: String, job: Job)? {
        guard let next = nextPlace(runningMax: runningMax, exempting: isExempt), let job = lanes[next.requester]?.take(at: next.index)
        else {
            return nil
        }
        waiting -= 1
        servedTime = max(servedTime, next.start)
        return (next.requester, job)
    }

    /// Charges a requester for a job that ended.
    ///
    /// - Parameter nanoseconds: Processor time that it took.
    @inlinable package mutating func end(_ requester: String, nanoseconds: Int64) {
        lanes[requester]?.end(charge: Self.jobCharge + max(0, nanoseconds) / Self.slice * Self.slice)
        forgetIdleLanes(with: requester)
    }

    /// Charges a requester for work that was not a job of its own: it shared the job of another one.
    @inlinable package mutating func charge(_ requester: String, nanoseconds: Int64) {
        lanes[requester, default: Lane(start: servedTime)].start += Self.jobCharge + max(0, nanoseconds) / Self.slice * Self.slice
        forgetIdleLanes(with: requester)
    }

    @inlinable mutating func forgetIdleLanes(with requester: String) {
        if let lane = lanes[requester], lane.isIdle, lane.start <= servedTime { lanes[requester] = nil }
        guard lanes.count > Self.idleLanesMax else { return }
        lanes = lanes.filter { !$0.value.isIdle }
    }
}
