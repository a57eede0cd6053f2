// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SimulationKit
import Testing

/// A share of the seeds of `make simulate`, and the planted bugs that it has to find.
@Suite(.timeLimit(.minutes(10))) struct SimulationTests {
    @Test(arguments: UInt64(1)...16) func nothingIsLost(seed: UInt64) throws {
        #expect(try Simulation.run(seed: seed).violations == [], "seed \(seed)")
    }

    /// Seeds that found something, and what.
    private static let lessons: [(seed: UInt64, lesson: String)] = [
        (85, "an answer was lost, and the value won against one that was made in its knowledge: a request is sent again as it was"),
        (24, "a creation came late and brought a deleted object back: a request is sent again with its key"),
        (46, "a deletion passed over an edit that came first, which no log had: deletions carry the change tag"),
        (423, "after eight expired tokens in a row a device stopped for good: it tries again for ever"),
        (455, "full storage made a device forget what it had sent unanswered"),
        (568, "what is saved before a new account is noticed goes to the copy"),
    ]

    @Test(arguments: lessons) func whatWasLearntStaysLearnt(seed: UInt64, lesson: String) throws {
        #expect(try Simulation.run(seed: seed).violations == [], "seed \(seed): \(lesson)")
    }

    @Test func aSeedIsTheSameRunEachTime() throws {
        let first = try Simulation.run(seed: 3, keepsTrace: true), second = try Simulation.run(seed: 3, keepsTrace: true)
        #expect(first.digest == second.digest && first.trace == second.trace && first.events > 50)
    }

    @Test(arguments: Simulation.Canary.allCases) func aPlantedBugIsFound(canary: Simulation.Canary) throws {
        let found = try (1...20).contains { try !Simulation.run(seed: $0, canary: canary).violations.isEmpty }
        #expect(found, "no seed found \(canary)")
    }
}
