// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension StoreReader {
    /// - Returns: The number of the last history transaction, 0 when there was none.
    package func latestTransaction() throws -> Int64 {
        try connection.first("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", [.int(HistoryEntity.transaction)]) {
            $0.int(0)
        } ?? 0
    }

    /// - Returns: Transactions with a greater number, oldest first, with their changes in the order they were made.
    package func history(after number: Int64, limit: Int? = nil) throws -> [HistoryTransaction] {
        let heads = try historyHeads(after: number, limit: limit)
        guard let last = heads.last else { return [] }
        let changes = try historyChanges("> \(number) AND ZTRANSACTIONID <= \(last.number)")
        return heads.map { $0.with(changes[$0.number] ?? []) }
    }

    /// - Returns: Transactions with a greater number, oldest first, without their changes.
    package func historyHeads(after number: Int64, limit: Int? = nil) throws -> [HistoryTransaction] {
        var heads: [HistoryTransaction] = []
        guard try hasHistory() else { return [] }
        try connection.query(
            """
            SELECT t.Z_PK, t.ZTIMESTAMP, \(try historyTexts()) FROM ATRANSACTION t \
            LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS \
            LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS \
            LEFT JOIN ATRANSACTIONSTRING b ON b.Z_PK = t.ZBUNDLEIDTS \
            LEFT JOIN ATRANSACTIONSTRING p ON p.Z_PK = t.ZPROCESSIDTS \
            WHERE t.Z_PK > ? ORDER BY t.Z_PK LIMIT ?
            """, [.int(number), .int(Int64(limit ?? -1))]
        ) { row in
            heads.append(
                HistoryTransaction(
                    number: row.int(0), timestamp: row.double(1), author: row.text(2), contextName: row.text(3),
                    bundleID: row.text(4), processID: row.text(5), changes: []))
        }
        return heads
    }

    /// - Returns: The changes of some transactions, in the order they were made.
    package func historyChanges(of transactions: [Int64]) throws -> [Int64: [HistoryChange]] {
        guard let first = transactions.min(), let last = transactions.max() else { return [:] }
        if last - first + 1 == Int64(transactions.count) {
            return try historyChanges(">= \(first) AND ZTRANSACTIONID <= \(last)")
        }
        return try historyChanges("IN (\(transactions.map { String($0) }.joined(separator: ", ")))")
    }

    /// - Returns: 0 when there is none.
    package func lastTransaction(notAfter timestamp: Double) throws -> Int64 { try lastTransaction("<= ?", timestamp) }

    /// - Returns: 0 when there is none.
    package func lastTransaction(before timestamp: Double) throws -> Int64 { try lastTransaction("< ?", timestamp) }

    private func lastTransaction(_ condition: String, _ timestamp: Double) throws -> Int64 {
        guard try hasHistory() else { return 0 }
        return try connection.first("SELECT MAX(Z_PK) FROM ATRANSACTION WHERE ZTIMESTAMP \(condition)", [.double(timestamp)]) {
            $0.int(0)
        } ?? 0
    }

    /// Whether the store has the tables of a history. One that was never opened with history has none.
    func hasHistory() throws(StoreError) -> Bool {
        try connection.first(
            "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('ATRANSACTION', 'ACHANGE', 'ATRANSACTIONSTRING')"
        ) { $0.int(0) } == 3
    }

    /// Author, context name, bundle and process: by reference, or inline as older frameworks wrote them; a store has
    /// the columns of the framework that made it.
    private func historyTexts() throws(StoreError) -> String {
        let columns = try connection.columnNames(of: "ATRANSACTION")
        return [("a", "ZAUTHOR"), ("c", "ZCONTEXTNAME"), ("b", "ZBUNDLEID"), ("p", "ZPROCESSID")].map { alias, column in
            columns.contains(column) ? "IFNULL(\(alias).ZNAME, t.\(column))" : "\(alias).ZNAME"
        }.joined(separator: ", ")
    }

    private func historyChanges(_ condition: String) throws -> [Int64: [HistoryChange]] {
        var changes: [Int64: [HistoryChange]] = [:]
        // A store of Apple's that is only read may have fewer of them.
        let present = Set(try connection.columnNames(of: "ACHANGE"))
        let tombstones = (0..<layout.tombstoneCount).map { present.contains("ZTOMBSTONE\($0)") ? ", ZTOMBSTONE\($0)" : ", NULL" }.joined()
        try connection.query(
            """
            SELECT ZTRANSACTIONID, Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS\(tombstones) FROM ACHANGE \
            WHERE ZTRANSACTIONID \(condition) ORDER BY ZTRANSACTIONID, Z_PK
            """
        ) { row in
            if let change = try change(row) { changes[row.int(0), default: []].append(change) }
        }
        return changes
    }

    /// - Returns: nil for a change of an entity that this store does not have.
    private func change(_ row: SQLRow) throws(StoreError) -> HistoryChange? {
        guard let kind = HistoryChange.Kind(rawValue: Int(row.int(2))),
            let index = layout.entityIndex(number: row.int(3)), let entity = layout.entities[index]
        else { return nil }
        var tombstone: [String: StoredValue] = [:]
        if kind == .delete {
            for (place, slot) in entity.tombstoneSlots.enumerated() {
                guard case .attribute(_, let storage) = entity.slots[slot] else { continue }
                let value = storage.decode(row.statement, Int32(6 + place))
                if !value.isNull { tombstone[layout.model.entities[index].slots[slot].name] = value }
            }
        }
        let bits = kind == .update ? row.blob(5).map { ChangedColumns(bitmap: $0) } : nil
        return HistoryChange(
            number: row.int(1), key: RowKey(store: store.number, entity: index, primaryKey: row.int(4)), kind: kind,
            changedProperties: bits?.properties(of: entity.historyProperties) ?? [], tombstone: tombstone)
    }
}
