// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation
import Synchronization
import TestBasics
import Testing

@testable import CloudEngineSQLite
@testable import CloudStorageSupport

/// Calls that block have threads of their own, and so many only.
@Suite(.timeLimit(.minutes(2))) struct BlockingThreadsTests {
    private final class Counts: Sendable {
        let running = Atomic(0), most = Atomic(0), isOver = Atomic(false), endedEarly = Atomic(0)

        func begin() {
            let now = running.add(1, ordering: .sequentiallyConsistent).newValue
            var known = most.load(ordering: .relaxed)
            while known < now { known = most.compareExchange(expected: known, desired: now, ordering: .relaxed).original }
        }

        func end() { running.subtract(1, ordering: .sequentiallyConsistent) }

        /// Computes until it is over, for 20 seconds at most.
        func spin() {
            let end = UnitClock.threadTime + 20_000_000_000
            while !isOver.load(ordering: .relaxed), UnitClock.threadTime < end {}
            if !isOver.load(ordering: .relaxed) { endedEarly.add(1, ordering: .relaxed) }
        }
    }

    /// Work on Dispatch's global queues, which have a thread per core, until the calls have ended.
    private func whileGlobalQueuesAreFull(_ body: () async throws -> Void) async throws {
        let counts = Counts(), processors = ProcessInfo.processInfo.activeProcessorCount
        for _ in 0..<processors * 2 {
            DispatchQueue.global(qos: .userInitiated).async {
                counts.begin()
                counts.spin()
                counts.end()
            }
        }
        try await until { counts.most.load(ordering: .relaxed) >= processors }
        try await body()
        counts.isOver.store(true, ordering: .relaxed)
        try await until { counts.running.load(ordering: .relaxed) == 0 }
        #expect(counts.endedEarly.load(ordering: .relaxed) == 0, "the calls waited for Dispatch's threads")
    }

    @Test func callsOfTheDiskNeedNoThreadOfDispatch() async throws {
        try await whileGlobalQueuesAreFull {
            let value = try await DiskQueue.run { 1 }
            #expect(value == 1)
        }
    }

    @Test func passwordHashesNeedNoThreadOfDispatch() async throws {
        try await whileGlobalQueuesAreFull {
            let hash = try await PasswordHash.make("correct horse", PasswordHash.Parameters(rounds: 16))
            let isHash = try await hash.isHash(of: "correct horse")
            #expect(isHash)
        }
    }

    @Test func soManyCallsRunConcurrently() async throws {
        let threads = BlockingThreads(label: "test", count: 3)
        let counts = Counts()
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await threads.run {
                        counts.begin()
                        gate.wait()
                        counts.end()
                    }
                }
            }
            try await until { threads.waitingCount >= 7 }
            try await until { counts.running.load(ordering: .relaxed) >= 3 }
            for _ in 0..<10 { gate.signal() }
            try await group.waitForAll()
        }
        #expect(counts.most.load(ordering: .relaxed) == 3)
        #expect(threads.waitingCount == 0)
    }

    @Test func callsRunInTheOrderOfTheirArrival() async throws {
        let threads = BlockingThreads(label: "test", count: 1)
        let order = Mutex<[Int]>([])
        let gate = DispatchSemaphore(value: 0)
        threads.start { gate.wait() }
        for number in 0..<100 { threads.start { order.withLock { $0.append(number) } } }
        gate.signal()
        try await threads.run {}
        #expect(order.withLock { $0 } == Array(0..<100))
    }
}
