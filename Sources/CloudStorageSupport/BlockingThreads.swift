// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Synchronization

/// Runs calls that block or compute for long on a bounded number of threads of their own, in the order of their arrival.
///
/// Dispatch's global queues have one thread per core for the whole process: calls that wait for a disk there, and password hashes,
/// would take the threads from everything else. A serial queue without a target has a thread of its own while it runs.
///
/// Invariant: a call waits only while all threads run others.
package final class BlockingThreads: Sendable {
    private typealias Call = @Sendable () -> Void

    private struct State {
        /// Queues without a running call.
        var idleQueues: [DispatchQueue]
        var waiting: [Call] = []
        /// Calls before it have been taken.
        var head = 0

        mutating func takeFirst() -> Call? {
            guard head < waiting.count else { return nil }
            let call = waiting[head]
            head += 1
            if head * 2 > waiting.count {
                waiting.removeFirst(head)
                head = 0
            }
            return call
        }
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - label: Of the threads, for debuggers.
    ///   - count: Calls that run concurrently.
    package init(label: String, count: Int) {
        state = Mutex(State(idleQueues: (0..<max(1, count)).map { DispatchQueue(label: "\(label).\($0)", qos: .userInitiated) }))
    }

    /// Calls that wait for a thread.
    var waitingCount: Int { state.withLock { $0.waiting.count - $0.head } }

    package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Does not wait for it.
    package func start(_ body: @escaping @Sendable () -> Void) {
        let queue = state.withLock { state -> DispatchQueue? in
            guard let queue = state.idleQueues.popLast() else {
                state.waiting.append(body)
                return nil
            }
            return queue
        }
        if let queue { queue.async { self.work(body, on: queue) } }
    }

    /// Runs a call, and those that wait.
    private func work(_ first: @escaping Call, on queue: DispatchQueue) {
        var next: Call? = first
        while let call = next {
            call()
            next = state.withLock { state in
                let next = state.takeFirst()
                if next == nil { state.idleQueues.append(queue) }
                return next
            }
        }
    }
}
