// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import EngineFixtures
    import StorageFixtures
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// The rows that a request reads do not depend on the size of its zone, also while tables have no statistics.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresPlanTests {
        /// A request on a zone with records `p0`, `p1`, ….
        enum Request: String, CaseIterable {
            case create, update, delete, lookup, newestChanges, firstChanges, query, countOfChanges
            case sharedChanges, countOfSharedChanges, sharesOfRecords, children, linksToAssets

            fileprivate func run(_ bench: Bench, newest token: String?) async throws {
                switch self {
                case .create: try await bench.modify(.init(.create, .plant("new", ["height": .int64(1)])))
                case .update: try await bench.modify(.init(.forceUpdate, .plant("p3", ["height": .int64(-1)])))
                case .delete: try await bench.modify(.init(.forceDelete, .plant("p5")))
                case .lookup: _ = try await bench.lookup("p1", "p2", "absent")
                case .newestChanges: _ = try await bench.zoneChanges(since: token)
                case .firstChanges: _ = try await bench.zoneChanges(limit: 5)
                case .query:
                    _ = try await bench.query(
                        QueryRecordsRequest(
                            query: .plants(QueryFilter(.field("height"), .equals, .int64(7))), zoneID: Bench.garden, resultsLimit: 5))
                case .countOfChanges:
                    try await read(bench) { _ = try $0.count(Self.all, in: $1, shares: nil, includingDeleted: true, atMost: 5) }
                case .sharedChanges:
                    try await read(bench) {
                        _ = try $0.sharedRecords(Self.all, in: $1, shares: ["mine"], includingDeleted: true, limit: 5, bytesMax: 1 << 20)
                    }
                case .countOfSharedChanges:
                    try await read(bench) { _ = try $0.count(Self.all, in: $1, shares: ["mine"], includingDeleted: true, atMost: 5) }
                case .sharesOfRecords: try await read(bench) { _ = try $0.shareNames(ofRecords: ["p1", "p2"], in: $1) }
                case .children: try await read(bench) { _ = try $0.children(of: "p1", in: $1) }
                case .linksToAssets: try await read(bench) { _ = try ($0 as? PostgresUnit)?.links(toAssets: ["sum1", "sum2"], in: $1) }
                }
            }

            private static let all = ChangeSlice(after: 0)

            private func read(_ bench: Bench, _ body: @escaping @Sendable (any PartitionReader, _ zone: Int64) throws -> Void) async throws
            {
                try await bench.read { _, reader, _ in
                    let zone = try #require(try reader.zone(named: Bench.garden.zoneName))
                    try body(reader, zone.key)
                }
            }
        }

        private static func fill(_ bench: Bench, _ numbers: Range<Int>) async throws {
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 100) {
                try await bench.modify(
                    (start..<min(start + 100, numbers.upperBound)).map {
                        .init(.create, .plant("p\($0)", ["height": .int64(Int64($0))]))
                    })
            }
            try await bench.write { _, unit, _ in
                let zone = try #require(try unit.zone(named: Bench.garden.zoneName)).key
                for number in numbers {
                    let name = "p\(number)"
                    try unit.place(
                        name, inShare: number < 3 ? "mine" : "other", hasLeft: false, change: Int64(number) + 10, in: zone)
                    try unit.setParent(number < 3 ? "p1" : "p2", of: name, in: zone)
                    _ = try unit.addLinks(["sum\(number)": 1], in: zone, at: 1)
                }
            }
        }

        /// Rows and index entries that were read so far. A session reports its reads when it ends, before it leaves the list of activities.
        private static func readCount(_ place: ServerPlace) async throws -> Int {
            let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            try await until { try Int(place.sql(others)) == 0 }
            let counts = """
                SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
                """
            return Int(try place.sql(counts)) ?? 0
        }

        /// - Returns: A place with tables that never have statistics.
        private static func makePlace() throws -> ServerPlace {
            let place = try ServerPlace(.postgres)
            for table in PostgresFormat.names { _ = try place.sql("ALTER TABLE \(table) SET (autovacuum_enabled = false)") }
            return place
        }

        /// Rows and index entries that a request reads.
        private static func reads(_ request: Request, in place: ServerPlace) async throws -> Int {
            let filled = try Bench(place: place)
            var token: String?
            while true {
                let page = try #require(try await filled.zoneChanges(since: token).changes)
                token = page.syncToken
                if !page.moreComing { break }
            }
            try filled.store.close()
            let before = try await readCount(place)
            let bench = try Bench(place: place)
            try await request.run(bench, newest: token)
            try bench.store.close()
            return try await readCount(place) - before
        }

        @Test(arguments: Request.allCases, ["auto", "force_generic_plan"])
        func aRequestReadsAsMuchInALargeZone(_ request: Request, _ planCacheMode: String) async throws {
            let place = try Self.makePlace()
            let database = try #require(try place.sql("SELECT current_database()").split(separator: "\n").first)
            _ = try place.sql("ALTER DATABASE \(database) SET plan_cache_mode = \(planCacheMode)")
            let bench = try Bench(place: place)
            try await bench.makeZone(Bench.garden)
            try await bench.indexSystemFields()
            try await Self.fill(bench, 0..<40)
            try bench.store.close()
            let small = try await Self.reads(request, in: place)

            let again = try Bench(place: place)
            try await again.modify(.init(.forceDelete, .plant("new")))
            try await Self.fill(again, 40..<1040)
            try again.store.close()
            let large = try await Self.reads(request, in: place)
            #expect(small > 0)
            #expect(large <= small + 60, "\(small) with 40 records, \(large) with 1,040")
        }

        /// Seven of the records pass the limit of bytes of a page.
        @Test(arguments: [false, true]) func pagesOfLargeRecordsReadFewMore(_ isNewestFirst: Bool) async throws {
            let place = try Self.makePlace()
            let bench = try Bench(place: place)
            try await bench.makeZone(Bench.garden)
            let count = 100
            try await bench.write { _, unit, call in
                let zone = try #require(try unit.zone(named: Bench.garden.zoneName)).key
                let first = try unit.raiseCounter(by: count) - Int64(count) + 1
                let text = String(repeating: "x", count: RecordRows.pageBytes / 7 + 1)
                let records = (0..<count).map { number in
                    StoredRecord(record: .plant("p\(number)", ["name": .string(text)]), change: first + Int64(number))
                }
                try unit.save(records, in: zone, at: call.now)
            }
            try bench.store.close()
            let before = try await Self.readCount(place)
            let reader = try Bench(place: place)
            let changes = try await reader.read { _, view, _ -> [Int64] in
                let zone = try #require(try view.zone(named: Bench.garden.zoneName)).key
                var changes: [Int64] = []
                try view.recordTexts(ChangeSlice(after: 0, isNewestFirst: isNewestFirst), in: zone, includingDeleted: true) { _, change in
                    changes.append(change)
                    return true
                }
                return changes
            }
            try reader.store.close()
            let reads = try await Self.readCount(place) - before
            #expect(changes.count == count)
            #expect(changes == (isNewestFirst ? changes.sorted(by: >) : changes.sorted()))
            // The first page has room for all, each later one for 14.
            #expect(reads <= 5 * count, "\(reads) for \(count) records")
        }
    }
#endif
