// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine

/// A table as a database has it.
package struct TableShape: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        package var name: String
        /// The declared type in lower case, such as `bigint` or `text`.
        package var type: String

        package init(_ name: String, _ type: String) {
            self.name = name
            self.type = type
        }
    }

    package var name: String
    package var columns: [Column]
    /// The columns of the primary key, in its order.
    package var key: [String]

    package init(name: String, columns: [Column], key: [String]) {
        self.name = name
        self.columns = columns
        self.key = key
    }
}

/// A column that a move copies.
package struct MovedColumn: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case integer, boolean, text, bytes
    }

    /// The name in PostgreSQL.
    package var name: String
    /// The name in SQLite, or the expression that takes the column's place there.
    package var sqlite: String
    package var kind: Kind
    /// `false` for a column of PostgreSQL alone: SQLite computes it and does not store it, so it is not compared.
    package var isInSQLite = true
}

/// A table that a move copies, with its columns in both databases. A row is one value for each column.
package struct MovedTable: Hashable, Sendable {
    package var name: String
    package var columns: [MovedColumn]
    /// Indexes of the columns that name a row in both databases.
    package var key: [Int]
    /// Indexes of the primary key's columns in PostgreSQL: the order in which PostgreSQL's rows are read.
    package var order: [Int]
    /// Columns of PostgreSQL with a constant for moved rows.
    package var constants: [String: Int64] = [:]

    /// The index of the partition's number.
    package var part: Int? { columns.firstIndex { $0.name == "part" } }

    package func keyValues(of row: [MovedValue]) -> [MovedValue] { key.map { row[$0] } }
}

/// A value of a moved row. Booleans are 0 and 1.
package enum MovedValue: Hashable, Sendable, Codable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    /// As the databases compare: by bytes. Swift's texts are equal in both forms of an accent.
    package static func == (one: MovedValue, other: MovedValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.integer(let one), .integer(let other)): one == other
        case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
        case (.bytes(let one), .bytes(let other)): one == other
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: break
        case .integer(let number): hasher.combine(number)
        case .text(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .bytes(let bytes): hasher.combine(bytes)
        }
    }

    package var byteCount: Int {
        switch self {
        case .null: 1
        case .integer: 8
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}

/// Pairs the tables of both databases by their names and columns. Nothing is listed that the schemas have, so a table or column that a
/// version adds to one of them is an error until the other has it, or a rule below names it.
package enum MovedTables {
    /// Tables of values of the server; see ``ServerValue``.
    package static let ofServerValues: Set<String> = ["meta", "counters"]
    /// Tables that stay behind, with the reason.
    package static let left = [
        "request_counts": "requests of the last two minutes: a crash empties it, too",
        "change_log_days": "derived from the log of changes, in SQLite alone",
        "staged_requests":
            "requests of saves that have not arrived whole: SQLite's server has them in files, and their clients send them again",
        "password_attempts": "wrong passwords of the last 15 minutes: SQLite's server has them in memory",
        "password_networks": "networks from which owners signed in, as hashes that differ: learned again with the next sign-in",
    ]

    /// Words that PostgreSQL reserves.
    private static let renamed = ["user": "user_name"]

    private enum Rule {
        /// Moved rows have a constant.
        case constant(Int64)
        /// An expression in SQLite.
        case expression(String)
    }

    /// Columns of PostgreSQL alone.
    private static let ofPostgres: [String: [String: Rule]] = [
        // The first sweep after the move computes when the next one is due. SQLite's sizes of records are counted.
        "partitions": ["due": .constant(0), "sized": .constant(1)],
        // Unique among the versions of a record. Numbers of changes are positive, so a later version never has the same.
        "record_versions": ["change": .expression("-rowid")],
    ]

    /// The tables to copy, partitions first.
    ///
    /// - Throws: `StorageFailure` with `.newerFormat` for a table or column without its counterpart.
    package static func plan(sqlite: [TableShape], postgres: [TableShape]) throws(StorageFailure) -> [MovedTable] {
        let (old, new) = (shapes(sqlite), shapes(postgres))
        for name in Set(old.keys).symmetricDifference(new.keys) {
            throw unmapped("table \(name)")
        }
        var tables: [MovedTable] = []
        for name in new.keys.sorted() {
            guard let embedded = old[name], let shape = new[name] else { continue }
            tables.append(try table(embedded, shape))
        }
        return tables.filter { $0.name == "partitions" } + tables.filter { $0.name != "partitions" }
    }

    private static func shapes(_ shapes: [TableShape]) -> [String: TableShape] {
        let moved = shapes.filter { !ofServerValues.contains($0.name) && left[$0.name] == nil }
        return Dictionary(moved.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func table(_ embedded: TableShape, _ shape: TableShape) throws(StorageFailure) -> MovedTable {
        var table = MovedTable(name: shape.name, columns: [], key: [], order: [])
        let rules = ofPostgres[shape.name] ?? [:]
        var missing = Set(embedded.columns.map(\.name))
        for column in shape.columns {
            guard let kind = kind(postgres: column.type) else { throw unmapped("type of \(shape.name).\(column.name)") }
            if let own = embedded.columns.first(where: { (renamed[$0.name] ?? $0.name) == column.name }) {
                guard Self.kind(sqlite: own.type).contains(kind) else { throw unmapped("type of \(shape.name).\(column.name)") }
                missing.remove(own.name)
                table.columns.append(MovedColumn(name: column.name, sqlite: own.name, kind: kind))
                continue
            }
            switch rules[column.name] {
            case .constant(let number): table.constants[column.name] = number
            case .expression(let sql):
                table.columns.append(MovedColumn(name: column.name, sqlite: sql, kind: kind, isInSQLite: false))
            case nil: throw unmapped("column \(shape.name).\(column.name)")
            }
        }
        for name in missing { throw unmapped("column \(shape.name).\(name)") }
        for name in shape.key {
            guard let index = table.columns.firstIndex(where: { $0.name == name }) else { throw unmapped("key \(shape.name).\(name)") }
            table.order.append(index)
        }
        table.key = table.order.filter { table.columns[$0].isInSQLite }
        guard !table.key.isEmpty else { throw unmapped("primary key of \(shape.name)") }
        return table
    }

    private static func unmapped(_ what: String) -> StorageFailure {
        StorageFailure(.newerFormat, "a move does not know the \(what), which one of the databases lacks")
    }

    private static func kind(postgres type: String) -> MovedColumn.Kind? {
        switch type {
        case "bigint": .integer
        case "boolean": .boolean
        case "text": .text
        case "bytea": .bytes
        default: nil
        }
    }

    private static func kind(sqlite type: String) -> Set<MovedColumn.Kind> {
        switch type {
        case "integer": [.integer, .boolean]
        case "text": [.text]
        case "blob": [.bytes]
        default: []
        }
    }
}
