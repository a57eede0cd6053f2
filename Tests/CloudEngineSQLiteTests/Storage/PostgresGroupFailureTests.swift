// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudWire
    import Dispatch
    import Synchronization
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// Transactions that units share and that fail.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresGroupFailureTests {
        private typealias Unit = PostgresGroup.Unit
        private typealias Refused = PostgresGroup.Refused

        private struct GivenUp: Error {}

        private let group: PostgresGroup
        private let store: PostgresServerStore

        init() async throws {
            group = try await PostgresGroup()
            store = group.store
        }

        /// A statement that the database rejects.
        private static func fail(_ writer: any PartitionWriter) throws {
            try (writer as? PostgresUnit)?.run("SELECT 1 / $1::bigint", [0], changing: .zones)
        }

        /// Refuses if a zone exists.
        private static func requireAbsence(of name: String, _ writer: any PartitionWriter) throws {
            if try PostgresGroup.names(in: writer).contains(name) { throw Refused() }
        }

        /// The zone of the first unit is lost with the transaction, and the unit gives up when it runs again: the refusal of the second one
        /// would follow from a zone that never existed.
        @Test func aRefusalByAChangeThatWasLostIsNotSent() async throws {
            let (executions, others) = (Counter(), Counter())
            let results = try await group.together([
                Unit { writer in
                    guard executions.next() == 1 else { throw GivenUp() }
                    try PostgresGroup.addZone("lost", writer)
                },
                Unit { writer in
                    try Self.requireAbsence(of: "lost", writer)
                    try PostgresGroup.addZone("second", writer)
                },
                Unit { writer in
                    if others.next() == 1 { try Self.fail(writer) }
                    try PostgresGroup.addZone("third", writer)
                },
            ])
            #expect(throws: GivenUp.self) { try results[0].get() }
            try results[1].get()
            try results[2].get()
            #expect(try await group.names() == ["second", "third"])
            try store.close()
        }

        /// The session ends during the first commits of zones, so that the process does not know the outcome.
        private func loseCommits(_ count: Int) throws {
            try #require(TemporaryPostgres.shared).sql(
                """
                CREATE SEQUENCE commits;
                CREATE FUNCTION lose_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF nextval('commits') <= \(count) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                    RETURN NULL;
                END $$;
                CREATE CONSTRAINT TRIGGER lose_commit AFTER INSERT ON zones DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION lose_commit();
                """, on: group.address)
        }

        /// Units with an idempotency key, and units that were refused, run again. The others may have been committed.
        @Test func aLostCommitIsRepeatedWhereThatIsKnownToBeSafe() async throws {
            try loseCommits(1)
            let refusals = Counter()
            let executions = Mutex<[String]>([])
            func save(_ name: String, key: String?) -> Unit {
                Unit { writer in
                    executions.withLock { $0.append(name) }
                    if let key, try writer.answer(toKey: key) != nil { return }
                    try PostgresGroup.addZone(name, writer)
                    if let key { try writer.remember(StoredAnswer(fingerprint: 1, body: [1]), forKey: key, at: 1) }
                }
            }
            let results = try await group.together([
                save("first", key: "1"), save("unknown", key: nil), save("third", key: "3"),
                Unit { _ in
                    _ = refusals.next()
                    throw Refused()
                },
            ])
            try results[0].get()
            #expect(throws: StorageFailure.unknownOutcome) { try results[1].get() }
            try results[2].get()
            #expect(throws: Refused.self) { try results[3].get() }
            #expect(executions.withLock { $0.sorted() } == ["first", "first", "third", "third", "unknown"])
            #expect(refusals.next() == 3, "the refusal of the lost transaction was not sent")
            #expect(try await group.names() == ["first", "third"])
            #expect(try await group.counter() == 3)
            try store.close()
        }

        /// Saves a zone with an idempotency key.
        private static func save(_ name: String, _ writer: any PartitionWriter) throws {
            if try writer.answer(toKey: name) != nil { return }
            try PostgresGroup.addZone(name, writer)
            try writer.remember(StoredAnswer(fingerprint: 1, body: [1]), forKey: name, at: 1)
        }

        /// No attempt reads the outcome of the one before it, so the client has to replay the request.
        @Test func aCommitThatNoAttemptConfirmsStaysInDoubt() async throws {
            try loseCommits(1000)
            await #expect(throws: StorageFailure.inDoubt) {
                try await store.write(PostgresGroup.mia) { try Self.save("garden", $0) }
            }
            try #require(TemporaryPostgres.shared).sql("DROP TRIGGER lose_commit ON zones", on: group.address)
            try await store.write(PostgresGroup.mia) { try Self.save("garden", $0) }
            #expect(try await group.names() == ["garden"])
            try store.close()
        }

        /// A failure of the database does not show whether the first attempt was committed; a result of the unit does.
        @Test func aFailureAfterALostCommitLeavesItInDoubt() async throws {
            try loseCommits(1)
            let executions = Counter()
            await #expect(throws: StorageFailure.inDoubt) {
                try await store.write(PostgresGroup.mia) { writer in
                    if executions.next() == 2 { throw StorageFailure.slow }
                    try Self.save("garden", writer)
                }
            }
            #expect(executions.next() == 3)
            try store.close()
        }

        @Test func aRefusalAfterALostCommitIsSent() async throws {
            try loseCommits(1)
            let (executions, refusal) = (Counter(), WireError(.zoneNotFound, "the zone does not exist"))
            await #expect(throws: refusal) {
                try await store.write(PostgresGroup.mia) { writer in
                    if executions.next() == 2 { throw refusal }
                    try Self.save("garden", writer)
                }
            }
            try store.close()
        }

        /// The others run again alone and end, although the unit loses a second time.
        @Test func aUnitThatLosesToAnotherEndsOneTransactionOfOthers() async throws {
            let executions = Mutex<[Int]>([])
            let conflicts = Counter()
            let results = try await group.together(
                (0..<3).map { number in
                    Unit { writer in
                        executions.withLock { $0.append(number) }
                        try PostgresGroup.addZone("zone\(number)", writer)
                        guard number == 1, conflicts.next() <= 2 else { return }
                        try (writer as? PostgresUnit)?.run(
                            "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$", [], changing: .zones)
                    }
                })
            for result in results { try result.get() }
            #expect(executions.withLock { $0 } == [0, 1, 2, 0, 1, 2, 1])
            #expect(try await group.counter() == 4)
            try store.close()
        }

        /// Blocks threads until it is open.
        private final class Gate: Sendable {
            private let semaphore = DispatchSemaphore(value: 0)

            func open() { semaphore.signal() }

            func wait() {
                semaphore.wait()
                semaphore.signal()
            }
        }

        /// Transactions of two partitions write the same rows of the schema in different orders. Each would hold the row of its first unit
        /// while its second one waits for the other's.
        @Test func transactionsThatLearnTheSameTypesDoNotWaitForEachOther() async throws {
            let executions = Counter()
            let learn: @Sendable (String, any PartitionWriter) throws -> Void = { type, writer in
                _ = executions.next()
                try writer.learn(["name": FieldSchema(type: "STRING", isEncrypted: false)], ofType: type)
                // Waits for the statements.
                _ = try writer.schema(ofType: type)
            }
            let (mia, bo) = (Gate(), Gate())
            let results = try await group.together([
                Unit("a", in: PostgresGroup.mia) { writer in
                    try learn("Tree", writer)
                    mia.open()
                },
                Unit("b", in: PostgresGroup.bo) { writer in
                    try learn("Bed", writer)
                    bo.open()
                },
                Unit("a", in: PostgresGroup.mia) { writer in
                    bo.wait()
                    try learn("Bed", writer)
                },
                Unit("b", in: PostgresGroup.bo) { writer in
                    mia.wait()
                    try learn("Tree", writer)
                },
            ])
            for result in results { try result.get() }
            #expect(executions.next() == 5, "each unit ran once")
            try store.close()
        }

        /// The row would have the name of a removed owner.
        @Test func anErasureLeavesARemovedPartitionRemoved() async throws {
            let container = PostgresGroup.mia.containerIdentifier
            let other = try PostgresConnection(group.address)
            try other.send("BEGIN")
            _ = try other.query("DELETE FROM partitions WHERE owner = $1", [PostgresGroup.mia.owner])
            let erasure = Task { [store] in try await store.erase(containerIdentifier: container, environment: .development) }
            // It has found both partitions.
            try await until { store.pool.writesCount(of: PostgresGroup.mia) == 1 }
            try other.commit()
            other.close()
            try await erasure.value
            let partitions = try await store.partitions(containerIdentifier: container, environment: .development)
            #expect(partitions == [PostgresGroup.bo])
            try store.close()
        }
    }
#endif
