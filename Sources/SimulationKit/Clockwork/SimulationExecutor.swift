// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The only thread of a simulation. Tasks run in the order in which they become ready, and only during ``settle()``.
///
/// The executor waits for calls to components with queues of their own, such as the server's database. The caller
/// brackets each call by ``begin()`` and ``end()``, one at a time, so that its response arrives at the same point in
/// each run.
final class SimulationExecutor: TaskExecutor, @unchecked Sendable {
    // Unchecked: all state is behind the condition's lock.
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var next = 0
    private var outside = 0

    /// After this time without a response, the simulation is deadlocked.
    private static let patience = 60.0

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock {
            jobs.append(job)
            condition.signal()
        }
    }

    func begin() { condition.withLock { outside += 1 } }

    func end() { condition.withLock { outside -= 1 } }

    /// Runs all ready tasks, until all tasks wait for events of the agenda.
    func settle() {
        while let job = take() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    private func take() -> UnownedJob? {
        condition.lock()
        defer { condition.unlock() }
        while next == jobs.count {
            jobs.removeAll(keepingCapacity: true)
            next = 0
            if outside == 0 { return nil }
            precondition(condition.wait(until: Date(timeIntervalSinceNow: Self.patience)), "an external call has not returned")
        }
        defer { next += 1 }
        return jobs[next]
    }

    /// Runs an async function to its end, on this thread.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Box<Result<Value, any Error>?>(nil)
        begin()
        Task(executorPreference: self) {
            do { result.value = .success(try await body()) } catch { result.value = .failure(error) }
            self.end()
        }
        settle()
        guard let value = result.value else { preconditionFailure("the task has not ended") }
        return try value.get()
    }
}

/// A variable that closures share on the simulation's thread.
final class Box<Value>: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    var value: Value

    init(_ value: Value) { self.value = value }
}

/// A task that waits for the agenda; resumed once, by the first caller.
final class Pending<Value: Sendable>: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    private var continuation: CheckedContinuation<Value, any Error>?

    func wait(_ begin: () -> Void) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                self.continuation = continuation
                begin()
            }
        } onCancel: {
            self.resume(with: .failure(CancellationError()))
        }
    }

    var isWaiting: Bool { continuation != nil }

    func resume(with result: Result<Value, any Error>) {
        let waiting = continuation
        continuation = nil
        waiting?.resume(with: result)
    }
}
