// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SQLiteStore

/// Names of records that the user deleted on this device. If another device relocates such an object or link to a share's zone
/// concurrently, it arrives there under that name, and is deleted again.
enum DeletedNameTable {
    /// Names that are stored; older ones are removed.
    static let namesMax: Int64 = 10_000

    static let statement = "CREATE TABLE IF NOT EXISTS TARN_DELETED (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"

    static func add(_ names: [String], _ writer: StoreWriter) throws {
        if names.isEmpty { return }
        for name in names { try writer.execute("INSERT OR IGNORE INTO TARN_DELETED (name) VALUES (?)", [.text(name)]) }
        try writer.execute("DELETE FROM TARN_DELETED WHERE id <= (SELECT MAX(id) FROM TARN_DELETED) - ?", [.int(namesMax)])
    }

    static func remove(_ names: [String], _ writer: StoreWriter) throws {
        // Most devices have none, and a first import inserts all objects.
        guard !names.isEmpty, try !isEmpty(writer) else { return }
        for name in names { try writer.execute("DELETE FROM TARN_DELETED WHERE name = ?", [.text(name)]) }
    }

    private static func isEmpty(_ reader: StoreReader) throws -> Bool {
        var isEmpty = true
        try reader.query("SELECT 1 FROM TARN_DELETED WHERE id > 0 LIMIT 1") { _ in isEmpty = false }
        return isEmpty
    }

    static func contains(_ name: String, _ reader: StoreReader) throws -> Bool {
        var isStored = false
        try reader.query("SELECT 1 FROM TARN_DELETED WHERE name = ?", [.text(name)]) { _ in isStored = true }
        return isStored
    }
}
