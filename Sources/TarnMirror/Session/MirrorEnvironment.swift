// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import Foundation
import MirroringCore
import Synchronization

/// The dependencies of a mirror: clock, delays, randomness, names. Tests inject their own.
package struct MirrorEnvironment: Sendable {
    /// Moments between two writes. Tests end a mirror there, as a crash would.
    package enum Step: Hashable, Sendable, CaseIterable {
        /// The journal of an import is written, its rows are not.
        case journalWritten
        /// The rows of an import are saved, their metadata are in the journal.
        case rowsSaved
        /// A request is stored, and not sent.
        case requestStored
        /// The server's response to a request has arrived, and is not stored.
        case responseReceived
        /// A launch begins, and requests of an earlier one are not marked as in doubt.
        case launchBegun
    }

    package var now: @Sendable () -> Date
    /// Waits for a time; throws `CancellationError` when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Returns a number from 0 to 1.
    package var random: @Sendable () -> Double
    /// Returns a name for a new record, or an idempotency key for a request.
    package var makeName: @Sendable () -> String
    /// Called at each step. An error that it throws ends the operation there.
    package var reached: @Sendable (Step) throws -> Void = { _ in }
    /// Bytes of assets that an import holds in memory before it applies pages. One record may have more.
    package var assetBytesMax = 32_000_000
    /// The limits of the server's requests.
    package var limits = Limits()
    /// Runs the tasks of the mirror, and its work on files; nil for the global pool, with a queue for the files. A simulation has an executor
    /// of one thread, so that a run is repeatable.
    package var executor: (any TaskExecutor)?

    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double, makeName: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
        self.makeName = makeName
    }

    /// The longest delay, about 30 years: `Task.sleep` traps for values that its clock cannot count to.
    private static let sleepMax = Duration.seconds(1_000_000_000)

    static var live: MirrorEnvironment {
        MirrorEnvironment(
            now: { Date() }, sleep: { try await Task.sleep(for: min(max($0, .zero), sleepMax)) }, random: { Double.random(in: 0...1) },
            makeName: { SystemNames.next() })
    }
}

/// Names for the whole process, so that its mirrors do not make the same number in the same millisecond.
private enum SystemNames {
    private static let names = Mutex(TimeOrderedNames())

    static func next() -> String {
        let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1000))
        return names.withLock { $0.next(at: milliseconds, random: .random(in: .min ... .max)) }
    }
}
