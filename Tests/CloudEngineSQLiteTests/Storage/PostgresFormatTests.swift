// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import Foundation
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// The tables of a database, and their formats.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresFormatTests {
        /// Indexes of format 5 that format 6 replaces, and their tables and columns.
        private static let former = [
            "records_change": "records (part, zone, change)",
            "shared_records_change": "shared_records (part, zone, share, change)",
            "record_parents_parent": "record_parents (part, zone, parent)",
            "record_versions_replaced": "record_versions (part, zone, replaced)",
            "zones_change": "zones (part, change)",
            "answers_at": "answers (part, at)",
        ]
        private static let present: Set = [
            "records_by_change", "shared_records_by_change", "record_parents_by_parent", "record_versions_by_end", "zones_by_change",
            "answers_by_time",
        ]
        private static let day = 24 * 60 * 60 * 1000
        private static let partition = Partition(
            containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")

        private let folder = TemporaryFolder()
        private let server: TemporaryPostgres

        init() throws { server = try #require(TemporaryPostgres.shared) }

        private func open(_ address: String, _ use: PostgresServerStore.Use = .server) throws -> PostgresServerStore {
            try PostgresServerStore(address: address, assets: folder.path, use: use, connections: 2, passwordRounds: 16)
        }

        /// - Returns: The address of a database of format 5.
        private func makeFormerDatabase() throws -> String {
            let address = try server.makeDatabase(with: PostgresFormat.tables)
            let statements =
                Self.present.sorted().map { "DROP INDEX \($0)" }
                + Self.former.sorted { $0.key < $1.key }.map { "CREATE INDEX \($0.key) ON \($0.value)" }
                + ["INSERT INTO meta (key, value) VALUES ('format', '5')"]
            try server.sql(statements.joined(separator: ";\n"), on: address)
            return address
        }

        /// - Returns: The address of a database of format 6, with a tombstone.
        private func makeDatabaseOfFormat6() async throws -> String {
            let address = try server.makeDatabase()
            let store = try open(address)
            try await store.write(Self.partition) { unit in
                let deleted = Record(recordName: "gone", recordType: "Plant", isDeleted: true)
                try unit.save([StoredRecord(record: deleted, change: try unit.raiseCounter(by: 1))], in: 1, at: 1000)
                try unit.addTombstones(1)
            }
            try store.close()
            try server.sql("ALTER TABLE partitions DROP COLUMN tombstones", on: address)
            try server.sql("UPDATE meta SET value = '6' WHERE key = 'format'", on: address)
            return address
        }

        private func format(_ address: String) throws -> String {
            try server.sql("SELECT convert_from(value, 'UTF8') FROM meta WHERE key = 'format'", on: address)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private func indexes(_ address: String) throws -> Set<String> {
            Set(try server.sql("SELECT indexname FROM pg_indexes", on: address).split(separator: "\n").map(String.init))
        }

        private func setTimeOfFormat(back milliseconds: Int, _ address: String) throws {
            let time = "(convert_from(value, 'UTF8')::bigint - \(milliseconds))::text"
            try server.sql("UPDATE meta SET value = convert_to(\(time), 'UTF8') WHERE key = 'format.time'", on: address)
        }

        /// An index of millions of records takes longer than the minute of a session's statement.
        @Test func statementsThatMakeTablesHaveNoTimeLimit() throws {
            let connection = try PostgresConnection(try server.makeDatabase())
            let answerSeconds = connection.answerSeconds
            try PostgresFormat.prepare(connection, makesTables: true)
            let limit: String? = try connection.value("SELECT current_setting('statement_timeout')")
            #expect(limit == "0")
            #expect(connection.answerSeconds == answerSeconds)
            connection.close()
        }

        @Test func theListOfFormerIndexesIsComplete() {
            #expect(Set(PostgresFormat.formerIndexes) == Set(Self.former.keys))
        }

        /// Two servers of three start with the new version, and a command runs: the third server still uses the indexes.
        @Test func indexesOfTheFormerFormatStayForADay() async throws {
            let address = try makeFormerDatabase()
            let stores = try await withThrowingTaskGroup(of: PostgresServerStore.self) { group in
                for _ in 0..<2 { group.addTask { try open(address) } }
                return try await group.reduce(into: [PostgresServerStore]()) { $0.append($1) }
            }
            try open(address, .command(makesTables: false)).close()
            for store in stores { try await store.removeExpired(now: 0) }
            let all = Self.present.union(Self.former.keys)
            #expect(try all.subtracting(indexes(address)) == [])
            try setTimeOfFormat(back: Self.day - 60_000, address)
            try await stores[0].removeExpired(now: 0)
            #expect(try all.subtracting(indexes(address)) == [])

            try setTimeOfFormat(back: 60_000, address)
            try open(address, .command(makesTables: false)).close()
            #expect(try all.subtracting(indexes(address)) == [])
            for store in stores { try await store.removeExpired(now: 0) }
            #expect(try indexes(address).intersection(Self.former.keys) == [])
            #expect(try Self.present.subtracting(indexes(address)) == [])
            for store in stores { try store.close() }
        }

        @Test func aDatabaseOfFormat6IsUpgradedAndCounted() async throws {
            let address = try await makeDatabaseOfFormat6()
            let store = try open(address)
            #expect(try format(address) == String(PostgresFormat.current))
            #expect(try await store.read(Self.partition) { try $0.state().tombstones } == 0)
            try await store.removeExpired(now: 1000 + 2 * Int64(Self.day))
            #expect(try await store.read(Self.partition) { try $0.state().tombstones } == 1)
            try store.close()
        }

        /// An `ALTER TABLE` that waits for a dump would keep all later readers of the table waiting.
        @Test func aReaderDelaysTheUpgradeAndOtherReadersContinue() async throws {
            let address = try await makeDatabaseOfFormat6()
            let dump = try PostgresConnection(address)
            try dump.send("BEGIN")
            _ = try dump.query("SELECT 1 FROM partitions")
            let (upgrades, upgrade) = AsyncStream<Bool>.makeStream()
            Thread.detachNewThread {
                let store = try? open(address)
                upgrade.yield(store != nil)
                try? store?.close()
                upgrade.finish()
            }
            // Databases of one template have the same numbers of tables.
            let isWaiting = """
                SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'partitions'::regclass
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            try await until {
                try server.sql(isWaiting, on: address).trimmingCharacters(in: .whitespacesAndNewlines) == "1"
            }
            // For as long as the upgrade waits for the lock, this reader is behind it.
            let reader = try PostgresConnection(address)
            try reader.send("SET lock_timeout = '10s'")
            _ = try reader.query("SELECT 1 FROM partitions")
            try reader.synchronize()
            reader.close()
            #expect(try format(address) == "6")
            try dump.commit()
            dump.close()
            var isUpgraded: Bool?
            for await opened in upgrades { isUpgraded = opened }
            #expect(isUpgraded == true)
            #expect(try format(address) == String(PostgresFormat.current))
        }

        /// A dump reads all tables in one transaction. The housekeeping neither waits for its end nor fails.
        @Test func aReaderDelaysTheRemovalOfFormerIndexes() async throws {
            let address = try makeFormerDatabase()
            let store = try open(address)
            try setTimeOfFormat(back: Self.day, address)
            let dump = try PostgresConnection(address)
            try dump.send("BEGIN")
            _ = try dump.query("SELECT 1 FROM records")
            try await store.removeExpired(now: 0)
            #expect(try indexes(address).contains("records_change"))
            try dump.commit()
            dump.close()
            try await store.removeExpired(now: 0)
            #expect(try indexes(address).intersection(Self.former.keys) == [])
            try store.close()
        }
    }
#endif
