// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import SimulationKit
    import TemporaryPostgres
    import TestBasics
    import Testing

    /// The simulator with a server on PostgreSQL. Other faults than crashes of the server's disk are as on SQLite.
    @Suite(.enabled(if: TemporaryPostgres.shared != nil, Comment(rawValue: TemporaryPostgres.absence)), .timeLimit(.minutes(10)))
    struct PostgresSimulationTests {
        @Test(
            arguments: [
                (1, []), (2, [.assets]), (17, [.sharing]), (16, [.restores]), (3, [.restores, .sharing]), (5, [.publicFeed]),
                (6, [.publicQueries]), (9, [.extensions, .wholeSaves]), (64, [.mirror]),
            ] as [(UInt64, Set<Feature>)])
        func noAcknowledgedChangeIsLost(seed: UInt64, features: Set<Feature>) throws {
            #expect(try Simulation.run(seed: seed, features: features, storage: .postgres).violations == [], "seed \(seed)")
        }

        /// Response times of the database have no effect. Accounts have random numbers, so the digests of requests differ.
        @Test func aSeedReproducesItsRun() throws {
            let runs = try (1...2).map { _ in
                try Simulation.run(seed: 4, features: [.restores], storage: .postgres, keepsTrace: true).trace
                    .map { $0.replacing(/\ [0-9A-F]{16}$/, with: "") }
            }
            let common = zip(runs[0], runs[1]).prefix { $0 == $1 }.count
            #expect(runs[0].count > 50)
            #expect(runs[0] == runs[1], "different from line \(common)")
        }

        /// Defects of the server, and one of a device. A server without a new history has devices that are never idle, which takes a minute.
        private static let canaries: [Simulation.Canary] = [.endsPagesEarly, .forgetsPending] + (SeedPart.isWhole ? [.keepsHistory] : [])

        @Test(arguments: canaries) func aPlantedBugIsDetected(canary: Simulation.Canary) throws {
            let found = try (1...40).contains { try !Simulation.run(seed: $0, canary: canary, storage: .postgres).violations.isEmpty }
            #expect(found, "no seed found \(canary)")
        }
    }
#endif
