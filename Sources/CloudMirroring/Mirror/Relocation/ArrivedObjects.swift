// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// Deferred references and links of objects that reach the zone of a share by a relocation, and not as new objects of a page. They may
/// have arrived long before it.
struct ArrivedObjects: FileTransactions {
    let file: MirrorFile

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
        related.sorted(owners: try file.order.arrange(related.unsorted, zone: zone, writer))
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
        related.add(linked: first.key, second.key, lists: try file.order.lists(of: link.pair, metadata))
    }

    func isLinked(_ first: RowKey, _ second: RowKey, _ relationship: LinkMapping, _ reader: StoreReader) throws -> Bool {
        try reader.destinations(of: first, toMany: relationship.first.relationship).contains(second)
    }
}
