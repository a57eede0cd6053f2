// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore

extension NSManagedObjectContext {
    /// When ``perform(schedule:_:)`` runs its block.
    public enum ScheduledTaskType: Sendable {
        /// In place if the caller is on the context's queue, else enqueued.
        case immediate
        /// After the blocks that the queue already holds.
        case enqueued
    }

    func performImplementation(_ block: @escaping @Sendable () -> Void) {
        queue.queue.async { self.run(block) }
    }

    /// Runs a block on the context's queue before it returns; in place if the caller is on the queue, also through
    /// `performAndWait` of other contexts. Calls the overridable form without a result, so a subclass's override runs.
    ///
    /// - Throws: The errors of the block.
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

    /// Runs a block on the context's queue and returns its result. Changes are announced when the block ends.
    ///
    /// - Parameter schedule: Whether a caller on the queue runs the block in place.
    /// - Throws: The errors of the block.
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

    /// The context of the block that this thread runs.
    static let current = ThreadValue<NSManagedObjectContext>()

    /// Posts the event's changes and closes its undo group.
    func endEvent() {
        processPendingChanges()
        undoManager?.endEvent()
    }

    private func run<T>(announcing: Bool = true, _ block: () throws -> T) rethrows -> T {
        defer { if announcing { endEvent() } }
        return try queue.running { try Self.current.with(self, block) }
    }
}
