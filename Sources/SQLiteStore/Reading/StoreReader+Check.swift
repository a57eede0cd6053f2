// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension StoreReader {
    /// Checks the invariants of a store. Slow: it reads every table.
    ///
    /// Invariants:
    /// - the file is sound
    /// - every row is of an entity that its table holds, and its key was assigned
    /// - every to-one relationship is empty or leads to a row, and every join record joins two rows
    /// - every change in the history belongs to a transaction, and numbers stay below those assigned
    ///
    /// - Returns: A sentence for each violated invariant, without stored values.
    package func problems() throws -> [String] {
        var problems: [String] = []
        try query("PRAGMA integrity_check") { row in
            if let text = row.text(0), text != "ok" { problems.append("the file: \(text)") }
        }
        func count(_ summary: String, _ sql: String) throws {
            let violationCount = try connection.first("SELECT COUNT(*) FROM \(sql)") { $0.int(0) } ?? 0
            if violationCount > 0 { problems.append("\(violationCount) \(summary)") }
        }
        for case let entity? in layout.entities {
            let table = identifier(entity.table)
            if entity.ownsTable {
                let numbers = entity.hierarchyNumbers.map { String($0) }.joined(separator: ", ")
                try count("rows of \(entity.table) with an unknown entity", "\(table) WHERE Z_ENT NOT IN (\(numbers))")
                try count(
                    "rows of \(entity.table) with keys that were not given out",
                    "\(table) WHERE Z_PK > (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(entity.number))")
            }
            for (slot, place) in entity.slots.enumerated() {
                guard case .reference(let reference) = place, let destination = layout.entities[reference.destination]
                else { continue }
                try count(
                    "dangling values of \(entity.name).\(layout.model.entities[entity.index].slots[slot].name)",
                    """
                    \(table) r LEFT JOIN \(identifier(destination.table)) d ON d.Z_PK = r.\(identifier(reference.column)) \
                    WHERE r.Z_ENT = \(entity.number) AND r.\(identifier(reference.column)) IS NOT NULL AND d.Z_PK IS NULL
                    """)
            }
        }
        for join in layout.joins {
            for (column, root) in [(join.first, join.firstRoot), (join.second, join.secondRoot)] {
                guard let table = layout.entities[root]?.table else { continue }
                try count(
                    "dangling pairs in \(join.name).\(column)",
                    """
                    \(identifier(join.name)) j LEFT JOIN \(identifier(table)) d ON d.Z_PK = j.\(identifier(column)) \
                    WHERE d.Z_PK IS NULL
                    """)
            }
        }
        guard try hasHistory() else { return problems }
        try count(
            "changes without a transaction", "ACHANGE WHERE ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)")
        try count(
            "transactions ahead of their counter",
            "ATRANSACTION WHERE Z_PK > (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = \(HistoryEntity.transaction))")
        return problems
    }
}
