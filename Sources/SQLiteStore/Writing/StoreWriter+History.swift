// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The history of one transaction in progress: one change per row, however often the row changes.
///
/// Rows are inserted, updated and deleted once each, so those changes are appended without lookup. Touches may concern
/// any of them: the first touch builds an index.
struct HistoryDraft {
    struct Change {
        let key: RowKey
        var kind: HistoryChange.Kind
        var bits: [Int]
        var tombstone: [SQLValue]
        /// Whether the row was inserted and deleted in the same transaction: history never lists it.
        var isVoid = false
    }

    let isEnabled: Bool
    /// Whether rows may be written repeatedly, because the transaction joins several ``StoreWriter/apply(_:)`` calls.
    let isJoined: Bool
    private(set) var changes: [Change] = []
    private var indexes: [RowKey: Int]?

    init(isEnabled: Bool, isJoined: Bool = false) {
        self.isEnabled = isEnabled
        self.isJoined = isJoined
        indexes = isJoined ? [:] : nil
    }

    var isEmpty: Bool { changes.isEmpty }

    mutating func insert(_ key: RowKey) { add(Change(key: key, kind: .insert, bits: [], tombstone: [])) }

    mutating func update(_ key: RowKey, bits: @autoclosure () -> [Int]) {
        guard isEnabled else { return }
        if let index = indexes?[key] {
            changes[index].bits += bits()
        } else {
            add(Change(key: key, kind: .update, bits: bits(), tombstone: []))
        }
    }

    mutating func delete(_ key: RowKey, tombstone: [SQLValue]) {
        if let index = indexes?[key] {
            if isJoined, changes[index].kind == .insert { changes[index].isVoid = true }
            changes[index].kind = .delete
            changes[index].tombstone = tombstone
        } else {
            add(Change(key: key, kind: .delete, bits: [], tombstone: tombstone))
        }
    }

    /// Marks a property of a row as changed; has no effect on inserted and deleted rows.
    mutating func touch(_ key: RowKey, bit: Int?) {
        guard isEnabled, let bit else { return }
        if indexes == nil {
            indexes = Dictionary(keepingFirst: changes.enumerated().map { ($1.key, $0) })
        }
        update(key, bits: [bit])
    }

    private mutating func add(_ change: Change) {
        guard isEnabled else { return }
        indexes?[change.key] = changes.count
        changes.append(change)
    }
}

extension StoreWriter {
    /// - Returns: The transaction's number; nil when nothing changed or history is off.
    func writeHistory(author: String?, contextName: String?) throws(StoreError) -> Int64? {
        let draft = history
        history = HistoryDraft(isEnabled: draft.isEnabled, isJoined: draft.isJoined)
        let changes = draft.isJoined ? draft.changes.filter { !$0.isVoid } : draft.changes
        if changes.isEmpty { return nil }
        let number = try raiseMaximum(of: HistoryEntity.transaction, by: 1)
        let strings = try [author, store.options.bundleID, contextName, store.options.processID].map {
            (name) throws(StoreError) in try stringKey(name)
        }
        try connection.execute(
            """
            INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZAUTHORTS, ZBUNDLEIDTS, ZCONTEXTNAMETS, ZPROCESSIDTS, ZTIMESTAMP) \
            VALUES (?, ?, 1, ?, ?, ?, ?, ?)
            """, [.int(number), .int(HistoryEntity.transaction)] + strings + [.double(store.options.clock())])
        try write(changes, transaction: number)
        return number
    }

    private func write(_ changes: [HistoryDraft.Change], transaction: Int64) throws(StoreError) {
        let last = try raiseMaximum(of: HistoryEntity.change, by: changes.count)
        let tombstones = layout.tombstoneCount
        let statement = try connection.statement(
            """
            INSERT INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS\
            \((0..<tombstones).map { ", ZTOMBSTONE\($0)" }.joined())) \
            VALUES (?, ?, 1, ?, ?, ?, ?, ?\(String(repeating: ", ?", count: tombstones)))
            """)
        for (index, change) in changes.enumerated() {
            let entity = try ownEntity(change.key)
            statement.bind(last - Int64(changes.count - 1 - index), 1)
            statement.bind(HistoryEntity.change, 2)
            statement.bind(Int64(change.kind.rawValue), 3)
            statement.bind(entity.number, 4)
            statement.bind(change.key.primaryKey, 5)
            statement.bind(transaction, 6)
            if change.kind == .update {
                var columns = ChangedColumns(propertyCount: entity.historyProperties.count)
                for bit in change.bits { columns.insert(bit) }
                try statement.bind(columns.bitmap, 7)
            } else {
                statement.bindNull(7)
            }
            for place in 0..<tombstones {
                try statement.bind(place < change.tombstone.count ? change.tombstone[place] : .null, Int32(8 + place))
            }
            try statement.run()
        }
    }

    private func stringKey(_ name: String?) throws(StoreError) -> SQLValue {
        guard let name else { return .null }
        let existingKey = try connection.first(
            "SELECT Z_PK FROM ATRANSACTIONSTRING WHERE ZNAME = ?", [.text(name)]
        ) { $0.int(0) }
        if let existingKey { return .int(existingKey) }
        let key = try raiseMaximum(of: HistoryEntity.string, by: 1)
        try connection.execute(
            "INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?, ?, 1, ?)",
            [.int(key), .int(HistoryEntity.string), .text(name)])
        return .int(key)
    }
}
