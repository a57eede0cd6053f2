// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Rewrites a table, without some of its columns and without constraints in its CREATE TABLE.
///
/// Older systems declared uniqueness constraints there. SQLite drops neither such a constraint nor a column that it
/// names.
///
/// Source: sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes".
struct TableRebuild {
    let connection: Connection
    let table: String

    /// The columns, upper case, of each UNIQUE constraint that stands in the table's CREATE TABLE.
    func inlineConstraints() throws(StoreError) -> [Set<String>] {
        let pairs = try connection.pairs(
            """
            SELECT l.name, c.name FROM pragma_index_list(\(textLiteral(table))) l, pragma_index_info(l.name) c WHERE l.origin = 'u'
            """)
        return Dictionary(grouping: pairs, by: \.0).values.map { Set($0.map { $0.1.uppercased() }) }
    }

    /// - Parameter columns: The omitted columns, upper case. Indexes on them are omitted, too.
    func run(dropping columns: Set<String>) throws(StoreError) {
        var remainingColumns: [(name: String, type: String)] = []
        var key: [(place: Int64, name: String)] = []
        var objects: [String] = []
        do {
            try connection.query("SELECT name, type, pk FROM pragma_table_info(\(textLiteral(table))) ORDER BY cid") { row in
                guard let name = row.text(0), !columns.contains(name.uppercased()) else { return }
                remainingColumns.append((name, row.text(1) ?? ""))
                if row.int(2) > 0 { key.append((row.int(2), name)) }
            }
            try connection.query(
                """
                SELECT m.type, m.sql, (SELECT group_concat(upper(c.name), char(10)) FROM pragma_index_info(m.name) c) FROM sqlite_master m \
                WHERE m.tbl_name = \(textLiteral(table)) COLLATE NOCASE AND m.type IN ('index', 'trigger') AND m.sql IS NOT NULL ORDER BY m.rowid
                """
            ) { row in
                let indexed = Set((row.text(2) ?? "").split(separator: "\n").map(String.init))
                if let sql = row.text(1), indexed.isDisjoint(with: columns) { objects.append(sql) }
            }
        } catch { throw StoreError(error) }
        let copy = identifier("TARNREBUILD_\(table)")
        let names = remainingColumns.map { identifier($0.name) }.joined(separator: ", ")
        // Copied twice rather than renamed: a rename fails if a trigger of another table names this one.
        try connection.execute("DROP TABLE IF EXISTS \(copy)")
        try connection.execute("CREATE TABLE \(copy) AS SELECT \(names) FROM \(identifier(table))")
        try connection.execute("DROP TABLE \(identifier(table))")
        let isRowKey = key.count == 1 && remainingColumns.contains { $0.name == key[0].name && $0.type.uppercased() == "INTEGER" }
        var parts = remainingColumns.map { column in
            "\(identifier(column.name)) \(column.type)\(isRowKey && column.name == key[0].name ? " PRIMARY KEY" : "")"
        }
        if !isRowKey, !key.isEmpty {
            parts.append("PRIMARY KEY (\(key.sorted { $0.place < $1.place }.map { identifier($0.name) }.joined(separator: ", ")))")
        }
        try connection.execute("CREATE TABLE \(identifier(table)) (\(parts.joined(separator: ", ")))")
        try connection.execute("INSERT INTO \(identifier(table)) (\(names)) SELECT \(names) FROM \(copy)")
        try connection.execute("DROP TABLE \(copy)")
        for sql in objects { try connection.execute(sql) }
    }
}

extension TableLayout {
    /// The columns, upper case, of each unique index without a condition.
    var uniqueColumns: Set<Set<String>> {
        Set(
            indexes.filter { $0.isUnique && $0.condition == nil }.map { index in
                Set(
                    index.columns.split(separator: ",").compactMap { column in
                        column.split(separator: " ").first?.replacing("\"", with: "").uppercased()
                    })
            })
    }
}
