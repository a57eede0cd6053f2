// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

/// Versions of the mirror's own tables in a store's file. A case is never reused or renumbered; older tables are
/// brought up to date, newer ones are refused.
enum BookkeepingFormat: Int, CaseIterable {
    /// First released format.
    case initial = 1
    /// Events are kept, and records know who made them.
    case events = 2
    /// Records and links stand in zones.
    case zones = 3
    /// What was deleted is remembered.
    case deletions = 4
    /// Members of ordered relationships have ranks.
    case ranks = 5
    /// Records wait for what their objects must have.
    case incomplete = 6
    /// Records that were merged have successors.
    case merged = 7
    /// More than one request may wait for its answer.
    case outbox = 8
    /// What the server last said is kept in fewer bytes. What earlier versions wrote stays until it changes.
    case keptAncestors = 9
    /// Deletions, and records that wait, are searched by indexes of their own.
    case deletionIndexes = 10
    /// When records were created is stored, and which share and parent they have. Records that earlier versions wrote get it with
    /// the next response that holds them.
    case systemFields = 11
    /// Change pages wait in the file until the last one of their zone has arrived.
    case stagedPages = 12

    static let current = BookkeepingFormat.stagedPages
}

/// The mirror's tables, in the file of the store whose rows they are about, so that a row and what the mirror knows of
/// it are written in one transaction.
///
/// Entities stand there by name: their numbers change when a model gains one.
enum BookkeepingTables {
    /// Losing values that are kept; older ones go.
    static let conflictsMax = 10_000
    /// Events that are kept; older ones go.
    static let eventsMax = 1_000

    private static let stateStatement = "CREATE TABLE IF NOT EXISTS TARN_STATE (key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID"

    /// A record of an object that moved to another zone stays until it is deleted on the server; its `pk` is the row's,
    /// negated, so that each row has one record that counts.
    private static let statements = [
        ZoneTable.statement,
        """
        CREATE TABLE IF NOT EXISTS TARN_RECORD (zone INTEGER NOT NULL, name TEXT NOT NULL, entity TEXT NOT NULL, \
        pk INTEGER NOT NULL, tag TEXT, ancestor BLOB, unapplied BLOB, digests TEXT, stage INTEGER NOT NULL, \
        mark INTEGER NOT NULL, failure TEXT, generation INTEGER NOT NULL, creator TEXT, created INTEGER, parent TEXT, \
        share TEXT, PRIMARY KEY (zone, name))
        """,
        "CREATE UNIQUE INDEX IF NOT EXISTS TARN_RECORD_ROW ON TARN_RECORD (entity, pk)",
        // What was made in one save has one mark and is sent in the order in which it lies in the file, not all over it.
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_QUEUE ON TARN_RECORD (zone, mark) WHERE stage IN (1, 2) AND failure IS NULL",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_DELETION ON TARN_RECORD (zone, mark) WHERE stage = 2",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_MISSING ON TARN_RECORD (zone, name) WHERE stage = 3",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_REFUSED ON TARN_RECORD (failure) WHERE failure IS NOT NULL",
        """
        CREATE TABLE IF NOT EXISTS TARN_LINK (zone INTEGER NOT NULL, name TEXT NOT NULL, entities TEXT NOT NULL, \
        relationships TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, tag TEXT, stage INTEGER NOT NULL, \
        mark INTEGER NOT NULL, failure TEXT, generation INTEGER NOT NULL, PRIMARY KEY (zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS TARN_LINK_FIRST ON TARN_LINK (zone, first, second)",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_SECOND ON TARN_LINK (zone, second)",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_QUEUE ON TARN_LINK (zone, mark) WHERE stage IN (1, 2) AND failure IS NULL",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_DELETION ON TARN_LINK (zone, mark) WHERE stage = 2",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_REFUSED ON TARN_LINK (failure) WHERE failure IS NOT NULL",
        """
        CREATE TABLE IF NOT EXISTS TARN_PARKED (zone INTEGER NOT NULL, source TEXT NOT NULL, relationship TEXT NOT NULL, \
        destination TEXT NOT NULL, PRIMARY KEY (zone, source, relationship)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS TARN_PARKED_DESTINATION ON TARN_PARKED (zone, destination)",
        """
        CREATE TABLE IF NOT EXISTS TARN_CONFLICT (id INTEGER PRIMARY KEY, noted REAL NOT NULL, entity TEXT NOT NULL, \
        record TEXT NOT NULL, property TEXT NOT NULL, losing BLOB, winner INTEGER NOT NULL, \
        losingStamp BLOB, winningStamp BLOB)
        """,
        """
        CREATE TABLE IF NOT EXISTS TARN_EVENT (id INTEGER PRIMARY KEY, identifier TEXT NOT NULL UNIQUE, type INTEGER NOT NULL, \
        started REAL NOT NULL, ended REAL, code INTEGER, reason TEXT)
        """,
        DeletionTable.statement,
        OutboxTable.statement,
    ] + RankTable.statements + IncompleteTable.statements + MergedTable.statements + StagedTable.statements

    /// Makes the tables that are not there, and brings older ones up to date.
    ///
    /// - Parameter home: The zone for what is not shared.
    /// - Throws: `StoreError` with `.newerFormat` for tables of a later version.
    static func open(_ writer: StoreWriter, home: ZoneID) throws {
        try writer.execute(stateStatement)
        let format = try MirrorState.int(.format, writer)
        guard Int(format ?? 0) <= BookkeepingFormat.current.rawValue else {
            throw StoreError(.newerFormat, "the store was synced by a newer version of this library")
        }
        if format == Int64(BookkeepingFormat.current.rawValue) { return }
        if let format, format < Int64(BookkeepingFormat.zones.rawValue) {
            try putIntoZones(format, home, writer)
        } else {
            // Later formats have more tables.
            for statement in statements { try writer.execute(statement) }
        }
        if let format, format < Int64(BookkeepingFormat.outbox.rawValue) { try OutboxTable.adopt(writer) }
        if let format, Int64(BookkeepingFormat.zones.rawValue)..<Int64(BookkeepingFormat.systemFields.rawValue) ~= format {
            for column in ["created INTEGER", "parent TEXT", "share TEXT"] { try writer.execute("ALTER TABLE TARN_RECORD ADD COLUMN \(column)") }
        }
        try ZoneTable.insert(home, number: MirrorZone.home, writer)
        try MirrorState.set(.format, .int(Int64(BookkeepingFormat.current.rawValue)), writer)
    }

    /// Before there were zones everything was in one, whose state stood among the single values.
    private static func putIntoZones(_ format: Int64, _ home: ZoneID, _ writer: StoreWriter) throws {
        if format == Int64(BookkeepingFormat.initial.rawValue) { try writer.execute("ALTER TABLE TARN_RECORD ADD COLUMN creator TEXT") }
        for index in [
            "RECORD_ROW", "RECORD_PENDING", "LINK_FIRST", "LINK_SECOND", "LINK_PENDING", "PARKED_DESTINATION",
        ] {
            try writer.execute("DROP INDEX IF EXISTS TARN_\(index)")
        }
        let columns = [
            "TARN_RECORD": "name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator",
            "TARN_LINK": "name, entities, relationships, first, second, tag, stage, mark, failure, generation",
            "TARN_PARKED": "source, relationship, destination",
        ]
        for table in columns.keys.sorted() { try writer.execute("ALTER TABLE \(table) RENAME TO \(table)_OLD") }
        for statement in statements { try writer.execute(statement) }
        for (table, columns) in columns.sorted(by: { $0.key < $1.key }) {
            try writer.execute("INSERT INTO \(table) (zone, \(columns)) SELECT \(MirrorZone.home), \(columns) FROM \(table)_OLD")
            try writer.execute("DROP TABLE \(table)_OLD")
        }
        try ZoneTable.insert(home, number: MirrorZone.home, writer)
        for column in ["token", "generation", "isFullFetch"] {
            try writer.execute(
                """
                UPDATE TARN_ZONE SET \(column) = (SELECT value FROM TARN_STATE WHERE key = '\(column)') \
                WHERE number = \(MirrorZone.home) AND EXISTS (SELECT 1 FROM TARN_STATE WHERE key = '\(column)' AND value IS NOT NULL)
                """)
            try writer.execute("DELETE FROM TARN_STATE WHERE key = '\(column)'")
        }
    }
}

/// Single values that the mirror remembers.
enum MirrorState {
    enum Key: String {
        case format
        /// Which container the store belongs to.
        case container
        /// Whose data the store mirrors.
        case user
        /// Identity of the server that they are from.
        case server
        /// With which credential that user was signed in when the server said last who it is.
        case credential
        /// Another credential that somebody was signed in with since.
        case stranger
        /// Up to where the list of changed zones was read.
        case databaseToken
        /// Number of the last list of all zones that was begun.
        case listing
        /// Number of the last history transaction that was read.
        case historyRead
        case fingerprint
        case lastSuccess
        /// What the user may do in the public database, as the server said it last.
        case permissions
        /// Why the home zone went, as the list of changed zones says; nothing while it is there.
        case homeDeletion
        /// Account changes that the app has not acknowledged, as JSON.
        case accountChanges
        /// What the app decided about the latest of them, as JSON.
        case accountAnswer
    }

    /// Number of the last history transaction that was read; 0 for a store that was never mirrored.
    static func read(_ reader: StoreReader) throws -> Int64 {
        var isThere = false
        try reader.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'TARN_STATE'") { _ in isThere = true }
        return isThere ? try int(.historyRead, reader) ?? 0 : 0
    }

    static func int(_ key: Key, _ reader: StoreReader) throws -> Int64? {
        var value: Int64?
        try reader.query("SELECT value FROM TARN_STATE WHERE key = ?", [.text(key.rawValue)]) { value = $0.optionalInt(0) }
        return value
    }

    static func double(_ key: Key, _ reader: StoreReader) throws -> Double? {
        var value: Double?
        try reader.query("SELECT value FROM TARN_STATE WHERE key = ?", [.text(key.rawValue)]) { value = $0.optionalDouble(0) }
        return value
    }

    static func text(_ key: Key, _ reader: StoreReader) throws -> String? {
        var value: String?
        try reader.query("SELECT value FROM TARN_STATE WHERE key = ?", [.text(key.rawValue)]) { value = $0.text(0) }
        return value
    }

    static func blob(_ key: Key, _ reader: StoreReader) throws -> [UInt8]? {
        var value: [UInt8]?
        try reader.query("SELECT value FROM TARN_STATE WHERE key = ?", [.text(key.rawValue)]) { value = $0.blob(0).map { [UInt8]($0) } }
        return value
    }

    static func set(_ key: Key, _ value: SQLValue, _ writer: StoreWriter) throws {
        try writer.execute("INSERT OR REPLACE INTO TARN_STATE (key, value) VALUES (?, ?)", [.text(key.rawValue), value])
    }
}
