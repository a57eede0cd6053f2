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
        struct Head {
            let number: Int64
            let timestamp: Double
            let strings: [String?]
        }
        var heads: [Head] = []
        try connection.query(
            """
            SELECT t.Z_PK, t.ZTIMESTAMP, IFNULL(a.ZNAME, t.ZAUTHOR), IFNULL(c.ZNAME, t.ZCONTEXTNAME), \
            IFNULL(b.ZNAME, t.ZBUNDLEID), IFNULL(p.ZNAME, t.ZPROCESSID) FROM ATRANSACTION t \
            LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS \
            LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS \
            LEFT JOIN ATRANSACTIONSTRING b ON b.Z_PK = t.ZBUNDLEIDTS \
            LEFT JOIN ATRANSACTIONSTRING p ON p.Z_PK = t.ZPROCESSIDTS \
            WHERE t.Z_PK > ? ORDER BY t.Z_PK LIMIT ?
            """, [.int(number), .int(Int64(limit ?? -1))]
        ) { row in
            heads.append(Head(number: row.int(0), timestamp: row.double(1), strings: (2...5).map(row.text)))
        }
        guard let last = heads.last else { return [] }
        var changes: [Int64: [HistoryChange]] = [:]
        let tombstones = (0..<layout.tombstoneCount).map { ", ZTOMBSTONE\($0)" }.joined()
        try connection.query(
            """
            SELECT ZTRANSACTIONID, Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS\(tombstones) FROM ACHANGE \
            WHERE ZTRANSACTIONID > ? AND ZTRANSACTIONID <= ? ORDER BY ZTRANSACTIONID, Z_PK
            """, [.int(number), .int(last.number)]
        ) { row in
            if let change = try change(row) { changes[row.int(0), default: []].append(change) }
        }
        return heads.map { head in
            HistoryTransaction(
                number: head.number, timestamp: head.timestamp, author: head.strings[0], contextName: head.strings[1],
                bundleID: head.strings[2], processID: head.strings[3], changes: changes[head.number] ?? [])
        }
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
