// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import EngineFixtures
    import Foundation
    import StorageFixtures
    import TemporaryPostgres
    import TestBasics
    import Testing

    /// Formats before 7 did not count short elements of lists and others: the deletion of a record would subtract more than its save added.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresSizeTests {
        /// Bytes of ``words`` that former servers did not count.
        private static let lacking: Int64 = 8 * 4000 - 4096
        private static let words = FieldValue.list(Array(repeating: .string(""), count: 4000), of: .string)

        private let place: ServerPlace

        init() throws { place = try ServerPlace(.postgres) }

        /// Saves records, more than one page of a scan has.
        private func fill(_ bench: Bench, _ call: Call? = nil) async throws {
            try await bench.makeZone(Bench.garden, call)
            for start in [0, 150] {
                try await bench.modify(
                    (start..<start + 150).map { .init(.create, .plant("p\($0)", ["n": .int64(Int64($0))])) }, as: call)
            }
            try await bench.modify(.init(.create, .plant("w", ["words": Self.words])), as: call)
        }

        /// Makes the database one of format 7 that was format 6 when its records were saved.
        private func makeFormer() throws {
            let statements = ["zones", "partitions"].map {
                "UPDATE \($0) SET record_bytes = record_bytes - \(Self.lacking) WHERE record_bytes > 0"
            }
            _ = try place.sql(
                (statements + ["UPDATE partitions SET sized = 0", "UPDATE meta SET value = '7' WHERE key = 'format'"])
                    .joined(separator: ";\n"))
        }

        private func endDay() throws {
            let time = "(convert_from(value, 'UTF8')::bigint - 86400000)::text"
            _ = try place.sql("UPDATE meta SET value = convert_to(\(time), 'UTF8') WHERE key = 'format.time'")
        }

        private func isCounting() throws -> Bool {
            try place.sql("SELECT count(*) FROM meta WHERE key = 'sizes.uncounted'").trimmingCharacters(in: .whitespacesAndNewlines) == "1"
        }

        private struct Usage: Equatable, Sendable {
            var partition: Int64
            var zone: Int64?
        }

        private func usage(_ bench: Bench, _ call: Call? = nil) async throws -> Usage {
            try await bench.read(call) { _, view, _ in
                Usage(partition: try view.state().usage.records, zone: try view.zone(named: Bench.garden.zoneName)?.usage.records)
            }
        }

        /// The usage is that of the stored records.
        private func expectComplete(_ bench: Bench) async throws {
            let counted = try await usage(bench)
            let measured = try await bench.read { _, view, _ in
                let zone = try #require(try view.zone(named: Bench.garden.zoneName))
                let records = try view.records(ChangeSlice(after: 0), in: zone.key, includingDeleted: false, limit: 1000, bytesMax: .max)
                let bytes = records.reduce(0 as Int64) { $0 + Int64(RecordSize.bytes(of: $1.record)) }
                return Usage(partition: bytes, zone: bytes)
            }
            #expect(counted == measured)
        }

        /// Servers of the former format may run for a day. The count includes records that are saved on that day.
        @Test func sizesOfFormerFormatsAreCountedAfterADay() async throws {
            let former = try Bench(place: place)
            try await fill(former)
            let stored = try await usage(former)
            try former.store.close()
            try makeFormer()
            let bench = try Bench(place: place)
            try await bench.store.removeExpired(now: 0)
            #expect(try await usage(bench).partition == stored.partition - Self.lacking)
            try await bench.modify(
                .init(.forceUpdate, .plant("p1", ["text": .string("a longer value")])), .init(.forceDelete, .plant("p2")),
                .init(.create, .plant("v", ["words": Self.words])))
            #expect(try isCounting())
            try endDay()
            try await bench.store.removeExpired(now: 0)
            try await expectComplete(bench)
            #expect(try !isCounting())
            try await bench.store.removeExpired(now: 0)
            try await expectComplete(bench)
            try await bench.deleteZone(Bench.garden)
            #expect(try await usage(bench).partition == 0)
            try bench.store.close()
        }

        /// A process ended between two partitions, or another one counted the first: it is not counted again.
        @Test func anInterruptedCountContinues() async throws {
            let former = try Bench(place: place)
            let bo = former.call(user: "_bo")
            try await fill(former)
            try await fill(former, bo)
            let stored = try await usage(former)
            try former.store.close()
            try makeFormer()
            let bench = try Bench(place: place)
            try endDay()
            _ = try place.sql("UPDATE partitions SET sized = 1 WHERE owner = '_mia'")
            try await bench.store.removeExpired(now: 0)
            #expect(try await usage(bench).partition == stored.partition - Self.lacking)
            #expect(try await usage(bench, bo) == stored)
            #expect(try !isCounting())
            try bench.store.close()
        }

        @Test func processesCountAndSaveConcurrently() async throws {
            let former = try Bench(place: place)
            try await fill(former)
            try former.store.close()
            try makeFormer()
            let benches = [try Bench(place: place), try Bench(place: place)]
            try endDay()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for bench in benches {
                    group.addTask { try await bench.store.removeExpired(now: 0) }
                    group.addTask {
                        for number in 0..<30 {
                            let name = FieldValue.string(String(repeating: "x", count: number))
                            try await bench.modify(.init(.forceUpdate, .plant("p\(number)", ["text": name])))
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await expectComplete(benches[0])
            #expect(try !isCounting())
            for bench in benches { try bench.store.close() }
        }

        @Test func newDatabasesHaveNothingToCount() async throws {
            let bench = try Bench(place: place)
            try await fill(bench)
            #expect(try !isCounting())
            #expect(try place.sql("SELECT DISTINCT sized FROM partitions").trimmingCharacters(in: .whitespacesAndNewlines) == "1")
            try bench.store.close()
        }
    }
#endif
