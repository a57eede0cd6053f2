// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// Single values of the sync metadata, by key.
enum StateTable {
    static let name = "TARN_STATE"
    static let statement = "CREATE TABLE IF NOT EXISTS TARN_STATE (key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID"

    enum Key: String {
        case format
        /// The identifier of the container that the store belongs to.
        case container
        /// The record name of the user that owns the data.
        case user
        /// The identity of the server that the data come from.
        case server
        /// The credential of that user when the server last confirmed the user.
        case credential
        /// Credentials used since then that the server has not confirmed yet.
        case stranger
        /// The number of the last history transaction before that credential was used; null if several were used since.
        case strangerSince
        /// The change token of the list of changed zones.
        case databaseToken
        /// The number of the last full list of zones that was begun.
        case listing
        /// 1 while a full list of zones has begun and not ended.
        case isZoneListingInProgress
        /// 1 after a restored server has lost the history of the zones, until a full list of zones has ended. A zone that the list lacks is
        /// lost, not deleted.
        case isZoneHistoryLost
        /// 1 after a restored server has lost the history of the home zone, until the full fetch of that zone has ended.
        case isHomeHistoryLost
        /// The number of the last history transaction that was read.
        case historyRead
        case fingerprint
        /// The lenses for which rows have values: see `FilledLenses`.
        case lenses
        /// The properties that objects require: see `RecordMapping.requirements`.
        case requirements
        /// The names on the server of the model's parts: see `ServerNames`.
        case serverNames
        case lastSuccess
        /// The user's permissions in the public database, from the server's last response.
        case permissions
        /// The reason for which the home zone was deleted, from the list of changed zones; null while the zone exists.
        case homeDeletion
        /// Account changes that the app has not acknowledged, as JSON.
        case accountChanges
        /// The app's decision about the latest of them, as JSON.
        case accountAnswer
    }

    /// Returns the number of the last history transaction that was read; 0 for a store that was never synced.
    static func historyRead(_ reader: StoreReader) throws -> Int64 {
        try reader.hasTable(name) ? try int(.historyRead, reader) ?? 0 : 0
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

    // MARK: The list of zones

    static func isZoneListingInProgress(_ reader: StoreReader) throws -> Bool { try int(.isZoneListingInProgress, reader) == 1 }

    static func setZoneListing(_ listing: Int64, isInProgress: Bool, _ writer: StoreWriter) throws {
        try set(.listing, .int(listing), writer)
        try set(.isZoneListingInProgress, .int(isInProgress ? 1 : 0), writer)
    }

    // MARK: Migration

    /// Replaces the negative number of a list in progress by ``SyncMetadataFormat/relocatedRecords``.
    static func addZoneListing(_ writer: StoreWriter) throws {
        guard let listing = try int(.listing, writer) else { return }
        try setZoneListing(abs(listing), isInProgress: listing < 0, writer)
    }

    /// Moves values that formats before ``SyncMetadataFormat/zones`` kept here to the row of the home zone.
    static func moveZoneValues(_ writer: StoreWriter) throws {
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

extension StoreReader {
    /// Returns `true` if the file has a table of the sync metadata. A store that was never synced has none.
    func hasTable(_ name: String) throws -> Bool {
        var exists = false
        try query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [.text(name)]) { _ in exists = true }
        return exists
    }
}
