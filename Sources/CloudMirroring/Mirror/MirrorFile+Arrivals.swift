// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

// Deferred references and links of an object that reaches the zone of a share by a relocation, and not as a new object of a page. They may
// have arrived long before it.

/// A result of a transaction, with a commit of rows that it wrote in addition to its result. Contexts merge the commit.
struct Committed<Value> {
    var value: Value
    /// nil without such rows.
    var commit: StoreCommit?
}

extension Committed: Sendable where Value: Sendable {}

/// Rows that a transaction relates because a relocation has brought them into one zone.
struct RelatedRows: Sendable {
    private var updated: [RowKey] = []
    private var owners: Set<RowKey> = []
    /// Lists that members joined, and that are not in the order of their position keys yet.
    private(set) var unsorted: Set<OrderedList> = []
    /// Rows that may be in a one-sided relationship.
    private var suspects: Set<RowKey> = []

    mutating func add(updated row: Row, target: RowKey, lists: [OrderedList], suspects: Set<RowKey>) {
        updated.append(row.key)
        owners.insert(target)
        unsorted.formUnion(lists)
        self.suspects.formUnion(suspects)
    }

    /// Adds the rows of a repair.
    mutating func add(_ repaired: StoreCommit) {
        updated += repaired.updated
        owners.formUnion(repaired.relationshipOwners)
    }

    /// Returns the rows to check for one-sided relationships, once.
    mutating func takeSuspects() -> Set<RowKey> {
        defer { suspects = [] }
        return suspects
    }

    mutating func add(linked first: RowKey, _ second: RowKey, lists: [OrderedList]) {
        owners.formUnion([first, second])
        unsorted.formUnion(lists)
    }

    mutating func add(unsorted lists: [OrderedList]) { unsorted.formUnion(lists) }

    mutating func sorted(owners: [RowKey]) {
        self.owners.formUnion(owners)
        unsorted = []
    }

    func commit(store: UInt16) -> StoreCommit? {
        if updated.isEmpty, owners.isEmpty { return nil }
        var commit = StoreCommit(store: store)
        commit.updated = updated
        commit.relationshipOwners = owners
        return commit
    }
}

extension MirrorFile {
    /// Runs a transaction that may relate rows.
    func write<Value>(_ body: (StoreWriter, inout RelatedRows) throws -> Value) throws -> Committed<Value> {
        var related = RelatedRows()
        let value = try store.write { writer in
            let value = try body(writer, &related)
            try repair(&related, writer)
            return value
        }
        return Committed(value: value, commit: related.commit(store: store.number))
    }

    /// Makes one-to-one relationships two-sided that relocations have set. An import has applied its pages by then.
    private func repair(_ related: inout RelatedRows, _ writer: StoreWriter) throws {
        while case let suspects = related.takeSuspects(), !suspects.isEmpty {
            var commit = StoreCommit(store: store.number)
            let connections = try repairOneToOne(suspects, &commit, writer)
            related.add(commit)
            try follow(connections, writer, &related)
        }
    }

    /// Relates objects that are in a zone from now on.
    ///
    /// - Parameter names: The names of their records.
    func relate(arrived names: [String], in zone: Int64, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let metadata = reader(writer, zone: zone)
        if try metadata.hasDeferredReferences() {
            for name in names {
                for reference in try metadata.deferredReferences(to: name) + metadata.deferredReferences(from: name) {
                    try resolve(reference, writer, metadata, &related)
                }
            }
        }
        for name in names {
            for link in try metadata.links(touching: name) where link.isLive { try join(link, writer, metadata, &related) }
        }
        try sort(&related, in: zone, writer)
    }

    /// Puts the lists that members joined in the order of their position keys.
    func sort(_ related: inout RelatedRows, in zone: Int64, _ writer: StoreWriter) throws {
        if related.unsorted.isEmpty { return }
        related.sorted(owners: try arrange(related.unsorted, zone: zone, writer))
    }

    private func resolve(
        _ reference: ParkedRelationship, _ writer: StoreWriter, _ metadata: SyncMetadataReader, _ related: inout RelatedRows
    ) throws {
        let source = try metadata.record(named: reference.key.source)
        let row = try source.flatMap { try writer.row($0.key) }
        let target = try metadata.record(named: reference.destination).flatMap { try writer.row($0.key) }?.key
        var changes = BookkeepingChanges()
        changes.unparked = [reference.key]
        switch DeferredReferenceArrival.decide(reference, source: source, row: row, target: target, mapping: mapping) {
        case .waits: return
        case .done: break
        case .lost(let conflict): changes.conflicts = [conflict]
        case .set(let slot, let target):
            guard var row else { return }
            row.values[slot] = .reference(target)
            var rows = StoreChanges()
            rows.author = MirrorNames.importAuthor
            rows.updates = [RowUpdate(key: row.key, expectedVersion: row.version, values: row.values, changedSlots: [slot])]
            try writer.apply(rows)
            related.add(
                updated: row, target: target, lists: mapping.lists(with: row),
                suspects: OneToOneRepair.suspects(setting: slot, of: row.key, to: target, mapping: mapping))
        }
        try self.writer(writer, zone: metadata.zone).write(changes, now: now)
    }

    /// Links the rows of a pair, if both are shown.
    func join(_ link: LinkState, _ writer: StoreWriter, _ metadata: SyncMetadataReader, _ related: inout RelatedRows) throws {
        guard let relationship = mapping.links[link.pair.kind] else { return }
        let first = try metadata.record(named: link.pair.first), second = try metadata.record(named: link.pair.second)
        guard let first, let second, try relationship.links(first, second, in: mapping, hasRow: { try writer.row($0) != nil }),
            try !isLinked(first.key, second.key, relationship, writer)
        else { return }
        var changes = StoreChanges()
        changes.author = MirrorNames.importAuthor
        changes.links = [
            LinkChange(owner: first.key, relationship: relationship.first.relationship, destination: second.key, isAddition: true)
        ]
        try writer.apply(changes)
        related.add(linked: first.key, second.key, lists: try lists(of: link.pair, metadata))
    }

    func isLinked(_ first: RowKey, _ second: RowKey, _ relationship: LinkMapping, _ reader: StoreReader) throws -> Bool {
        try reader.destinations(of: first, toMany: relationship.first.relationship).contains(second)
    }
}
