// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore

extension NSManagedObjectContext {
    public enum ScheduledTaskType: Sendable {
        /// Runs at once when the caller is on the context's queue already.
        case immediate
        case enqueued
    }

    func performImplementation(_ block: @escaping @Sendable () -> Void) {
        queue.queue.async { self.run(block) }
    }

    /// Runs a block on the context's queue before it returns; in place when the caller is there already, also through
    /// `performAndWait` of other contexts. A subclass that overrides the form without a result runs this one by it.
    public func performAndWait<T>(_ block: () throws -> T) rethrows -> T {
        if isPlain { return try performAndWaitImplementation(block) }
        let result = resultByOverride(block)
        return try result.rethrow { try $0() }
    }

    private func resultByOverride<T>(_ block: () throws -> T) -> Result<Unchecked<T>, any Error> {
        var result: Result<Unchecked<T>, any Error>?
        (performAndWait as (() -> Void) -> Void)({ result = Result { try Unchecked(block()) } })
        guard let result else { preconditionFailure("\(type(of: self)).performAndWait(_:) returned without running its block") }
        return result
    }

    func performAndWaitImplementation<T>(_ block: () throws -> T) rethrows -> T {
        let isNested = queue.isCurrent
        return try queue.sync { try run(announcing: !isNested, block) }
    }

    @preconcurrency
    public nonisolated func perform<T>(
        schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () throws -> T
    ) async rethrows -> T {
        let work = Unchecked(block)
        let result: Result<Unchecked<T>, any Error> = await withCheckedContinuation { continuation in
            let run: @Sendable () -> Void = {
                let result = Result { try self.run { try Unchecked(work.value()) } }
                continuation.resume(returning: result)
            }
            if schedule == .immediate, queue.isCurrent {
                run()
            } else if isPlain {
                queue.queue.async(execute: run)
            } else {
                perform(run)
            }
        }
        return try result.rethrow { try $0() }
    }

    /// The context whose block this thread runs.
    static let current = ThreadValue<NSManagedObjectContext>()

    /// Tells of what changed, and closes the group of changes that can be undone.
    func endEvent() {
        processPendingChanges()
        undoManager?.endEvent()
    }

    private func run<T>(announcing: Bool = true, _ block: () throws -> T) rethrows -> T {
        defer { if announcing { endEvent() } }
        return try queue.running { try Self.current.with(self, block) }
    }
}
