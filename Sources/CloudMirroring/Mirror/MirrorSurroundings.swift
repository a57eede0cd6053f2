// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudKit
package import CloudWire
import Foundation
import MirroringCore
import Synchronization

/// What a mirror takes from outside: time, waiting, randomness, names. Tests bring their own.
package struct MirrorSurroundings: Sendable {
    package var now: @Sendable () -> Date
    /// Waits so many seconds; throws `CancellationError` when the task is cancelled.
    package var sleep: @Sendable (Double) async throws -> Void
    /// A number from 0 to 1.
    package var random: @Sendable () -> Double
    /// A name for a new record, and a key for a request that must not be carried out twice.
    package var makeName: @Sendable () -> String

    /// The client of a container's database, or an error that says what is not configured.
    package var connect: @Sendable (String, CKDatabase.Scope) throws -> CloudDatabaseClient = { try CKContainer(identifier: $0).syncingClient(for: $1) }
    /// Where the mirror's tasks run, its work on the file included; nil is wherever there is room. A simulation has one
    /// thread for everything, on which what happens next is its own decision; nobody else writes its files.
    package var executor: (any TaskExecutor)?
    /// What a server takes at once.
    package var limits = Limits()
    /// Bytes of change pages that an import keeps in memory; more are staged in the store's file until the last page has arrived.
    package var stagingBytesMax = 4_000_000
    /// Requests that may carry one batch where the server executes them in one transaction: a save of up to as many requests arrives whole.
    package var requestsPerBatch = 50
    /// A container, for what has to do with people and shares.
    package var container: @Sendable (String) -> CKContainer = { CKContainer(identifier: $0) }
    /// Where a schema is printed to.
    package var print: @Sendable (String) -> Void = { Swift.print($0) }

    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Double) async throws -> Void,
        random: @escaping @Sendable () -> Double, makeName: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
        self.makeName = makeName
    }

    package static var live: MirrorSurroundings {
        MirrorSurroundings(
            now: { Date() }, sleep: { try await Task.sleep(for: .clamped(seconds: $0)) }, random: { Double.random(in: 0...1) },
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
