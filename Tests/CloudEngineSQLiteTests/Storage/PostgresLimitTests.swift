// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudStorageSupport
    import CloudWire
    import Foundation
    import Synchronization
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// Time limits inside the database.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresLimitTests {
        private static let mia = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")

        private final class Slow: Sendable {
            private let found = Mutex<[SlowStatement]>([])

            var all: [SlowStatement] { found.withLock { $0 } }

            func add(_ statement: SlowStatement) { found.withLock { $0.append(statement) } }
        }

        private let folder = TemporaryFolder()
        private let address: String
        private let slow: Slow
        private let store: PostgresServerStore

        init() async throws {
            let (address, slow) = (try #require(TemporaryPostgres.shared).makeDatabase(), Slow())
            (self.address, self.slow) = (address, slow)
            store = try PostgresServerStore(
                address: address, assets: folder.path, connections: 2, passwordRounds: 16, onSlowStatement: { slow.add($0) })
            try await store.write(Self.mia) { _ = try $0.raiseCounter(by: 1) }
        }

        private func terms(_ milliseconds: Int) -> WorkTerms { WorkTerms(requester: "a", milliseconds: milliseconds) }

        private func sleep(_ seconds: String, _ terms: WorkTerms) async throws {
            try await store.read(Self.mia, terms) { view in
                _ = try (view as? PostgresUnit)?.rows("SELECT pg_sleep(\(seconds))::text", [], from: .meta)
            }
        }

        /// Returns once so many sessions sleep. The database fails the statement after a minute.
        private func waits(_ sleepers: Int) async throws {
            try await DiskQueue.run { [address] in
                let connection = try PostgresConnection(address)
                defer { connection.close() }
                try connection.send(
                    """
                    DO $$ BEGIN
                        WHILE (
                            SELECT count(*) FROM pg_stat_activity
                            WHERE wait_event = 'PgSleep' AND datname = current_database() AND pid <> pg_backend_pid()
                        ) <> \(sleepers) LOOP
                            PERFORM pg_sleep(0.02);
                            PERFORM pg_stat_clear_snapshot();
                        END LOOP;
                    END $$
                    """)
            }
        }

        @Test func limitsFollowFromTheBudget() {
            let limits = UnitLimits(terms(5000))
            #expect(limits.statement == 5000)
            #expect(limits.lock == 2500)
            #expect(limits.unit == 10_000)
            #expect(limits.idle == 11_000)
            #expect(UnitLimits(terms(600_000)).statement == 60_000)
            #expect(UnitLimits(terms(600_000)).idle == 60_000)
            #expect(UnitLimits(terms(0)).lock == 1)
            #expect(UnitLimits(.maintenance) == .session)
        }

        @Test func aStuckStatementEndsAndItsConnectionContinues() async throws {
            await #expect(throws: StorageFailure.slow) { try await sleep("30", terms(300)) }
            try await sleep("0", terms(300))
            try await waits(0)
            try store.close()
        }

        @Test func manyStatementsTogetherHaveALimit() async throws {
            await #expect(throws: StorageFailure.slow) {
                try await store.read(Self.mia, terms(300)) { view in
                    for _ in 0..<100 { _ = try (view as? PostgresUnit)?.rows("SELECT pg_sleep(0.1)::text", [], from: .meta) }
                }
            }
            try store.close()
        }

        @Test func aWriteDoesNotWaitLongForALock() async throws {
            let other = try PostgresConnection(address)
            try other.send("BEGIN")
            _ = try other.query("SELECT part FROM partitions FOR UPDATE")
            await #expect(throws: StorageFailure.slow) {
                try await store.write(Self.mia, terms(400)) { _ = try $0.raiseCounter(by: 1) }
            }
            try other.commit()
            other.close()
            try await store.write(Self.mia, terms(400)) { _ = try $0.raiseCounter(by: 1) }
            #expect(try await store.read(Self.mia) { try $0.state().counter } == 2)
            try store.close()
        }

        /// Two requesters may have four of eight connections each.
        @Test func lastConnectionsRunOneJobOfEachRequester() async throws {
            let store = try PostgresServerStore(address: address, assets: folder.path, connections: 8, passwordRounds: 16)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for requester in ["a", "b"] {
                    for _ in 0..<6 {
                        group.addTask {
                            _ = try? await store.read(Self.mia, WorkTerms(requester: requester, milliseconds: 60_000)) { view in
                                _ = try (view as? PostgresUnit)?.rows("SELECT pg_sleep(30)::text", [], from: .meta)
                            }
                        }
                    }
                }
                try await waits(6)
                let counter = try await store.read(Self.mia, WorkTerms(requester: "c", milliseconds: 1000)) { try $0.state().counter }
                #expect(counter == 1)
                try await waits(6)
                group.cancelAll()
            }
            try store.close()
        }

        /// The write of a requester with long reads is the first of a database's line.
        @Test func aWriteBehindThatOfABusyRequesterDoesNotWaitForItsReads() async throws {
            let store = try PostgresServerStore(address: address, assets: folder.path, connections: 8, passwordRounds: 16)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for requester in ["a", "b"] {
                    for _ in 0..<3 {
                        group.addTask {
                            _ = try? await store.read(Self.mia, WorkTerms(requester: requester, milliseconds: 60_000)) { view in
                                _ = try (view as? PostgresUnit)?.rows("SELECT pg_sleep(40)::text", [], from: .meta)
                            }
                        }
                    }
                }
                try await waits(6)
                group.addTask {
                    _ = try await store.write(Self.mia, WorkTerms(requester: "a", milliseconds: 60_000)) { try $0.raiseCounter(by: 1) }
                }
                try await until { store.pool.writesCount(of: Self.mia) == 1 }
                _ = try await store.write(Self.mia, WorkTerms(requester: "c", milliseconds: 60_000)) { try $0.raiseCounter(by: 1) }
                // None of the reads has ended: there would be fewer.
                try await waits(6)
                #expect(try await counter(store) == 3)
                group.cancelAll()
            }
            try store.close()
        }

        private func counter(_ store: PostgresServerStore) async throws -> Int64 {
            try await store.read(Self.mia, WorkTerms(requester: "d", milliseconds: 60_000)) { try $0.state().counter }
        }

        @Test func aClientThatDisconnectsEndsItsStatement() async throws {
            let reading = Task { try await sleep("60", .maintenance) }
            try await waits(1)
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            try await waits(0)
            // It ended by the cancellation, long before it was done.
            #expect(slow.all.allSatisfy { $0.milliseconds < 30_000 })
            // The pool connects again.
            try await sleep("0", terms(1000))
            try store.close()
        }

        @Test func aSlowStatementIsReportedWithoutValues() async throws {
            _ = try await store.read(Self.mia, .maintenance) { view in
                try (view as? PostgresUnit)?.rows("SELECT pg_sleep(1.1)::text, $1::text", ["secret"], from: .meta).count
            }
            let statement = try #require(slow.all.first)
            #expect(statement.milliseconds >= 1000)
            #expect(statement.sql.contains("pg_sleep"))
            #expect(!statement.sql.contains("secret"))
            try store.close()
        }
    }
#endif
