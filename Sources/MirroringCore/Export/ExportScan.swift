// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// A transaction of the store's history, as far as mirroring reads it.
package struct LocalTransaction: Hashable, Sendable {
    package var number: Int64
    package var author: String?
    package var changes: [LocalChange]

    package init(number: Int64, author: String?, changes: [LocalChange]) {
        self.number = number
        self.author = author
        self.changes = changes
    }
}

package struct LocalChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case insert, update, delete }

    package var key: RowKey
    package var kind: Kind
    /// Names of the properties that an update changed.
    package var changedProperties: [String]

    package init(key: RowKey, kind: Kind, changedProperties: [String] = []) {
        self.key = key
        self.kind = kind
        self.changedProperties = changedProperties
    }
}

/// The first half of an export decision: reads history and marks records to send.
///
/// History is coalesced per object. New objects and new links get their record names here, and these are
/// committed together with the history token before anything is sent: a retry uses the same names, and creates no duplicates.
///
///     var scan = ExportScan(history, mapping: mapping)
///     let loaded = load(scan.needs)                                  // in the transaction that writes
///     let changes = scan.plan(loaded, names: names(scan.namesAtMost(loaded)))
///     write(changes, historyToken: scan.upTo)
package struct ExportScan: Sendable {
    /// A many-to-many relationship of one object.
    package struct Listing: Hashable, Sendable {
        package var owner: RowKey
        /// Index into the owner entity's `toMany`.
        package var relationship: Int

        package init(owner: RowKey, relationship: Int) {
            self.owner = owner
            self.relationship = relationship
        }
    }

    package struct Needs: Hashable, Sendable {
        /// Keys to load the metadata of, and to check for a row.
        package var keys: [RowKey] = []
        /// Relationships to list the present destinations of, with their metadata. All links of the owners, and the metadata of the objects
        /// at their other ends, are needed as well.
        package var listings: [Listing] = []
        /// Of these, all links that touch them and all that is parked.
        package var deleted: [RowKey] = []
    }

    package struct Loaded: Sendable {
        package var records: [RowKey: RecordState] = [:]
        /// Which of all these keys have a row, those at the other ends of links included.
        package var existing: Set<RowKey> = []
        package var destinations: [Listing: [RowKey]] = [:]
        package var links: [LinkState] = []
        package var parked: [ParkedRelationship] = []
        /// Names of new objects that follow from their values.
        package var uniqueNames: [RowKey: String] = [:]

        package init() {}
    }

    private enum Coalesced: Hashable { case new, changed(Set<String>), deleted }

    /// Number of the last transaction that was read, those of import included; nil when there was none.
    package let upTo: Int64?
    package private(set) var needs = Needs()
    let mapping: RecordMapping
    private var keys: [RowKey] = []
    private var changes: [RowKey: Coalesced] = [:]

    /// - Parameter history: In order. Transactions that import wrote count for upTo only.
    package init(_ history: [LocalTransaction], mapping: RecordMapping) {
        precondition(zip(history, history.dropFirst()).allSatisfy { $0.number < $1.number }, "history is read in order")
        self.mapping = mapping
        upTo = history.last?.number
        for transaction in history where !MirrorNames.isMirror(transaction.author) {
            for change in transaction.changes where mapping.entities[change.key.entityIndex] != nil { coalesce(change) }
        }
        findNeeds()
    }

    private mutating func coalesce(_ change: LocalChange) {
        guard let earlier = changes[change.key] else {
            keys.append(change.key)
            changes[change.key] =
                switch change.kind {
                case .insert: .new
                case .update: .changed(Set(change.changedProperties))
                case .delete: .deleted
                }
            return
        }
        switch (earlier, change.kind) {
        case (_, .delete): changes[change.key] = .deleted
        case (_, .insert): changes[change.key] = .new
        case (.changed(let names), .update): changes[change.key] = .changed(names.union(change.changedProperties))
        case (.new, .update), (.deleted, .update): break
        }
    }

    /// Rows that are there, in the order of history, with the properties that changed; nil for all of them.
    var orderChanges: [(key: RowKey, names: Set<String>?)] {
        guard mapping.hasOrder else { return [] }
        return keys.compactMap { key in
            switch changes[key] {
            case .new: (key, nil)
            case .changed(let names): (key, names)
            case .deleted, nil: nil
            }
        }
    }

    private mutating func findNeeds() {
        needs.keys = keys
        // Which relationships of an entity are kept as links.
        var linked: [Int: [(index: Int, name: String)]] = [:]
        for key in keys {
            let entity = key.entityIndex, change = changes[key]
            if change == .deleted {
                needs.deleted.append(key)
                continue
            }
            if linked[entity] == nil {
                let toMany = mapping.model.entities[entity].toMany
                linked[entity] = toMany.indices.filter { mapping.link(entity: entity, toMany: $0) != nil }.map { ($0, toMany[$0].name) }
            }
            for (index, name) in linked[entity] ?? [] {
                if case .changed(let names) = change, !names.contains(name) { continue }
                needs.listings.append(Listing(owner: key, relationship: index))
            }
        }
    }

    /// How many names ``plan(_:names:)`` may take at most.
    package func namesAtMost(_ loaded: Loaded) -> Int {
        keys.count + loaded.destinations.values.reduce(0) { $0 + 2 * $1.count }
    }

    package func plan(_ loaded: Loaded, names: consuming NewRecordNames) -> BookkeepingChanges {
        var draft = Draft(mapping: mapping, loaded: loaded, mark: upTo ?? 0, names: names, count: keys.count)
        for key in keys where changes[key] != .deleted && loaded.existing.contains(key) { draft.markForUpload(key) }
        for listing in needs.listings where loaded.existing.contains(listing.owner) { draft.compareLinks(listing) }
        for key in keys where changes[key] == .deleted { draft.markForDeletion(key) }
        return draft.changes
    }
}
