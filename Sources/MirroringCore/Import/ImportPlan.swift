// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import Foundation
package import ManagedModel

/// What to do with a row of the store.
package enum RowIntent: Hashable, Sendable {
    /// Keys are temporary: see ``ImportPlan/newKeys``.
    case insert(Row)
    /// The loaded row with its new values, and the changed slots.
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

/// The changes of the store and of the sync metadata that a change page makes, all in one transaction with the token.
///
/// Pages may be repeated, and their records in any order: a record with a known version changes nothing, a relationship without its target
/// is deferred, a link waits for both its ends.
///
/// Unsent changes of this device are merged: see ``RecordMerge`` for fields. A deletion beats edits on either side, and the edits go to the
/// conflict log.
package struct ImportPlan: Sendable {
    package struct Loaded: Sendable {
        /// By record name.
        package var records: [String: RecordState] = [:]
        package var links: [LinkState] = []
        package var parked: [ParkedRelationship] = []
        package var rows: [RowKey: Row] = [:]
        /// Keys with a row, of the requested ones.
        package var existing: Set<RowKey> = []
        /// Record names of the to-one targets of rows.
        package var names: [RowKey: String] = [:]
        /// Record names of targets in other zones, which no record of this one names: for the conflict log.
        package var namesElsewhere: [RowKey: String] = [:]
        /// Keys of rows that were relocated from this zone to another one, by their names here: records of other relocated objects may
        /// still refer to them.
        package var targetsElsewhere: [String: RowKey] = [:]
        /// Keys of rows that refer to a deleted row, by its key. The rows are among ``rows``.
        package var referrers: [RowKey: [RowKey]] = [:]
        /// Keys of rows that are loaded with their referrers, links and deferred references: the page gives their unique values to other
        /// rows, or deletes required targets.
        package var surrounded: [RowKey] = []
        /// Keys of rows of this zone that lost required targets to a page of another zone: see ``ImportPlan/incompleteElsewhere``. They are among
        /// ``surrounded``.
        package var incomplete: [RowKey] = []
        /// Redirects: names of surviving records, by the names of the superseded ones. Known survivors are among ``records``, and their
        /// rows among ``rows``.
        package var successors: [String: String] = [:]
        /// Merge bases of records that are still in the source zone of objects that were relocated to this zone, by their names here.
        package var former: [String: Ancestor] = [:]
        /// Names of records with unique values that rows of other zones have.
        package var heldBack: Set<String> = []
        /// Names of withheld objects that the page deletes.
        var deletedWithheld: Set<String> = []
        /// Contents by asset, without addresses.
        package var assets: [AssetValue: Data] = [:]

        package init() {}

        /// Adds the content of a needed asset.
        package mutating func add(_ content: Data, of asset: AssetValue) { assets[asset.canonical] = content }

        /// The assets of a plan's needs that are not here.
        package func missing(_ details: ImportNeeds.Details) -> [ImportNeeds.AssetNeed] {
            details.assets.filter { assets[$0.asset.canonical] == nil }
        }
    }

    package private(set) var rows: [RowIntent] = []
    package private(set) var links: [LinkIntent] = []
    /// Pairs with changed links: their positions in lists may have changed.
    package private(set) var pairsTouched: [LinkPair] = []
    /// Values that must be unique, of the rows that are inserted or changed.
    package private(set) var unique: [(values: UniqueValues, key: RowKey)] = []
    /// Unique values of records that the page deletes: an object that has them now may be the survivor of a merge on another device.
    package private(set) var given: [(values: UniqueValues, key: RowKey)] = []
    /// Rows that are withheld for a missing requirement, or were merged into others.
    package private(set) var takenBack: [RowKey] = []
    /// Rows that lost a required target, with their current records in other zones: a plan for each of those zones, of an empty page,
    /// gives them another target or withholds them.
    package private(set) var incompleteElsewhere: [RowKey] = []
    /// References of objects with records in other zones, to rows that are deleted or withheld.
    package private(set) var clearedElsewhere: [ClearedReference] = []
    package private(set) var bookkeeping = BookkeepingChanges()
    /// Records and deletions of the page that had an effect.
    package private(set) var recordsApplied = 0

    private init() {}

    /// Plans a page, by passes in a fixed order. Each pass relies on those before it:
    ///
    ///     Supersession → Deletions → Records → References → OneToOne → Links → BlockedValues → Uniqueness → Redirects → Requirements
    ///
    /// - Precondition: The page follows the stored token, and `loaded` has all that ``ImportNeeds`` names.
    package static func make(_ page: ImportPage, loaded: Loaded, mapping: RecordMapping) -> ImportPlan {
        var work = ImportWorkspace(page: page, loaded: loaded, mapping: mapping)
        let supersession = SupersessionPass.run(&work)
        DeletionPass.run(supersession.postponed, &work)
        let records = RecordPass.run(&work)
        let claims = ReferencePass.run(records.references, &work)
        OneToOnePass.run(records.claims + claims, &work)
        LinkPass.run(&work)
        BlockedValuesPass.run(&work)
        UniquenessPass.run(&work)
        RedirectPass.run(&work)
        RequirementPass.run(&work)
        var plan = ImportPlan()
        plan.links = LinkPass.conclude(&work)
        plan.rows = work.rows.intents
        plan.pairsTouched = mapping.hasOrderedLinks ? work.links.pairsTouched : []
        plan.bookkeeping = work.metadataChanges
        plan.takenBack = work.displaced
        plan.incompleteElsewhere = work.incompleteElsewhere
        plan.clearedElsewhere = work.clearedElsewhere
        for intent in mapping.hasUniqueness ? plan.rows : [] {
            switch intent {
            case .insert(let row), .update(let row, _): plan.unique += mapping.uniqueValues(of: row).map { ($0, row.key) }
            case .delete: continue
            }
        }
        plan.given = supersession.freedValues
        plan.recordsApplied = work.recordsApplied
        return plan
    }

    /// Temporary keys, those of the rows to be inserted in order.
    package var newKeys: [RowKey] {
        let inserted = rows.compactMap { if case .insert(let row) = $0 { row.key } else { nil } }
        // A row that was inserted and merged by the same page: its record has to be deleted.
        let temporary = bookkeeping.records.lazy.map(\.key).filter(\.isTemporary)
        if temporary.isEmpty { return inserted }
        let known = Set(inserted)
        return inserted + temporary.filter { !known.contains($0) }
    }

    /// Names of the records that the plan writes, by their rows.
    package var recordNames: [RowKey: String] {
        Dictionary(bookkeeping.records.map { ($0.key, $0.recordName) }, uniquingKeysWith: { _, last in last })
    }

    /// Names of the records of rows that the plan inserts.
    package var insertedNames: [String] {
        let names = recordNames
        return rows.compactMap { if case .insert(let row) = $0 { names[row.key] } else { nil } }
    }

    package var deletedKeys: Set<RowKey> {
        var keys: Set<RowKey> = []
        for case .delete(let key, _) in rows { keys.insert(key) }
        return keys
    }

    /// Replaces temporary keys by keys that the store allocated.
    package func assigning(_ keys: [RowKey: RowKey]) -> ImportPlan {
        if keys.isEmpty { return self }
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
