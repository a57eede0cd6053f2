// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SQLiteStore

/// Names of records that this device deleted because the user did. Another device may move such an object, or such a link, to
/// a share's zone at the same moment, where it comes back under that name: then it is deleted there, too.
enum DeletionTable {
    /// Names that are kept; older ones go.
    static let namesMax: Int64 = 10_000

    static let statement = "CREATE TABLE IF NOT EXISTS TARN_DELETED (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"

    static func add(_ names: [String], _ writer: StoreWriter) throws {
        if names.isEmpty { return }
        for name in names { try writer.execute("INSERT OR IGNORE INTO TARN_DELETED (name) VALUES (?)", [.text(name)]) }
        try writer.execute("DELETE FROM TARN_DELETED WHERE id <= (SELECT MAX(id) FROM TARN_DELETED) - ?", [.int(namesMax)])
    }

    static func contains(_ name: String, _ reader: StoreReader) throws -> Bool {
        var isThere = false
        try reader.query("SELECT 1 FROM TARN_DELETED WHERE name = ?", [.text(name)]) { _ in isThere = true }
        return isThere
    }
}
