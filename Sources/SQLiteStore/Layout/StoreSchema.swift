// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The statements that create a store's tables, and those that upgrade an older model's.
enum StoreSchema {
    /// Apple's framework stores its model in the third table, in its own format; Tarn's is in ``SourceModel/table``.
    static let metadata = [
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
        "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
        "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
    ]

    /// Apple's stores have an index for each reference of a transaction, too, and one for authors. No query here uses
    /// them, and each costs every save a page of the log.
    ///
    /// - Parameter tombstones: Columns for values of deleted rows.
    static func history(tombstones: [String]) -> [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \
            ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, \
            \((["ZCOLUMNS"] + tombstones).map { "\($0) BLOB" }.joined(separator: ", ")) )
            """,
            """
            CREATE TABLE IF NOT EXISTS ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \
            ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, \
            ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB )
            """,
            """
            CREATE TABLE IF NOT EXISTS ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \
            ZNAME VARCHAR )
            """,
            "CREATE INDEX IF NOT EXISTS ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
            """
            CREATE INDEX IF NOT EXISTS Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION \
            (ZTIMESTAMP COLLATE BINARY ASC)
            """,
            """
            CREATE UNIQUE INDEX IF NOT EXISTS Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING \
            (ZNAME COLLATE BINARY ASC)
            """,
        ]
    }

    static func create(_ table: TableLayout) -> String {
        let fixed = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"]
        let columns = fixed + table.columns.map { "\(identifier($0.name)) \($0.kind.declaredType)" }
        return "CREATE TABLE \(identifier(table.name)) ( \(columns.joined(separator: ", ")) )"
    }

    static func add(_ column: TableLayout.Column, to table: TableLayout) -> String {
        "ALTER TABLE \(identifier(table.name)) ADD COLUMN \(identifier(column.name)) \(column.kind.declaredType)"
    }

    static func create(_ index: TableLayout.Index, on table: TableLayout) -> String {
        """
        CREATE \(index.isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS \(quoted(index.name)) \
        ON \(identifier(table.name)) (\(index.columns))\(index.condition.map { " WHERE \($0)" } ?? "")
        """
    }

    static func create(_ join: JoinTable) -> [String] {
        let columns = [join.first, join.second].map(identifier)
        let all = (columns + join.orderColumns.map(identifier)).map { "\($0) INTEGER" }
        return [
            """
            CREATE TABLE \(identifier(join.name)) ( \(all.joined(separator: ", ")), \
            PRIMARY KEY (\(columns[0]), \(columns[1])) )
            """,
            """
            CREATE INDEX \(quoted("\(join.name)_\(join.second)_INDEX")) ON \(identifier(join.name)) \
            (\(columns[1]), \(columns[0]))
            """,
        ]
    }

    /// Index names are of mixed case, so they are quoted only if SQL requires it.
    static func quoted(_ name: String) -> String {
        identifier(name.uppercased()) == name.uppercased() ? name : identifier(name)
    }
}
