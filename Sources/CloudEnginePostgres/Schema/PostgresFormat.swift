// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import Crypto
import Foundation
import SystemSupport

/// The tables, in the order in which they are made, and the version of their format.
///
/// Every statement is additive, may be repeated, and is a transaction of its own: processes that start at the same time make the same
/// tables, and a process of the version before continues to run.
package enum PostgresFormat {
    /// Only grows. 2: several authentication keys, and requests of all processes. A process of the version before knows the first key only, so it must not start.
    /// 3: wrong passwords of all processes. A process of the version before counts its own.
    /// 4: numbers in the names of objects. A process of the version before looks for the objects of moved partitions under other names.
    /// 5: indexes of uploads without a complete file, and of deleted zones.
    /// 6: partial indexes (``formerIndexes``).
    /// 7: partitions know how many tombstones they have. A process of the version before counts none; housekeeping counts them daily.
    /// 8: assets know whether their bytes are in an S3-compatible store. A process of the version before notes none. Sizes of records of all
    /// formats are counted, a day later.
    static let current: Int64 = 8
    private static let sizeCount: Int64 = 8

    private static let serverTables = [
        "CREATE TABLE IF NOT EXISTS meta (key text COLLATE \"C\" NOT NULL PRIMARY KEY, value bytea NOT NULL)",
        "CREATE TABLE IF NOT EXISTS counters (name text COLLATE \"C\" NOT NULL PRIMARY KEY, value bigint NOT NULL)",
    ]

    package static let tables =
        serverTables + PartitionRows.tables + ZoneRows.tables + RecordRows.tables + IndexRows.tables + SchemaRows.tables
        + SubscriptionRows.tables + AssetRows.tables + ObjectPartRows.tables + AnswerRows.tables + AccessRows.tables + SharingRows.tables
        + AccountRows.tables
        + ChangeLogRows.tables + RequestCountRows.tables + AttemptRows.tables

    /// Tables of rows that belong to one partition and are deleted with its contents.
    static let partitionedTables = [
        "zones", "records", "record_versions", "kept_assets", "record_indexes", "index_entries", "client_tokens", "subscriptions",
        "public_subscriptions", "uploads", "asset_links", "answers", "staged_requests", "record_references",
        "change_log",
    ]

    /// Indexes of format 5 that the planner chose for look-ups by primary key, as long as a table has no statistics, or where most zones are
    /// small: both indexes begin with the same columns, and the last condition became a filter of all records of a zone. The indexes in
    /// their place are partial, with a condition that holds for each row; only statements that repeat it can use them.
    ///
    /// Statements of format 5 use them: they stay for a day, in which processes of the version before are replaced.
    ///
    /// Source: PostgreSQL's documentation, "Partial Indexes": an index is used if the condition of the query implies that of the index.
    static let formerIndexes = [
        "records_change", "shared_records_change", "record_parents_parent", "record_versions_replaced", "zones_change", "answers_at",
    ]
    private static let formerMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// The time of the format is by the database's clock: processes may have others.
    private static let setTime = """
        INSERT INTO meta (key, value) VALUES ($1, convert_to(((extract(epoch FROM now()) * 1000)::bigint)::text, 'UTF8'))
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """

    /// Names among `$1` of indexes that exist, if the format has been set for `$3` milliseconds.
    private static let selectExpired = """
        SELECT index_name FROM unnest($1::text[]) AS former(index_name) WHERE to_regclass(index_name) IS NOT NULL
        AND coalesce((SELECT convert_from(value, 'UTF8')::bigint FROM meta WHERE key = $2), 0)
            <= (extract(epoch FROM now()) * 1000)::bigint - $3::bigint
        """

    /// - Parameter makesTables: Whether an empty database becomes one of a server.
    /// - Throws: `StorageFailure` with `.newerFormat`; `noData` for an empty database.
    static func prepare(_ connection: PostgresConnection, makesTables: Bool) throws {
        let isThere: Bool = try connection.query("SELECT to_regclass('meta') IS NOT NULL").rows.first.map { $0[0] } ?? false
        try connection.synchronize()
        let version = isThere ? try Self.version(connection) : 0
        guard version <= current else { throw StorageFailure(.newerFormat, "the database was written by a newer version") }
        guard version > 0 || makesTables else { throw StorageFailure.noData }
        guard version < current else { return }
        try makeTables(connection, hasSizesToCount: (1..<sizeCount).contains(version))
    }

    /// Time for a statement of the tables: an index of a large table takes longer than a statement of a session may.
    private static let statementSeconds = 86_400.0

    /// The connection of a start and that of a move have no limit of statements from then on.
    private static func makeTables(_ connection: PostgresConnection, hasSizesToCount: Bool) throws {
        let answerSeconds = connection.answerSeconds
        connection.answerSeconds = statementSeconds
        defer { connection.answerSeconds = answerSeconds }
        try connection.send("SET statement_timeout = 0")
        // In a transaction of its own: a statement that fails would undo it.
        try connection.synchronize()
        for table in tables { try make(table, connection) }
        if hasSizesToCount { try PostgresMeta(connection).set(ServerValue.sizesToCount, to: 1) }
        try PostgresMeta(connection).set(ServerValue.formatKey, to: current)
        try connection.send(setTime, [ServerValue.formatTimeKey])
        try connection.synchronize()
    }

    /// Whether ``PostgresServerStore/countRecordSizes()`` has anything to do: the value `$1` exists, and the format has been set for `$3`
    /// milliseconds.
    private static let selectSizesToCount = """
        SELECT 1 FROM meta WHERE key = $1
        AND coalesce((SELECT convert_from(value, 'UTF8')::bigint FROM meta WHERE key = $2), 0)
            <= (extract(epoch FROM now()) * 1000)::bigint - $3::bigint
        """

    static func hasSizesToCount(_ connection: PostgresConnection) throws -> Bool {
        let values: PostgresValues = [ServerValue.sizesToCount, ServerValue.formatTimeKey, formerMilliseconds]
        return try !connection.query(selectSizesToCount, values).rows.isEmpty
    }

    /// Names of former indexes that no process needs any more.
    fileprivate static func expiredIndexes(_ connection: PostgresConnection) throws -> [String] {
        let values = PostgresValues.texts(formerIndexes) + [ServerValue.formatTimeKey, formerMilliseconds]
        return try connection.query(selectExpired, values).rows.map { $0[0] }
    }

    private static func version(_ connection: PostgresConnection) throws -> Int64 {
        let version = try PostgresMeta(connection).number(ServerValue.formatKey)
        try connection.synchronize()
        return version ?? 0
    }

    /// Delays between attempts to lock a table that a long transaction reads.
    private static let lockBackoff = Backoff(firstSeconds: 0.5, longestSeconds: 15)
    private static let collisionsMax = 4

    /// Two processes that make one table at the same time collide in the system's tables; the second attempt finds it.
    ///
    /// A statement that waits for a lock keeps later statements on its table waiting, and a dump has its locks for hours. So it gives up
    /// after a second, and is retried until the transactions before it have ended.
    private static func make(_ table: String, _ connection: PostgresConnection) throws {
        let end = ContinuousClock.now + .seconds(statementSeconds)
        var (collisionCount, waitCount) = (0, 0)
        while true {
            do {
                try connection.begin("ISOLATION LEVEL READ COMMITTED")
                try connection.send("SET LOCAL lock_timeout = '1s'")
                _ = try connection.query(table)
                try connection.send("COMMIT")
                return try connection.synchronize()
            } catch let error as PostgresError
                where ["23505", "42P07", "42710", "XX000", "40P01"].contains(error.state) && collisionCount < collisionsMax
            {
                connection.recover()
                collisionCount += 1
            } catch let error as PostgresError where error.state == PostgresError.lockTimeoutState && ContinuousClock.now < end {
                connection.recover()
                waitCount += 1
                Thread.sleep(forTimeInterval: lockBackoff.seconds(attempt: waitCount, jitter: Double.random(in: 0...1)))
            }
        }
    }

    /// The keys of all codes; the first process that opens the database makes the first one, which may be retired later.
    static func sealingKeys(_ connection: PostgresConnection) throws -> SealingKeys.Ring {
        let key = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        try connection.send(
            """
            INSERT INTO meta (key, value) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = $3) ON CONFLICT (key) DO NOTHING
            """, [SealingKeys.firstKey, key, SealingKeys.currentKey])
        let ring = try SealingKeys.read(PostgresMeta(connection))
        try connection.synchronize()
        guard let ring else { throw StorageFailure(.corrupt, "the current key is missing") }
        return ring
    }

    /// Names of the tables.
    static let names = Set(tables.compactMap { $0.firstMatch(of: /CREATE TABLE IF NOT EXISTS (\w+)/).map { String($0.1) } })
}

extension PostgresServerStore {
    /// Removes the indexes of the former format once their day is over, each in a transaction of its own.
    ///
    /// A removal waits for the transactions that read the table, such as that of a dump, and new ones wait behind it. So it gives up after
    /// a second, until the next housekeeping.
    func removeFormerIndexes() async throws {
        do {
            for index in try await reading({ try PostgresFormat.expiredIndexes($0) }) {
                try await writing { connection in
                    try connection.send("SET LOCAL lock_timeout = '1s'")
                    try connection.send("DROP INDEX IF EXISTS \(index)")
                }
            }
        } catch let failure as StorageFailure where failure == .slow {
            return
        }
    }
}
