// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// The zones of a store, with their change tokens and shares.
///
/// The other tables refer to a zone by its number. Record names are unique in their zone.
enum ZoneTable {
    struct Row: Sendable {
        var zone: MirrorZone
        /// The change token of the last page that was imported.
        var token: String?
        /// A change token that the server's history must contain, in addition to `token`: that of the last acknowledged export which no
        /// import has passed, or the token before a full fetch. A restored server may lack its changes.
        var exportedToken: String?
        /// Number of the last full fetch that was begun.
        var generation: Int64
        /// Whether that fetch is in progress.
        var isFullFetch: Bool
        /// Whether the server has changes of the zone.
        var needsFetch: Bool
        /// Whether objects of the home zone were relocated to it since its last page.
        var receives: Bool
        var share: Data?
        var shareGeneration: Int64
    }

    static let statement = """
        CREATE TABLE IF NOT EXISTS TARN_ZONE (number INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL, token TEXT, \
        generation INTEGER NOT NULL, isFullFetch INTEGER NOT NULL, needsFetch INTEGER NOT NULL, receives INTEGER NOT NULL, \
        listing INTEGER NOT NULL, share BLOB, shareGeneration INTEGER NOT NULL, exportedToken TEXT, UNIQUE (name, owner))
        """

    /// Adds the column of ``SyncMetadataFormat/exportedTokens``.
    static func addExportedToken(_ writer: StoreWriter) throws {
        try writer.execute("ALTER TABLE TARN_ZONE ADD COLUMN exportedToken TEXT")
    }

    private static let columns =
        "number, name, owner, token, generation, isFullFetch, needsFetch, receives, share, shareGeneration, exportedToken"

    static func all(_ reader: StoreReader) throws -> [Row] { try rows("1 ORDER BY number", [], reader) }

    static func row(_ number: Int64, _ reader: StoreReader) throws -> Row? { try rows("number = ?", [.int(number)], reader).first }

    static func row(_ id: ZoneID, _ reader: StoreReader) throws -> Row? {
        try rows("name = ? AND owner = ?", [.text(id.zoneName), .text(id.ownerRecordName ?? "")], reader).first
    }

    /// Returns `true` if there are zones in addition to the home zone.
    static func hasShares(_ reader: StoreReader) throws -> Bool {
        var hasShares = false
        try reader.query("SELECT 1 FROM TARN_ZONE WHERE number > \(MirrorZone.home) LIMIT 1") { _ in hasShares = true }
        return hasShares
    }

    /// Returns `false` for a store that was never synced.
    static func exists(_ reader: StoreReader) throws -> Bool { try reader.hasTable("TARN_ZONE") }

    /// Returns the numbers of shared zones that were missing in a full list of zones.
    ///
    /// - Parameter listing: The number of the list.
    static func numbersNotListed(in listing: Int64, _ reader: StoreReader) throws -> [Int64] {
        var numbers: [Int64] = []
        try reader.query("SELECT number FROM TARN_ZONE WHERE number > \(MirrorZone.home) AND listing < ?", [.int(listing)]) {
            numbers.append($0.int(0))
        }
        return numbers
    }

    private static func rows(_ condition: String, _ arguments: [SQLValue], _ reader: StoreReader) throws -> [Row] {
        var rows: [Row] = []
        try reader.query("SELECT \(columns) FROM TARN_ZONE WHERE \(condition)", arguments) { row in
            let owner = row.text(2) ?? ""
            let id = ZoneID(zoneName: row.text(1) ?? "", ownerRecordName: owner.isEmpty ? nil : owner)
            rows.append(
                Row(
                    zone: MirrorZone(number: row.int(0), id: id), token: row.text(3), exportedToken: row.text(10), generation: row.int(4),
                    isFullFetch: row.int(5) == 1, needsFetch: row.int(6) == 1, receives: row.int(7) == 1, share: row.blob(8),
                    shareGeneration: row.int(9)))
        }
        return rows
    }

    // MARK: Writing

    /// - Parameter number: nil for a new one.
    @discardableResult
    static func insert(_ id: ZoneID, number: Int64? = nil, listing: Int64 = 0, _ writer: StoreWriter) throws -> MirrorZone {
        let owner = id.ownerRecordName ?? ""
        try writer.execute(
            """
            INSERT OR IGNORE INTO TARN_ZONE \
            (number, name, owner, generation, isFullFetch, needsFetch, receives, listing, shareGeneration) \
            VALUES (COALESCE(?, (SELECT MAX(MAX(number), 0) + 1 FROM TARN_ZONE)), ?, ?, 1, 1, 1, 0, ?, 0)
            """,
            [number.map { .int($0) } ?? .null, .text(id.zoneName), .text(owner), .int(listing)])
        guard let row = try row(id, writer) else { throw StoreError(.corrupt, "the table of zones cannot be written") }
        return row.zone
    }

    /// Forgets the change token of a zone.
    ///
    /// - Parameter expectsHistory: Whether the server's history must contain what the token stands for. The server may have been restored,
    ///   and a record that it lacks then is not a deleted one.
    static func beginFullFetch(_ number: Int64, expectsHistory: Bool, _ writer: StoreWriter) throws {
        let exported = expectsHistory ? "COALESCE(exportedToken, token)" : "NULL"
        try writer.execute(
            """
            UPDATE TARN_ZONE SET token = NULL, exportedToken = \(exported), generation = generation + 1, isFullFetch = 1, needsFetch = 1 \
            WHERE number = ?
            """, [.int(number)])
        try StagedPageTable.remove(number, writer)
    }

    /// Fetches the zones of all shares from their beginnings: a restored server has the shares of its backup, also in zones without changes
    /// since. The server's history must contain the points of their tokens.
    static func beginFullFetchOfShares(_ writer: StoreWriter) throws {
        for row in try all(writer) where !row.zone.isHome { try beginFullFetch(row.zone.number, expectsHistory: true, writer) }
    }

    /// Stores the token of an imported page.
    ///
    /// - Parameter exported: The exported token of the page's request, which the last page of a zone passes.
    static func advance(_ number: Int64, to token: String, moreComing: Bool, passing exported: String?, _ writer: StoreWriter) throws {
        try writer.execute(
            """
            UPDATE TARN_ZONE SET token = ?1, isFullFetch = isFullFetch * ?2, needsFetch = ?2, receives = receives * ?2, \
            exportedToken = NULLIF(exportedToken, ?4) WHERE number = ?3
            """,
            [.text(token), .int(moreComing ? 1 : 0), .int(number), .optional(moreComing ? nil : exported)])
    }

    /// Columns that are set on their own.
    enum Column: String {
        case token, exportedToken, needsFetch, receives, listing, share, shareGeneration
    }

    static func set(_ column: Column, _ value: SQLValue, of number: Int64, _ writer: StoreWriter) throws {
        try writer.execute("UPDATE TARN_ZONE SET \(column.rawValue) = ? WHERE number = ?", [value, .int(number)])
    }

    /// Removes all zones of shares.
    static func removeShares(_ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_ZONE WHERE number <> \(MirrorZone.home)")
    }

    static func remove(_ number: Int64, _ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_ZONE WHERE number = ?", [.int(number)])
        try StagedPageTable.remove(number, writer)
    }
}
