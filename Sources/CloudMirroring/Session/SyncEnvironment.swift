// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudKit
package import CloudWire
import Foundation
import MirroringCore
import Synchronization

/// The dependencies of a container's sync: clock, delays, randomness, names, connections. Tests and simulations inject their own.
package struct SyncEnvironment: Sendable {
    package var now: @Sendable () -> Date
    /// Waits for a time; throws `CancellationError` when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Returns a number from 0 to 1.
    package var random: @Sendable () -> Double
    /// Returns a name for a new record, or an idempotency key for a request.
    package var makeName: @Sendable () -> String

    /// Returns the client of a container's database; throws an error that names missing configuration.
    package var connect: @Sendable (String, CKDatabase.Scope) throws -> CloudDatabaseClient = {
        try CKContainer(identifier: $0).syncingClient(for: $1)
    }
    /// Runs the tasks of sync; nil for the global pool.
    package var executor: (any TaskExecutor)?
    /// Whether a run is repeatable: ``executor`` has one thread, and work on the file runs inline on it. Process-wide notifications and
    /// changes of the file by other processes are ignored then, since a simulation injects its own.
    package var isDeterministic = false
    /// The limits of the server's requests.
    package var limits = Limits()
    /// The largest size in bytes of the change pages that an import keeps in memory; more are staged until the last page has arrived.
    package var stagingBytesMax = 4_000_000
    /// Requests that may carry one batch, where the server executes them in one transaction: a save of up to as many requests arrives
    /// whole.
    package var requestsPerBatch = 50
    /// Returns a container, for users and shares.
    package var container: @Sendable (String) -> CKContainer = { CKContainer(identifier: $0) }
    /// Prints a schema.
    package var print: @Sendable (String) -> Void = { Swift.print($0) }

    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double, makeName: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
        self.makeName = makeName
    }

    /// The clock and delays as a client of the server has them.
    var pace: ClientClock {
        var pace = ClientClock(now: { [now] in .seconds(now().timeIntervalSinceReferenceDate) }, sleep: sleep)
        pace.jitter = random
        return pace
    }

    /// The longest delay, about 30 years: `Task.sleep` traps for values that its clock cannot count to.
    private static let sleepMax = Duration.seconds(1_000_000_000)

    package static var live: SyncEnvironment {
        SyncEnvironment(
            now: { Date() }, sleep: { try await Task.sleep(for: min(max($0, .zero), sleepMax)) }, random: { Double.random(in: 0...1) },
            makeName: { SystemNames.next() })
    }
}

/// Names for the whole process, so that its stores do not make the same number in the same millisecond.
private enum SystemNames {
    private static let names = Mutex(TimeOrderedNames())

    static func next() -> String {
        let milliseconds = UInt64(max(0, Date().timeIntervalSince1970 * 1000))
        return names.withLock { $0.next(at: milliseconds, random: .random(in: .min ... .max)) }
    }
}
