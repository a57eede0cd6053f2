// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// What a store keeps true by itself: unique values by indexes, derived columns by triggers. A model may change them
/// without changing a table, so they are compared at every opening.
struct StoreRules {
    static let triggerPrefix = "TARN_DA_"

    let connection: Connection
    let layout: StoreLayout

    /// Makes what is missing, and takes away what the model does not ask for any more.
    ///
    /// - Throws: ``StoreError`` with `.constraint` when rows have the same values where they have to differ now.
    func bringUpToDate() throws(StoreError) {
        try bringTriggers()
        try bringIndexes()
    }

    private func present(_ type: String, _ pattern: String) throws(StoreError) -> [String: String] {
        var found: [String: String] = [:]
        do {
            try connection.query(
                "SELECT name, sql FROM sqlite_master WHERE type = ? AND name LIKE ? ESCAPE '\\'", [.text(type), .text(pattern)]
            ) { row in if let name = row.text(0) { found[name] = row.text(1) ?? "" } }
        } catch { throw StoreError(error) }
        return found
    }

    private func bringTriggers() throws(StoreError) {
        let present = try present("trigger", "TARN\\_DA\\_%")
        let apples = layout.derivedColumns.isEmpty ? [:] : try self.present("trigger", "Z\\_DA\\_%")
        var wanted: Set<String> = []
        for column in layout.derivedColumns {
            // A store of Apple's keeps the column right by its own triggers.
            if apples.keys.contains(where: { $0.contains("_\(column.name)_") }) { continue }
            var isNew = false
            for trigger in column.triggers {
                wanted.insert(trigger.name)
                if present[trigger.name] == trigger.sql { continue }
                isNew = true
                try connection.execute("DROP TRIGGER IF EXISTS \"\(trigger.name)\"")
                try connection.execute(trigger.sql)
            }
            if isNew { try connection.execute(column.fill) }
        }
        for name in present.keys.sorted() where !wanted.contains(name) { try connection.execute("DROP TRIGGER \"\(name)\"") }
    }

    private func bringIndexes() throws(StoreError) {
        let present = try present("index", "Z\\_%\\_UNIQUE\\_%")
        var wanted: Set<String> = ["Z_TRANSACTIONSTRING_UNIQUE_NAME"]
        for table in layout.tables {
            for index in table.indexes where index.isUnique {
                wanted.insert(index.name)
                if present[index.name] == nil { try connection.execute(StoreSchema.create(index, on: table)) }
            }
        }
        let entities = layout.entities.compactMap { $0?.name }
        for name in present.keys.sorted() where !wanted.contains(name) && entities.contains(where: { name.hasPrefix("Z_\($0)_UNIQUE_") }) {
            try connection.execute("DROP INDEX \"\(name)\"")
        }
    }
}
