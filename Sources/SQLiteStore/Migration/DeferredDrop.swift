// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A column or a whole table that a migration left in the file, since dropping it would rewrite the table.
struct DeferredDrop: Equatable {
    let table: String
    /// nil for the whole table.
    let column: String?

    init(table: String, column: String?) {
        self.table = table
        self.column = column
    }

    /// Its form in the store's metadata.
    init(text: String) {
        let parts = text.split(separator: ".", maxSplits: 1).map(String.init)
        table = parts[0]
        column = parts.count > 1 ? parts[1] : nil
    }

    var text: String { column.map { "\(table).\($0)" } ?? table }

    func run(_ connection: Connection) throws(StoreError) {
        if let column {
            let rebuild = TableRebuild(connection: connection, table: table)
            if try rebuild.inlineConstraints().contains(where: { $0.contains(column.uppercased()) }) {
                return try rebuild.run(dropping: [column.uppercased()])
            }
            do throws(StoreError) {
                try connection.execute("ALTER TABLE \(identifier(table)) DROP COLUMN \(identifier(column))")
            } catch {
                // Another part of the table's statement names the column, such as a CHECK.
                guard error.code == .other || error.code == .corrupt else { throw error }
                try rebuild.run(dropping: [column.uppercased()])
            }
        } else {
            try connection.execute("DROP TABLE IF EXISTS \(identifier(table))")
        }
    }
}
