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
/// in the order of their arrival.
package struct FairQueue<Job> {
    /// Charge of every job, in nanoseconds, so that many short ones count as well.
    private static var jobCharge: Int64 { 1_000_000 }
    /// Processor time is charged in slices: the order of short jobs does not depend on small differences, and runs can be repeated.
    private static var slice: Int64 { 50_000_000 }
    /// Lanes that are remembered at most for requesters without jobs.
    private static var idleLanesMax: Int { 10_000 }

    private struct Lane {
        /// A place is empty once its job was taken: what a job holds is freed by who runs it, and not under the lock of the queue.
        var jobs: [(arrival: Int, job: Job?)] = []
        /// Jobs before it have been taken.
        var head = 0
        /// Processor time in nanoseconds at which the next job begins, on the queue's own scale.
        var start: Int64
        var runningCount = 0

        var waitingCount: Int { jobs.count - head }
        var isIdle: Bool { waitingCount == 0 && runningCount == 0 }

        mutating func add(_ job: Job, arrival: Int, servedTime: Int64) {
            if isIdle { start = max(start, servedTime) }
            jobs.append((arrival, job))
        }

        /// - Returns: Nil if no job waits.
        mutating func takeFirst() -> Job? {
            guard head < jobs.count, let job = jobs[head].job.take() else { return nil }
            head += 1
            runningCount += 1
            if head > 32, head * 2 > jobs.count {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }

        mutating func end(charge: Int64) {
            runningCount -= 1
            start += charge
        }
    }

    private var lanes: [String: Lane] = [:]
    /// Start of the job that was taken last.
    private var servedTime: Int64 = 0
    private var arrivals = 0
    package private(set) var waitingCount = 0

    package init() {}

    package func waitingCount(of requester: String) -> Int { lanes[requester]?.waitingCount ?? 0 }

    package mutating func add(_ job: Job, for requester: String) {
        // In place: a copy of a lane would copy its jobs.
        lanes[requester, default: Lane(start: servedTime)].add(job, arrival: arrivals, servedTime: servedTime)
        arrivals += 1
        waitingCount += 1
    }

    /// Takes the next job out.
    ///
    /// - Parameter runningMax: Concurrent jobs of one requester at most. The server itself, the empty requester, is exempt.
    /// - Returns: Nil if none waits, or all that wait are of requesters with that many running.
    package mutating func next(runningMax: Int = .max) -> (requester: String, job: Job)? {
        var best: (requester: String, start: Int64, arrival: Int)?
        for (requester, lane) in lanes where lane.waitingCount > 0 && (lane.runningCount < runningMax || requester.isEmpty) {
            let candidate = (requester, lane.start, lane.jobs[lane.head].arrival)
            if best.map({ (candidate.1, candidate.2) < ($0.start, $0.arrival) }) ?? true { best = candidate }
        }
        guard let best, let job = lanes[best.requester]?.takeFirst() else { return nil }
        waitingCount -= 1
        servedTime = max(servedTime, best.start)
        return (best.requester, job)
    }

    /// Charges a requester for a job that ended.
    ///
    /// - Parameter nanoseconds: Processor time that it took.
    package mutating func end(_ requester: String, nanoseconds: Int64) {
        lanes[requester]?.end(charge: Self.jobCharge + max(0, nanoseconds) / Self.slice * Self.slice)
        if let lane = lanes[requester], lane.isIdle, lane.start <= servedTime { lanes[requester] = nil }
        guard lanes.count > Self.idleLanesMax else { return }
        lanes = lanes.filter { !$0.value.isIdle }
    }
}
