// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import ServiceFixtures
    import StorageFixtures
    import TemporaryPostgres
    import Testing

    /// The rate limit of two processes on one database.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }) struct SharedBudgetTests {
        /// Requests that are accepted of a number of requests.
        private static func accepted(_ user: Village.Villager, of count: Int) async -> Int {
            var accepted = 0
            for _ in 0..<count where await user.send(.private, .listZones).status == 200 { accepted += 1 }
            return accepted
        }

        @Test func requestsAtOneProcessCountAtAnother() async throws {
            var limits = Limits()
            limits.requestsPerMinute = 60
            let place = try ServerPlace(.postgres)
            let (first, second) = (try Village(limits: limits, place: place), try Village(limits: limits, place: place))
            let mia = try await first.villager("mia")
            let there = Village.Villager(village: second, account: mia.account, token: mia.token, name: mia.name)
            for village in [first, second] { try await village.service.budgets.exchange() }
            // Both know the sender from now on.
            #expect(await Self.accepted(there, of: 1) == 1)
            try await second.service.budgets.exchange()
            #expect(await Self.accepted(mia, of: 30) == 30)
            try await first.service.budgets.exchange()
            #expect(await Self.accepted(there, of: 10) == 10)
            try await second.service.budgets.exchange()
            let rest = await Self.accepted(there, of: 60)
            #expect(rest < 60 - 30 - 10)
            #expect(rest > 10)
            try await second.service.budgets.exchange()
            // The first process learns with its next requests.
            _ = await Self.accepted(mia, of: 1)
            try await first.service.budgets.exchange()
            #expect(await Self.accepted(mia, of: 10) == 0)
        }
    }
#endif
