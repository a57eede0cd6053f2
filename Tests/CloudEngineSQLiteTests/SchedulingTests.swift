// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Dispatch
import EngineFixtures
import GRDB
import Synchronization
import TestBasics
import Testing

@testable import CloudEngineSQLite
@testable import CloudStorageSupport

@Suite(.timeLimit(.minutes(2))) struct SchedulingTests {
    private static let millisecond: Int64 = 1_000_000

    @Test func theRequesterWithTheLeastTimeIsNext() {
        var queue = FairQueue<String>()
        for number in 1...4 { queue.add("ann\(number)", for: "ann") }
        #expect(queue.next()?.job == "ann1")
        queue.end("ann", nanoseconds: 1000 * Self.millisecond)
        queue.add("bob1", for: "bob")
        queue.add("bob2", for: "bob")
        #expect(queue.first == "bob1")
        #expect(queue.next()?.job == "bob1", "bob has used nothing")
        queue.end("bob", nanoseconds: 400 * Self.millisecond)
        #expect(queue.next()?.job == "bob2", "400 ms are less than 1000")
        queue.end("bob", nanoseconds: 700 * Self.millisecond)
        #expect(queue.next()?.job == "ann2")
        #expect(queue.waitingCount == 2)
    }

    @Test func idleTimeIsNotSavedUp() {
        var queue = FairQueue<Int>()
        queue.add(1, for: "bob")
        _ = queue.next()
        queue.end("bob", nanoseconds: 1 * Self.millisecond)
        for number in 0..<3 {
            queue.add(number, for: "ann")
            _ = queue.next()
            queue.end("ann", nanoseconds: 1000 * Self.millisecond)
        }
        queue.add(10, for: "ann")
        for number in 0..<5 { queue.add(100 + number, for: "bob") }
        #expect(queue.next()?.job == 100)
        queue.end("bob", nanoseconds: 1500 * Self.millisecond)
        #expect(queue.next()?.job == 10, "bob has not saved up 3000 ms")
    }

    @Test func aRequesterRunsSoManyAtOnce() {
        var queue = FairQueue<Int>()
        for number in 0..<3 { queue.add(number, for: "ann") }
        queue.add(9, for: "bob")
        #expect(queue.next(runningMax: 2)?.job == 0)
        #expect(queue.next(runningMax: 2)?.job == 1)
        #expect(queue.next(runningMax: 2)?.job == 9)
        #expect(queue.next(runningMax: 2) == nil)
        queue.end("ann", nanoseconds: 1)
        #expect(queue.next(runningMax: 2)?.job == 2)
    }

    @Test func anExemptJobPassesTheLimitOfItsRequester() {
        var queue = FairQueue<Int>()
        func next(runningMax: Int = 1, exempt: Int? = nil) -> Int? { queue.next(runningMax: runningMax, exempting: { $0 == exempt })?.job }
        for number in 0..<4 { queue.add(number, for: "ann") }
        let first = [next(), next(), next(exempt: 2)]
        #expect(first == [0, nil, 2])
        #expect(queue.waitingCount == 2)
        queue.add(9, for: "bob")
        queue.end("ann", nanoseconds: 1)
        let second = [next(exempt: 3), next()]
        #expect(second == [9, nil], "ann has used more, and has one job running")
        queue.end("ann", nanoseconds: 1)
        let third = [next(), next(runningMax: 2)]
        #expect(third == [1, 3])
        #expect(queue.waitingCount == 0)
    }

    private static func spin(milliseconds: Int64) {
        let end = UnitClock.threadTime + milliseconds * 1_000_000
        while UnitClock.threadTime < end {}
    }

    /// The order in which units ended.
    private final class Finished: Sendable {
        private let names = Mutex<[String]>([])

        func append(_ name: String) { names.withLock { $0.append(name) } }
        func index(of name: String) -> Int? { names.withLock { $0.firstIndex(of: name) } }
    }

    private final class LongReads: Sendable {
        let running = Atomic(0), isOver = Atomic(false), endedEarly = Atomic(0)
    }

    /// Reads that use all processors until a save of another user and a read of a third have ended.
    @Test func longReadsLeaveOthersAThread() async throws {
        let bench = try await Bench.withGarden()
        let partition = bench.call().partition
        let reads = LongReads()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    try await bench.store.read(partition, WorkTerms(requester: "ann\(number % 2)", milliseconds: nil)) { _ in
                        reads.running.add(1, ordering: .relaxed)
                        let end = UnitClock.threadTime + 20_000_000_000
                        while !reads.isOver.load(ordering: .relaxed), UnitClock.threadTime < end {}
                        if !reads.isOver.load(ordering: .relaxed) { reads.endedEarly.add(1, ordering: .relaxed) }
                    }
                }
            }
            try await until { reads.running.load(ordering: .relaxed) >= 2 }
            try await bench.store.write(partition, WorkTerms(requester: "bob", milliseconds: nil)) { _ in }
            try await bench.store.read(partition, WorkTerms(requester: "eve", milliseconds: nil)) { _ in }
            reads.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(reads.endedEarly.load(ordering: .relaxed) == 0, "a read waited until the others gave up")
    }

    /// Evaluations of subscriptions take half of the processors, those of other accounts in turn.
    @Test func backgroundReadsLeaveProcessorsToResponses() async throws {
        let bench = try await Bench.withGarden()
        let partition = bench.call().partition
        let most = bench.sqliteStore.readers.backgroundMax
        #expect(most < bench.sqliteStore.pool.configuration.maximumReaderCount)
        let reads = LongReads(), order = Finished()
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let read = { (group: inout ThrowingTaskGroup<Void, any Error>, requester: String, name: String) in
                group.addTask {
                    try await bench.store.read(partition, WorkTerms(requester: requester, milliseconds: nil, isBackground: true)) { _ in
                        order.append(name)
                        reads.running.add(1, ordering: .relaxed)
                        gate.wait()
                    }
                }
            }
            for number in 0..<most { read(&group, "ann", "first\(number)") }
            try await until { reads.running.load(ordering: .relaxed) >= most }
            for number in 0..<5 { read(&group, "ann", "ann\(number)") }
            try await until { bench.sqliteStore.readers.waitingBackgroundCount >= 5 }
            read(&group, "bob", "bob")
            try await until { bench.sqliteStore.readers.waitingBackgroundCount >= 6 }
            #expect(reads.running.load(ordering: .relaxed) == most)
            try await bench.store.read(partition, WorkTerms(requester: "ann", milliseconds: nil)) { _ in }
            for _ in 0..<most + 6 { gate.signal() }
            try await group.waitForAll()
        }
        #expect(try #require(order.index(of: "bob")) <= most, "an account with many evaluations waits for others")
    }

    /// Fifty units of ann's wait, ten milliseconds each; bob's comes last.
    @Test func anotherUsersSaveDoesNotWaitForAllOfOne() async throws {
        let bench = try await Bench.withGarden()
        let partition = bench.call().partition
        let (started, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let finished = Finished()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await bench.store.write(partition, WorkTerms(requester: "ann", milliseconds: nil)) { _ in
                    started.signal()
                    released.wait()
                    Self.spin(milliseconds: 10)
                }
            }
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    started.wait()
                    continuation.resume()
                }
            }
            for number in 0..<50 {
                group.addTask {
                    try await bench.store.write(partition, WorkTerms(requester: "ann", milliseconds: nil)) { _ in
                        Self.spin(milliseconds: 10)
                        finished.append("ann\(number)")
                    }
                }
            }
            try await until { bench.sqliteStore.writer.waitingCount >= 50 }
            group.addTask {
                try await bench.store.write(partition, WorkTerms(requester: "bob", milliseconds: nil)) { _ in
                    finished.append("bob")
                }
            }
            try await until { bench.sqliteStore.writer.waitingCount >= 51 }
            released.signal()
            try await group.waitForAll()
        }
        let place = finished.index(of: "bob")
        #expect(try #require(place) <= 1)
    }

    @Test func aUnitEndsWhenItsTimeIsUpAndOthersInItsCommitDoNot() async throws {
        let bench = try await Bench.withGarden()
        let call = bench.call()
        let endless = await refusal {
            try await bench.store.write(call.partition, WorkTerms(requester: "ann", milliseconds: 20)) { unit in
                while true { _ = try unit.state() }
            }
        }
        #expect(endless?.nativeCode == .limitExceeded)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask { _ = try await bench.modify(.init(.create, .plant("p\(number)"))) }
                group.addTask {
                    _ = await refusal {
                        try await bench.store.write(call.partition, WorkTerms(requester: "ann", milliseconds: 10)) { unit in
                            while true { _ = try unit.state() }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await bench.lookup("p0", "p1", "p2", "p3").map(\.word) == ["saved", "saved", "saved", "saved"])
    }

    private struct Refused: Error {}

    /// The refusal may follow from changes of the first unit, which are lost with the commit.
    @Test func aRefusalInATransactionThatFailsIsNotSent() async throws {
        let bench = try await Bench.withGarden()
        let writer = bench.sqliteStore.writer
        let terms = WorkTerms(requester: "ann", milliseconds: nil)
        let (started, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let wait: @Sendable (Database, WriterMemory, UnitClock) throws -> Void = { _, _, _ in
            started.signal()
            released.wait()
        }
        let refuse: @Sendable (Database, WriterMemory, UnitClock) throws -> Void = { _, _, _ in throw Refused() }
        // SQLite gives a transaction up for some failures, such as a full disk.
        let giveUp: @Sendable (Database, WriterMemory, UnitClock) throws -> Void = { db, _, _ in try db.execute(sql: "ROLLBACK") }
        let first = Task { try await writer.submit(terms, wait) }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                started.wait()
                continuation.resume()
            }
        }
        let refused = Task { try await writer.submit(terms, refuse) }
        try await until { writer.waitingCount == 1 }
        let last = Task { try await writer.submit(terms, giveUp) }
        try await until { writer.waitingCount == 2 }
        released.signal()
        await #expect(throws: StorageFailure.self) { try await first.value }
        await #expect(throws: StorageFailure.self) { try await refused.value }
        await #expect(throws: DatabaseError.self) { try await last.value }
    }

    @Test func aReadEndsWhenItsTaskIsCancelled() async throws {
        let bench = try await Bench.withGarden()
        let partition = bench.call().partition
        let started = DispatchSemaphore(value: 0)
        let read = Task {
            try await bench.store.read(partition, WorkTerms(requester: "ann", milliseconds: nil)) { view -> Int in
                started.signal()
                while true { _ = try view.state() }
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                started.wait()
                continuation.resume()
            }
        }
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
    }
}
