// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import Synchronization

extension StoreReader {
    /// - Returns: The number of the last history transaction, 0 for an empty history.
    package func latestTransaction() throws -> Int64 {
        try connection.first("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", [.int(HistoryEntity.transaction)]) {
            $0.int(0)
        } ?? 0
    }

    /// - Returns: Transactions with a greater number, oldest first, with their changes in the order they were made.
    package func history(after number: Int64, limit: Int? = nil) throws -> [HistoryTransaction] {
        let heads = try historyHeads(after: number, limit: limit)
        guard let last = heads.last else { return [] }
        let changes = try historyChanges("BETWEEN ? AND ?", [.int(number + 1), .int(last.number)])
        return heads.map { $0.with(changes[$0.number] ?? []) }
    }

    /// - Returns: Transactions with a greater number, oldest first, without their changes.
    package func historyHeads(after number: Int64, limit: Int? = nil) throws -> [HistoryTransaction] {
        var heads: [HistoryTransaction] = []
        guard let columns = try historyColumns() else { return [] }
        try connection.query(
            """
            SELECT t.Z_PK, t.ZTIMESTAMP, \(columns.texts) FROM ATRANSACTION t \
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
            return try historyChanges("BETWEEN ? AND ?", [.int(first), .int(last)])
        }
        // One text for lists of any length, so that the statement is cached.
        let list = "[\(transactions.map { String($0) }.joined(separator: ","))]"
        return try historyChanges("IN (SELECT value FROM json_each(?))", [.text(list)])
    }

    /// - Returns: 0 without such a transaction.
    package func lastTransaction(notAfter timestamp: Double) throws -> Int64 { try lastTransaction("<= ?", timestamp) }

    /// - Returns: 0 without such a transaction.
    package func lastTransaction(before timestamp: Double) throws -> Int64 { try lastTransaction("< ?", timestamp) }

    private func lastTransaction(_ condition: String, _ timestamp: Double) throws -> Int64 {
        guard try hasHistory() else { return 0 }
        return try connection.first("SELECT MAX(Z_PK) FROM ATRANSACTION WHERE ZTIMESTAMP \(condition)", [.double(timestamp)]) {
            $0.int(0)
        } ?? 0
    }

    /// Whether the store has history tables. A store that was never opened with history has none.
    func hasHistory() throws(StoreError) -> Bool { try historyColumns() != nil }

    /// Cached until the file's schema version changes.
    private func historyColumns() throws(StoreError) -> HistoryColumns? {
        let version = try connection.first("PRAGMA schema_version") { $0.int(0) } ?? 0
        if let cached = store.historyColumns.withLock({ $0 }), cached.schemaVersion == version { return cached.columns }
        let columns = try HistoryColumns(connection, tombstones: layout.tombstoneCount)
        store.historyColumns.withLock { $0 = (version, columns) }
        return columns
    }

    private func historyChanges(_ condition: String, _ arguments: [SQLValue]) throws -> [Int64: [HistoryChange]] {
        var changes: [Int64: [HistoryChange]] = [:]
        guard let columns = try historyColumns() else { return changes }
        try connection.query(
            """
            SELECT ZTRANSACTIONID, Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS\(columns.tombstones) FROM ACHANGE \
            WHERE ZTRANSACTIONID \(condition) ORDER BY ZTRANSACTIONID, Z_PK
            """, arguments
        ) { row in
            if let change = try change(row) { changes[row.int(0), default: []].append(change) }
        }
        return changes
    }

    /// - Returns: nil for a change of an entity outside this store.
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
