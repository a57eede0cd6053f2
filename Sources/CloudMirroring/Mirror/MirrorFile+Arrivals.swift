// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore
import Synchronization

// What waits in the zone of a share for an object, and what an object waits for, when it does not come there with a page as a new
// one: this device has moved it there itself, or knew it under its old place. Links and references may have come long before it.

/// Rows that were written beside what was to be written, and of which contexts are to be told.
final class RowsAside: Sendable {
    private let commit = Mutex<StoreCommit?>(nil)

    fileprivate func note(_ updated: [RowKey], _ owners: [RowKey], store: UInt16) {
        commit.withLock { commit in
            var all = commit ?? StoreCommit(store: store)
            all.updated += updated
            all.relationshipOwners.formUnion(owners)
            commit = all
        }
    }

    func take() -> StoreCommit? {
        commit.withLock { commit in
            defer { commit = nil }
            return commit
        }
    }
}

extension MirrorFile {
    /// Relates objects that are in a zone from now on.
    ///
    /// - Parameter names: Of their records.
    func relate(arrived names: [String], in zone: Int64, _ writer: StoreWriter) throws {
        let there = reader(writer, zone: zone)
        if try there.hasParked() {
            for name in names {
                for parked in try there.parked(destination: name) + there.parked(source: name) { try unpark(parked, writer, there) }
            }
        }
        for name in names { for link in try there.links(touching: name) where link.isLive { try join(link, writer, there) } }
    }

    private func unpark(_ parked: ParkedRelationship, _ writer: StoreWriter, _ there: BookkeepingReader) throws {
        guard let source = try there.record(named: parked.key.source), let target = try there.record(named: parked.destination)?.key,
            source.stage != .needsDelete, let row = try writer.row(source.key), try writer.row(target) != nil,
            let property = mapping.entities[source.key.entityIndex]?.mapping(of: parked.key.relationship),
            case .toOne(let relationship) = property.kind, mapping.model.entities[relationship.destination].hierarchy.contains(target.entityIndex)
        else { return }
        var done = BookkeepingChanges()
        done.unparked = [parked.key]
        if row.values[property.slot].isNull {
            var values = row.values
            values[property.slot] = .reference(target)
            var changes = StoreChanges()
            changes.author = MirrorNames.importAuthor
            changes.updates = [RowUpdate(key: row.key, expectedVersion: row.version, values: values, changedSlots: [property.slot])]
            try writer.apply(changes)
            aside.note([row.key], [target], store: store.number)
        } else if row.values[property.slot] != .reference(target) {
            // Whoever set something else could not see what was there.
            done.conflicts = [parked.lost(of: there.entityName(source.key), to: .local)]
        }
        try self.writer(writer, zone: there.zone).write(done, now: now)
    }

    /// Links the rows of a pair, if both are there.
    func join(_ link: LinkState, _ writer: StoreWriter, _ there: BookkeepingReader) throws {
        guard let relationship = mapping.links[link.pair.kind], let first = try there.record(named: link.pair.first),
            let second = try there.record(named: link.pair.second), first.stage != .needsDelete, second.stage != .needsDelete,
            try writer.row(first.key) != nil, try writer.row(second.key) != nil,
            relationship.accepts(first.key, second.key, in: mapping), try !isLinked(first.key, second.key, relationship, writer)
        else { return }
        var changes = StoreChanges()
        changes.author = MirrorNames.importAuthor
        changes.links = [
            LinkChange(owner: first.key, relationship: relationship.first.relationship, destination: second.key, isAddition: true)
        ]
        try writer.apply(changes)
        aside.note([], [first.key, second.key], store: store.number)
    }

    func isLinked(_ first: RowKey, _ second: RowKey, _ relationship: LinkMapping, _ reader: StoreReader) throws -> Bool {
        try reader.destinations(of: first, toMany: relationship.first.relationship).contains(second)
    }
}
