// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Logging
import Synchronization
import Testing

@testable import TarnCommands

/// The removal of expired data by a server.
@Suite struct HousekeepingTests {
    private final class Names: Sendable {
        let all = Mutex<[String]>([])

        func add(_ name: String) { all.withLock { $0.append(name) } }
    }

    @Test func aStepThatFailsDoesNotKeepTheRest() async {
        let names = Names()
        await Housekeeping.run(
            [
                Housekeeping.Step(name: "first") { throw StorageFailure(.busy, "the database is busy") },
                Housekeeping.Step(name: "second") { names.add("second") },
                Housekeeping.Step(name: "third") { names.add("third") },
            ], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        #expect(names.all.withLock { $0 } == ["second", "third"])
    }

    /// A server that stops, or cannot start, reports no faults of its housekeeping.
    @Test func stepsOfAServerThatStopsAreLeftOut() async {
        let names = Names()
        let task = Task {
            await Housekeeping.run(
                [
                    Housekeeping.Step(name: "first") {
                        withUnsafeCurrentTask { $0?.cancel() }
                        throw CancellationError()
                    },
                    Housekeeping.Step(name: "second") { names.add("second") },
                ], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        await task.value
        #expect(names.all.withLock { $0 }.isEmpty)
    }
}
