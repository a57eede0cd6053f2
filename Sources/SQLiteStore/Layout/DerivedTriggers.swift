// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The triggers that update derived columns. A model may change them without changing a table, so they are compared at
/// every opening.
struct DerivedTriggers {
    static let triggerPrefix = "TARN_DA_"

    let connection: Connection
    let layout: StoreLayout

    private func present(_ pattern: String) throws(StoreError) -> [String: String] {
        var existing: [String: String] = [:]
        do {
            try connection.query(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE ? ESCAPE '\\'", [.text(pattern)]
            ) { row in if let name = row.text(0) { existing[name] = row.text(1) ?? "" } }
        } catch { throw StoreError(error) }
        return existing
    }

    /// Creates missing triggers, and drops those that the model no longer needs.
    func bringUpToDate() throws(StoreError) {
        let present = try present("TARN\\_DA\\_%")
        let apples = layout.derivedColumns.isEmpty ? [:] : try self.present("Z\\_DA\\_%")
        var neededNames: Set<String> = []
        for column in layout.derivedColumns {
            // In Apple's stores its own triggers update the column.
            if apples.keys.contains(where: { $0.contains("_\(column.name)_") }) { continue }
            var isNew = false
            for trigger in column.triggers {
                neededNames.insert(trigger.name)
                if present[trigger.name] == trigger.sql { continue }
                isNew = true
                try connection.execute("DROP TRIGGER IF EXISTS \"\(trigger.name)\"")
                try connection.execute(trigger.sql)
            }
            if isNew { try connection.execute(column.fill) }
        }
        for name in present.keys.sorted() where !neededNames.contains(name) { try connection.execute("DROP TRIGGER \"\(name)\"") }
    }
}
