// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Reads and writes in one transaction of a store. Valid only inside the closure that receives it.
///
/// Writes are recorded in history: ``apply(_:)`` writes one history transaction; touches by ``nullifyReferences(to:)``
/// join the next one, or the last of the closure.
package final class StoreWriter: StoreReader {
    var history: HistoryDraft
    /// Rows with a position in an ordered relationship among the changes.
    var placed: Set<RowKey> = []
    /// Last positions of ordered relationships in this transaction, so that each list is searched for its end once.
    var lastPlaces: [OrderedOwner: Int64] = [:]
    /// Files of large values.
    var external = ExternalDraft()
    private var lastAuthor: (author: String?, contextName: String?)?

    override init(_ connection: Connection, _ store: SQLiteStore) {
        history = HistoryDraft(isEnabled: store.options.isHistoryEnabled)
        super.init(connection, store)
    }

    /// Reserves primary keys of an entity; keys of a rolled-back transaction are assigned again.
    package func allocateKeys(for entity: Int, count: Int) throws -> [RowKey] {
        if count <= 0 { return [] }
        let first = try reserveKeys(for: entity, count: count)
        return (0..<Int64(count)).map { RowKey(store: store.number, entity: entity, primaryKey: first + $0) }
    }

    /// Reserves consecutive keys without creating a list.
    ///
    /// - Returns: The first key.
    package func reserveKeys(for entity: Int, count: Int) throws -> Int64 {
        try raiseMaximum(of: try layout.entity(entity).rootNumber, by: count) - Int64(count) + 1
    }

    /// Writes one history transaction for all following ``apply(_:)`` calls with the same author, instead of one for
    /// each.
    ///
    /// History then lists each row once, and no row that was inserted and deleted.
    package func joinHistory() {
        if !history.isJoined, history.isEmpty { history = HistoryDraft(isEnabled: history.isEnabled, isJoined: true) }
    }

    /// Writes rows, links and history.
    ///
    /// - Returns: The number of the history transaction; nil when nothing was written, history is off, or
    ///   ``joinHistory()`` defers the transaction.
    /// - Throws: ``StoreError`` with `.conflict`, after trying everything, with each row that was concurrently changed or
    ///   deleted. The caller's transaction is rolled back when the error leaves its closure.
    @discardableResult
    package func apply(_ changes: StoreChanges) throws -> Int64? {
        if changes.isEmpty { return nil }
        if history.isJoined, let lastAuthor, lastAuthor.author != changes.author || lastAuthor.contextName != changes.contextName {
            _ = try writeHistory(author: lastAuthor.author, contextName: lastAuthor.contextName)
        }
        var conflicts: [RowConflict] = []
        placed = Set(changes.orders.lazy.flatMap(\.destinations))
        // Unique values become available once their rows are deleted or have others.
        let isUnique = changes.hasUniqueness(in: layout)
        if isUnique {
            try delete(changes.deletes, &conflicts)
            try vacate(changes.updates)
        }
        try writeRows(of: changes, &conflicts)
        try check(changes.owners, &conflicts)
        try link(changes.links)
        try reorder(changes.orders)
        if !isUnique { try delete(changes.deletes, &conflicts) }
        guard conflicts.isEmpty else {
            let names = Set(conflicts.map { layout.model.entities[$0.key.entityIndex].name }).sorted()
            throw StoreError(
                .conflict, "rows were changed concurrently", detail: names.joined(separator: ", "),
                conflicts: conflicts)
        }
        lastAuthor = (changes.author, changes.contextName)
        return history.isJoined ? nil : try writeHistory(author: changes.author, contextName: changes.contextName)
    }

    /// Writes history that no ``apply(_:)`` has written yet.
    func finish() throws {
        _ = try writeHistory(author: lastAuthor?.author, contextName: lastAuthor?.contextName)
        if !external.made.isEmpty { try layout.external?.syncFolders() }
        external.isReady = true
    }

    /// Runs a statement on tables of another module, such as the sync metadata.
    package func execute(_ sql: String, _ arguments: [SQLValue] = []) throws { try connection.execute(sql, arguments) }

    /// Runs a statement on tables of another module.
    ///
    /// - Returns: The number of changed rows.
    package func change(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int { try connection.change(sql, arguments) }

    /// Replaces the metadata of ``StoreReader/metadata()``, except for the store's own values.
    ///
    /// - Throws: ``StoreError`` with `.other` for a value that isn't a property-list value.
    package func setMetadata(_ metadata: [String: Any]) throws {
        var stored = try storedMetadata()
        stored.replaceVisible(with: metadata)
        try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try stored.encoded())])
    }

    /// Deletes the history transactions with smaller numbers. Their texts stay, as in Apple's stores.
    ///
    /// - Returns: The number of deleted transactions.
    @discardableResult
    package func purgeHistory(before number: Int64) throws -> Int {
        guard try hasHistory() else { return 0 }
        let count = try connection.first("SELECT COUNT(*) FROM ATRANSACTION WHERE Z_PK < ?", [.int(number)]) { $0.int(0) }
        try connection.execute("DELETE FROM ACHANGE WHERE ZTRANSACTIONID < ?", [.int(number)])
        try connection.execute("DELETE FROM ATRANSACTION WHERE Z_PK < ?", [.int(number)])
        return Int(count ?? 0)
    }

    /// - Returns: The new last key.
    func raiseMaximum(of number: Int64, by count: Int) throws(StoreError) -> Int64 {
        let last = try connection.first(
            "UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + ? WHERE Z_ENT = ? RETURNING Z_MAX",
            [.int(Int64(count)), .int(number)]
        ) { $0.int(0) }
        guard let last else {
            throw StoreError(.corrupt, "the store has lost an entity's keys", detail: "Z_ENT \(number)")
        }
        return last
    }
}
