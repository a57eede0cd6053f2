// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The table of the numbers that objects in an S3-compatible store have in their names, for partitions that came from a database in which
/// they had another number.
enum ObjectPartRows {
    static let tables = [
        "CREATE TABLE IF NOT EXISTS object_parts (part bigint NOT NULL PRIMARY KEY, number bigint NOT NULL)",
        "CREATE INDEX IF NOT EXISTS object_parts_number ON object_parts (number)",
    ]

    static let number = "SELECT number FROM object_parts WHERE part = $1"
    /// The place in the row that needs the object with a number and a checksum in its name.
    static let place = """
        SELECT in_store FROM assets WHERE part = coalesce((SELECT part FROM object_parts WHERE number = $1 LIMIT 1), $1) AND checksum = $2
        """
    /// Stores in this row that the bytes are in the store.
    static let storePlace = """
        UPDATE assets SET in_store = 1
        WHERE part = coalesce((SELECT part FROM object_parts WHERE number = $1 LIMIT 1), $1) AND checksum = $2
        """
}
