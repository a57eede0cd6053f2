// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import Foundation
package import ManagedModel

/// What to do with a row of the store.
package enum RowIntent: Hashable, Sendable {
    /// Keys are temporary: see ``ImportPlan/newKeys``.
    case insert(Row)
    /// The row as it was read with its new values, and the slots that differ.
    case update(Row, changedSlots: [Int])
    case delete(RowKey, version: Int64)
}

/// A pair of a many-to-many relationship to be linked or unlinked, from its first side.
package struct LinkIntent: Hashable, Sendable {
    package var owner: RowKey
    /// Index into the owner entity's `toMany`.
    package var relationship: Int
    package var destination: RowKey
    package var isAddition: Bool
}

/// What a page of changes does to the store and to the bookkeeping, all of it in one transaction with the token.
///
/// Pages may come again, and their records in any order: a record whose version is known changes nothing, a
/// relationship whose target has not come is parked until it does, a link waits for both its ends.
///
/// What this device did and has not sent yet is respected: see ``RecordMerge`` for fields. A deletion beats
/// edits on either side, and what the edits said goes to the conflict log.
package struct ImportPlan: Sendable {
    package struct Loaded: Sendable {
        /// By record name.
        package var records: [String: RecordState] = [:]
        package var links: [LinkState] = []
        package var parked: [ParkedRelationship] = []
        package var rows: [RowKey: Row] = [:]
        /// Keys that have a row, of those that were asked about.
        package var existing: Set<RowKey> = []
        /// Record names of the to-one targets of rows.
        package var names: [RowKey: String] = [:]
        /// Record names of targets in other zones, which no record of this one names: for the conflict log.
        package var namesElsewhere: [RowKey: String] = [:]
        /// Keys of rows whose records came to another zone from this one, by the names that they had here: objects that have moved as well
        /// may be said here to refer to them.
        package var targetsElsewhere: [String: RowKey] = [:]
        /// Keys of rows that refer to a row that goes, by that row's key. The rows are among ``rows``.
        package var referrers: [RowKey: [RowKey]] = [:]
        /// Keys of rows that are loaded with what refers to them, their links and what is parked: the page gives their values to others as
        /// well, or takes what they must have.
        package var surrounded: [RowKey] = []
        /// Names of records that took over the objects of others, by the names of those. The records are among ``records``, as far as they
        /// are there, and their rows among ``rows``.
        package var successors: [String: String] = [:]
        /// What records in their old zone said last whose objects moved to this one and that are still there, by their names here.
        package var former: [String: Ancestor] = [:]
        /// Names of records whose rows would have values that must be unique and that rows of other zones have.
        package var heldBack: Set<String> = []
        /// Contents by asset, without addresses.
        package var assets: [AssetValue: Data] = [:]

        package init() {}

        /// Adds the content of an asset that was asked for.
        package mutating func add(_ content: Data, of asset: AssetValue) { assets[asset.canonical] = content }

        /// The assets of a plan's needs that are not here.
        package func missing(_ details: ImportNeeds.Details) -> [ImportNeeds.AssetNeed] {
            details.assets.filter { assets[$0.asset.canonical] == nil }
        }
    }

    package private(set) var rows: [RowIntent] = []
    package private(set) var links: [LinkIntent] = []
    /// Pairs whose links came, changed or went: their places in lists may be others.
    package private(set) var pairsTouched: [LinkPair] = []
    /// Values that must be unique, of the rows that are inserted or changed.
    package private(set) var unique: [(values: UniqueValues, key: RowKey)] = []
    /// Values that must be unique and that records had which the page says are deleted: what has them now may be what they were
    /// merged into elsewhere.
    package private(set) var given: [(values: UniqueValues, key: RowKey)] = []
    /// Rows that go because they lost what they must have, or were merged into others.
    package private(set) var takenBack: [RowKey] = []
    package private(set) var bookkeeping = BookkeepingChanges()
    /// Records and deletions of the page that meant something here.
    package private(set) var recordsApplied = 0

    /// - Precondition: The page follows the stored token, and all it needs is in `loaded`.
    package init(_ page: ImportPage, loaded: Loaded, mapping: RecordMapping) {
        var draft = ImportDraft(page: page, loaded: loaded, mapping: mapping)
        draft.run()
        rows = draft.rows.intents
        links = draft.linkIntents
        pairsTouched = mapping.hasOrderedLinks ? draft.links.pairsTouched : []
        bookkeeping = draft.changes
        takenBack = draft.takenBack
        for intent in rows {
            switch intent {
            case .insert(let row), .update(let row, _): unique += mapping.uniqueValues(of: row).map { ($0, row.key) }
            case .delete: continue
            }
        }
        given = draft.given
        recordsApplied = draft.recordsApplied
    }

    /// Temporary keys, those of the rows to be inserted in order.
    package var newKeys: [RowKey] {
        let inserted = rows.compactMap { if case .insert(let row) = $0 { row.key } else { nil } }
        // A row that came and was merged into another at once: its record has to be deleted.
        let known = Set(inserted)
        return inserted + bookkeeping.records.map(\.key).filter { $0.isTemporary && !known.contains($0) }
    }

    /// Names of the records that the plan writes, by their rows.
    package var recordNames: [RowKey: String] {
        Dictionary(bookkeeping.records.map { ($0.key, $0.recordName) }, uniquingKeysWith: { _, last in last })
    }

    package var deletedKeys: Set<RowKey> {
        Set(rows.compactMap { if case .delete(let key, _) = $0 { key } else { nil } })
    }

    /// Puts keys that the store allocated in the place of temporary ones, everywhere.
    package func assigning(_ keys: [RowKey: RowKey]) -> ImportPlan {
        func assigned(_ key: RowKey) -> RowKey {
            guard key.isTemporary else { return key }
            guard let real = keys[key] else { preconditionFailure("every new row of a plan gets a key from the store") }
            return real
        }
        func assigned(_ row: Row) -> Row {
            var row = row
            row.key = assigned(row.key)
            for slot in row.values.indices {
                if let key = row.values[slot].reference { row.values[slot] = .reference(assigned(key)) }
            }
            return row
        }
        var plan = self
        plan.rows = rows.map { intent in
            switch intent {
            case .insert(let row): .insert(assigned(row))
            case .update(let row, let changedSlots): .update(assigned(row), changedSlots: changedSlots)
            case .delete: intent
            }
        }
        for index in plan.links.indices {
            plan.links[index].owner = assigned(plan.links[index].owner)
            plan.links[index].destination = assigned(plan.links[index].destination)
        }
        for index in plan.bookkeeping.records.indices {
            plan.bookkeeping.records[index].key = assigned(plan.bookkeeping.records[index].key)
        }
        return plan
    }
}
