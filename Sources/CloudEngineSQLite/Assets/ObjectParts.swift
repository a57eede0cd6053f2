// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB

/// The table of the numbers that objects in an S3-compatible store have in their names, for partitions that have another number here than
/// in the database in which they began. The objects stay where they are when a server's data is moved.
enum ObjectParts {
    static let table = """
        CREATE TABLE object_parts (part INTEGER NOT NULL PRIMARY KEY, number INTEGER NOT NULL UNIQUE) WITHOUT ROWID;
        """

    private static let storeMissing = """
        INSERT OR IGNORE INTO object_parts (part, number)
        SELECT part, part FROM partitions p WHERE NOT EXISTS (SELECT 1 FROM object_parts o WHERE o.part = p.part)
        """
    private static let storeNew = """
        INSERT OR IGNORE INTO object_parts (part, number)
        SELECT part, part FROM partitions WHERE part > (SELECT coalesce(max(part), 0) FROM object_parts)
        """

    /// The number in the names of a partition's objects.
    static func number(of part: Int64, _ db: Database) throws -> Int64 {
        try db.row("SELECT number FROM object_parts WHERE part = ?", [part]).map { $0[0] } ?? part
    }

    /// The place in the row that needs the object with a number and a checksum in its name; nil without a row.
    static func place(ofObject checksum: String, number: Int64, _ db: Database) throws -> Int64? {
        let part = try part(ofNumber: number, db)
        return try db.row("SELECT in_store FROM assets WHERE part = ? AND checksum = ?", [part, checksum]).map { $0[0] }
    }

    /// Stores in the row of an object that its bytes are in the store.
    static func storePlace(ofObject checksum: String, number: Int64, _ db: Database) throws {
        let part = try part(ofNumber: number, db)
        try db.run("UPDATE assets SET in_store = 1 WHERE part = ? AND checksum = ?", [part, checksum])
    }

    private static func part(ofNumber number: Int64, _ db: Database) throws -> Int64 {
        try db.row("SELECT part FROM object_parts WHERE number = ?", [number]).map { $0[0] } ?? number
    }

    /// The greatest number that a new partition must not have.
    static func greatest(_ db: Database) throws -> Int64 {
        try db.row("SELECT max(number) FROM object_parts", []).map { $0[0] } ?? 0
    }

    /// Stores the numbers of all partitions, before they get others in another database.
    ///
    /// - Parameter areNew: Whether the partitions from before are stored: new ones have the greatest numbers.
    static func storeAll(areNew: Bool, _ db: Database) throws {
        try db.execute(sql: areNew ? Self.storeNew : Self.storeMissing)
    }
}
