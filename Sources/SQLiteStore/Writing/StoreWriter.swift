// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// What can be read and written in one transaction of a store. It must not leave the closure it was handed to.
///
/// What the methods write is history as well: ``apply(_:)`` writes one history transaction, and touches made by
/// ``nullifyReferences(to:)`` join the next one, or the last of the closure.
package final class StoreWriter: StoreReader {
    var history: HistoryDraft
    /// Rows whose place in an ordered relationship is part of the changes that are being written.
    var placed: Set<RowKey> = []
    /// Last places in ordered relationships that rows joined in this transaction, so that each list is searched for its end once.
    var lastPlaces: [OrderedOwner: Int64] = [:]
    /// Files of large values.
    var external = ExternalDraft()
    private var lastAuthor: (author: String?, contextName: String?)?

    override init(_ connection: Connection, _ store: SQLiteStore) {
        history = HistoryDraft(isEnabled: store.options.isHistoryEnabled)
        super.init(connection, store)
    }

    /// Reserves primary keys of an entity; keys of an undone transaction are given again.
    package func allocateKeys(for entity: Int, count: Int) throws -> [RowKey] {
        if count <= 0 { return [] }
        let first = try reserveKeys(for: entity, count: count)
        return (0..<Int64(count)).map { RowKey(store: store.number, entity: entity, primaryKey: first + $0) }
    }

    /// The same without a list.
    ///
    /// - Returns: The first of so many consecutive keys.
    package func reserveKeys(for entity: Int, count: Int) throws -> Int64 {
        try raiseMaximum(of: try layout.entity(entity).rootNumber, by: count) - Int64(count) + 1
    }

    /// Writes one history transaction for all ``apply(_:)`` calls that follow and have the same author, instead of one for each.
    ///
    /// History then lists each row once, and no row that was inserted and deleted again.
    package func joinHistory() {
        if !history.isJoined, history.isEmpty { history = HistoryDraft(isEnabled: history.isEnabled, isJoined: true) }
    }

    /// Writes rows, links and history.
    ///
    /// - Returns: The number of the history transaction; nil when there was nothing to write, history is off, or
    ///   the transaction is written later because of ``joinHistory()``.
    /// - Throws: ``StoreError`` with `.conflict` after everything was tried, listing each row that was changed or
    ///   deleted by somebody else. The caller's transaction is undone when the error leaves its closure.
    @discardableResult
    package func apply(_ changes: StoreChanges) throws -> Int64? {
        if changes.isEmpty { return nil }
        if history.isJoined, let lastAuthor, lastAuthor.author != changes.author || lastAuthor.contextName != changes.contextName {
            _ = try writeHistory(author: lastAuthor.author, contextName: lastAuthor.contextName)
        }
        var conflicts: [RowConflict] = []
        placed = Set(changes.orders.lazy.flatMap(\.destinations))
        // Values that must be unique are free once their rows are gone or have others.
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
                .conflict, "rows were changed by somebody else", detail: names.joined(separator: ", "),
                conflicts: conflicts)
        }
        lastAuthor = (changes.author, changes.contextName)
        return history.isJoined ? nil : try writeHistory(author: changes.author, contextName: changes.contextName)
    }

    /// Writes history that no ``apply(_:)`` has taken along.
    func finish() throws {
        _ = try writeHistory(author: lastAuthor?.author, contextName: lastAuthor?.contextName)
        if !external.made.isEmpty { try layout.external?.settle() }
        external.isReady = true
    }

    /// Runs a statement on tables that are the caller's own, such as the mirror's.
    package func execute(_ sql: String, _ arguments: [SQLValue] = []) throws { try connection.execute(sql, arguments) }

    /// The same.
    ///
    /// - Returns: How many rows were changed.
    package func change(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int { try connection.change(sql, arguments) }

    /// Replaces what ``StoreReader/metadata()`` returns, except for what belongs to the store itself.
    ///
    /// - Throws: ``StoreError`` with `.other` for a value that a property list cannot hold.
    package func setMetadata(_ metadata: [String: Any]) throws {
        var stored = try storedMetadata()
        stored.replaceVisible(with: metadata)
        try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try stored.encoded())])
    }

    /// Forgets the history transactions with a smaller number. Their texts stay, as in Apple's stores.
    ///
    /// - Returns: How many there were.
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
