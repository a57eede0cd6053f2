// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch

// The coordinator's queue.

extension NSPersistentStoreCoordinator {
    func performImplementation(_ block: @escaping @Sendable () -> Void) { work.queue.async(execute: block) }

    /// Runs a block on the coordinator's queue before it returns; in place if the caller is on the queue.
    ///
    /// - Throws: The errors of the block.
    public func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try performAndWaitImplementation(block) }

    func performAndWaitImplementation<T>(_ block: () throws -> T) rethrows -> T {
        if work.isCurrent { return try block() }
        return try work.queue.sync(execute: block)
    }

    /// Runs a block on the coordinator's queue and returns its result.
    ///
    /// - Throws: The errors of the block.
    @preconcurrency
    public func perform<T>(_ block: @escaping @Sendable () throws -> T) async rethrows -> T {
        let body = Unchecked(block)
        let queue = work.queue
        let result: Result<Unchecked<T>, any Error> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { try Unchecked(body.value()) }) }
        }
        return try result.rethrow { try $0() }
    }
}

/// A serial queue that can tell whether the caller is on it.
final class CoordinatorQueue: Sendable {
    let queue = DispatchQueue(label: "tarn.coordinator", target: .global(qos: .userInitiated))
    private let key = DispatchSpecificKey<Bool>()

    init() { queue.setSpecific(key: key, value: true) }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
