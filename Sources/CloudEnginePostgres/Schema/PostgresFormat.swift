// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Crypto
import Foundation

/// The tables, in the order in which they are made, and the version of their format.
///
/// Every statement is additive, may be repeated, and is a transaction of its own: processes that start at the same time make the same
/// tables, and a process of the version before continues to run.
enum PostgresFormat {
    /// Only grows.
    static let current: Int64 = 1
    private static let key = "format"

    private static let serverTables = [
        "CREATE TABLE IF NOT EXISTS meta (key text COLLATE \"C\" NOT NULL PRIMARY KEY, value bytea NOT NULL)",
        "CREATE TABLE IF NOT EXISTS counters (name text COLLATE \"C\" NOT NULL PRIMARY KEY, value bigint NOT NULL)",
    ]

    static let tables =
        serverTables + PartitionRows.tables + ZoneRows.tables + RecordRows.tables + IndexRows.tables + SchemaRows.tables
        + SubscriptionRows.tables + AssetRows.tables + AnswerRows.tables + AccessRows.tables + SharingRows.tables + AccountRows.tables
        + ChangeLogRows.tables

    /// Tables of rows that belong to one partition and are deleted with its contents.
    static let partitionedTables = [
        "zones", "records", "record_versions", "kept_assets", "record_indexes", "index_entries", "client_tokens", "subscriptions",
        "public_subscriptions", "uploads", "asset_links", "answers", "staged_requests", "record_references",
        "change_log",
    ]

    /// - Throws: `StorageFailure` with `.newerFormat`.
    static func prepare(_ connection: PostgresConnection) throws {
        let isThere: Bool = try connection.query("SELECT to_regclass('meta') IS NOT NULL").rows.first.map { $0[0] } ?? false
        try connection.synchronize()
        let version = isThere ? try Self.version(connection) : 0
        guard version <= current else { throw StorageFailure(.newerFormat, "the database was written by a newer version") }
        guard version < current else { return }
        for table in tables { try make(table, connection) }
        _ = try connection.query(
            "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [key, Array(String(current).utf8)])
        try connection.synchronize()
    }

    private static func version(_ connection: PostgresConnection) throws -> Int64 {
        let value: [UInt8] = try connection.query("SELECT value FROM meta WHERE key = $1", [key]).rows.first.map { $0[0] } ?? []
        try connection.synchronize()
        return Int64(String(decoding: value, as: UTF8.self)) ?? 0
    }

    /// Two processes that make one table at the same time collide in the system's tables; the second attempt finds it.
    private static func make(_ table: String, _ connection: PostgresConnection) throws {
        for attempt in 1... {
            do {
                _ = try connection.query(table)
                return try connection.synchronize()
            } catch let error as PostgresError where ["23505", "42P07", "42710", "XX000", "40P01"].contains(error.state) && attempt < 5 {
                connection.recover()
            }
        }
    }

    /// The key of all codes, made by the first process that opens the database.
    static func sealingKey(_ connection: PostgresConnection) throws -> SymmetricKey {
        let key = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        try connection.send("INSERT INTO meta (key, value) VALUES ('sealer', $1) ON CONFLICT (key) DO NOTHING", [key])
        let stored: [UInt8] = try connection.query("SELECT value FROM meta WHERE key = 'sealer'").rows.first.map { $0[0] } ?? []
        try connection.synchronize()
        guard stored.count == key.count else { throw StorageFailure(.corrupt, "the current key is missing") }
        return SymmetricKey(data: stored)
    }
}
