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
}
