// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import Synchronization
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// Units of one partition that share a transaction.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresGroupTests {
        private typealias Unit = PostgresGroup.Unit
        private typealias Refused = PostgresGroup.Refused

        private let group: PostgresGroup
        private let store: PostgresServerStore

        init() async throws {
            group = try await PostgresGroup()
            store = group.store
        }

        @Test func unitsThatWaitShareACommit() async throws {
            let before = store.commits
            let results = try await group.together(
                (0..<20).map { number in Unit { try PostgresGroup.addZone("zone\(number)", $0) } })
            for result in results { try result.get() }
            #expect(store.commits == before + 1)
            #expect(try await group.counter() == 21)
            #expect(try await group.names().count == 20)
            try store.close()
        }

        @Test func noUnitJoinsOnceTheTimeIsOver() async throws {
            let group = try await PostgresGroup(joinSeconds: 0)
            let before = group.store.commits
            let results = try await group.together((0..<3).map { number in Unit { try PostgresGroup.addZone("zone\(number)", $0) } })
            for result in results { try result.get() }
            #expect(group.store.commits == before + 3)
            try group.store.close()
            try store.close()
        }

        /// Units that throw count, too: the first one does not wait for any number of them.
        @Test func aTransactionHasALimitOfUnits() async throws {
            let before = store.commits
            let last = PartitionTransaction.unitsMax
            let results = try await group.together(
                (0...last).map { number in
                    Unit { writer in
                        guard number == 0 || number == last else { throw Refused() }
                        try PostgresGroup.addZone("zone\(number)", writer)
                    }
                })
            try results[0].get()
            try results[last].get()
            for result in results[1..<last] { #expect(throws: Refused.self) { try result.get() } }
            #expect(store.commits == before + 2)
            try store.close()
        }

        /// Maintenance has no limit of time, and a unit that failed a transaction may fail the next one.
        @Test(arguments: [(0, true), (0, false), (1, true), (1, false)])
        func someUnitsShareNoTransaction(_ place: Int, _ isMaintenance: Bool) async throws {
            let before = store.commits
            var units = (0..<3).map { number in Unit { try PostgresGroup.addZone("zone\(number)", $0) } }
            let alone = Unit("b", milliseconds: isMaintenance ? nil : 60_000, isRepeated: !isMaintenance) {
                try PostgresGroup.addZone("alone", $0)
            }
            units.insert(alone, at: place)
            for result in try await group.together(units) { try result.get() }
            // The units on both sides of it, if there are any, and the unit itself.
            #expect(store.commits == before + 2 + place)
            #expect(try await group.names() == ["alone", "zone0", "zone1", "zone2"])
            try store.close()
        }

        /// Each unit reads the changes of the units before it: numbers are not assigned twice.
        @Test func unitsSeeTheUnitsBeforeThem() async throws {
            let seen = Mutex<[[String]]>([])
            let results = try await group.together(
                (0..<3).map { number in
                    Unit { writer in
                        let names = try PostgresGroup.names(in: writer)
                        seen.withLock { $0.append(names) }
                        try PostgresGroup.addZone("zone\(number)", writer)
                    }
                })
            for result in results { try result.get() }
            #expect(seen.withLock { $0 } == [[], ["zone0"], ["zone0", "zone1"]])
            try store.close()
        }

        @Test(arguments: [0, 1, 2]) func aUnitThatThrowsIsUndoneAlone(_ refused: Int) async throws {
            let before = store.commits
            let results = try await group.together(
                (0..<3).map { number in
                    Unit { writer in
                        try PostgresGroup.addZone("zone\(number)", writer)
                        if number == refused { throw Refused() }
                    }
                })
            for (number, result) in results.enumerated() where number != refused { try result.get() }
            #expect(throws: Refused.self) { try results[refused].get() }
            #expect(try await group.names() == ["zone0", "zone1", "zone2"].filter { $0 != "zone\(refused)" })
            #expect(try await group.counter() == 3)
            #expect(store.commits == before + 1)
            try store.close()
        }

        /// A unit sends its limits before its savepoint: they stay in force once it is undone.
        @Test func aUnitBehindOneThatThrewHasItsOwnLimits() async throws {
            let found = Mutex<[String]>([])
            let results = try await group.together(
                [60_000, 40_000, 60_000].map { milliseconds in
                    Unit(milliseconds: milliseconds) { writer in
                        let unit = try #require(writer as? PostgresUnit)
                        let rows = try unit.rows("SELECT current_setting('statement_timeout')", [], from: .meta)
                        found.withLock { $0 += rows.map { $0[0] } }
                        if milliseconds == 40_000 { throw Refused() }
                    }
                })
            #expect(throws: Refused.self) { try results[1].get() }
            #expect(found.withLock { $0 } == ["1min", "40s", "1min"])
            try store.close()
        }

        /// The database gives a transaction up when a statement fails: the others run again, alone.
        @Test(arguments: [0, 1, 2]) func aStatementThatFailsFailsItsUnitAlone(_ failing: Int) async throws {
            let results = try await group.together(
                (0..<3).map { number in
                    Unit { writer in
                        try PostgresGroup.addZone("zone\(number)", writer)
                        if number == failing { try (writer as? PostgresUnit)?.run("SELECT 1 / $1::bigint", [0], changing: .meta) }
                    }
                })
            for (number, result) in results.enumerated() where number != failing { try result.get() }
            #expect(throws: StorageFailure.self) { try results[failing].get() }
            #expect(try await group.names() == ["zone0", "zone1", "zone2"].filter { $0 != "zone\(failing)" })
            #expect(try await group.counter() == 3)
            try store.close()
        }

        /// One requester's waiting units let that of another one pass.
        @Test func anotherRequestersUnitDoesNotWaitForAllOfOne() async throws {
            let order = Mutex<[String]>([])
            let units = Array(repeating: "a", count: 10) + ["b"]
            let results = try await group.together(
                units.map { requester in Unit(requester) { _ in order.withLock { $0.append(requester) } } })
            for result in results { try result.get() }
            let place = try #require(order.withLock { $0.firstIndex(of: "b") })
            #expect(place <= 2)
            try store.close()
        }

        /// Also within a transaction: a requester is charged for the processor time of each unit when it ends.
        @Test func theRequesterWithTheLeastTimeIsNext() async throws {
            let order = Mutex<[String]>([])
            let results = try await group.together(
                ["a0", "a1", "b0", "b1", "b2"].map { name in
                    Unit(String(name.prefix(1))) { _ in
                        order.withLock { $0.append(name) }
                        guard name == "a0" else { return }
                        // More than a slice of the queue.
                        let end = PostgresPool.threadTime + 60_000_000
                        while PostgresPool.threadTime < end {}
                    }
                })
            for result in results { try result.get() }
            #expect(order.withLock { $0 } == ["a0", "b0", "b1", "b2", "a1"])
            try store.close()
        }

        /// A unit of another account is refused if the account is gone, and with it nothing else.
        @Test func aUnitOfARemovedAccountFailsAlone() async throws {
            let results = try await group.together([
                Unit { try PostgresGroup.addZone("first", $0) },
                Unit(WorkTerms.accountPrefix + "4711") { try PostgresGroup.addZone("second", $0) },
                Unit { try PostgresGroup.addZone("third", $0) },
            ])
            try results[0].get()
            #expect(throws: WireError.self) { try results[1].get() }
            try results[2].get()
            #expect(try await group.names() == ["first", "third"])
            try store.close()
        }

        /// The tokens of a unit behind an erasure are of the new epoch, although both share a transaction.
        @Test func anErasureIsSeenByTheUnitBehindIt() async throws {
            let epoch = try await store.read(PostgresGroup.mia) { try $0.state().epoch }
            let found = Mutex<[PartitionState]>([])
            let results = try await group.together([
                Unit { try PostgresGroup.addZone("first", $0) },
                Unit { try ($0 as? PostgresUnit)?.erase() },
                Unit { writer in
                    let state = try writer.state()
                    found.withLock { $0.append(state) }
                    try PostgresGroup.addZone("third", writer)
                },
            ])
            for result in results { try result.get() }
            #expect(found.withLock { $0.map(\.epoch) } == [epoch + 1])
            #expect(try await store.read(PostgresGroup.mia) { try $0.state().epoch } == epoch + 1)
            #expect(try await group.names() == ["third"])
            try store.close()
        }

        /// They are executed again on another connection.
        @Test func aLostConnectionLosesAllUnitsOfItsTransaction() async throws {
            let isLost = Atomic(false)
            let results = try await group.together(
                (0..<3).map { number in
                    Unit { writer in
                        try PostgresGroup.addZone("zone\(number)", writer)
                        // The session ends itself, once: the next attempt has another one.
                        guard number == 2, !isLost.exchange(true, ordering: .relaxed) else { return }
                        let unit = try #require(writer as? PostgresUnit)
                        _ = try unit.rows("SELECT pg_terminate_backend(pg_backend_pid())::text", [], from: .meta)
                    }
                })
            for result in results { try result.get() }
            #expect(try await group.counter() == 4)
            try store.close()
        }
    }
#endif
