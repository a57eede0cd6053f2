// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// Changes that the server rejected permanently, and their reversion to the server's values.
struct RejectedChanges: FileTransactions {
    let file: MirrorFile

    struct Rejected: Sendable {
        var change: RejectedChange
        /// The object; of a join record that at its first end.
        var key: RowKey
        /// Of a join record; nil for the object's own values.
        var relationshipName: String?
        var zone: ZoneID
    }

    func all() throws -> Committed<[Rejected]> {
        try write { writer, related in
            try SyncMetadataSchema.open(writer, home: homeZone)
            // A change since the rejection is pending again.
            try file.history.scan(writer, &related)
            var rejected: [Rejected] = []
            for row in try ZoneTable.all(writer) {
                let metadata = reader(writer, zone: row.zone.number)
                let (records, links) = try metadata.rejected()
                for state in records {
                    guard let change = state.rejectedChange else { continue }
                    rejected.append(Rejected(change: change, key: state.key, zone: row.zone.id))
                }
                for link in links {
                    guard let change = link.rejectedChange, let end = try metadata.record(named: link.pair.first) else { continue }
                    let name = mapping.links[link.pair.kind].map {
                        mapping.model.entities[$0.first.entity].toMany[$0.first.relationship].name
                    }
                    rejected.append(
                        Rejected(change: change, key: end.key, relationshipName: name ?? link.pair.kind.relationships, zone: row.zone.id))
                }
            }
            return rejected
        }
    }

    func count() throws -> Int { try store.read { try reader($0).rejectedCount() } }

    /// Changes to revert, by zone.
    ///
    /// - Parameter keys: The objects to revert; nil reverts all rejected deletions.
    func reversions(of keys: [RowKey]?) throws -> Committed<[(row: ZoneTable.Row, reversion: Reversion)]> {
        try write { writer, related in
            try file.history.scan(writer, &related)
            var reversions: [(row: ZoneTable.Row, reversion: Reversion)] = []
            for row in try ZoneTable.all(writer) where row.zone.number >= firstZone {
                let metadata = reader(writer, zone: row.zone.number)
                let rejected = try metadata.rejected().records
                let states: [RecordState]
                if let keys {
                    // Also objects of which only a join record was rejected.
                    states = try keys.compactMap { key in
                        guard try metadata.zone(of: key) == row.zone.number else { return nil }
                        return try metadata.record(of: key)
                    }
                } else {
                    states = rejected.filter { $0.rejectedChange?.kind == .deletion }
                }
                var changes: [RejectedChange] = []
                var seen: Set<String> = []
                for state in states where seen.insert(state.recordName).inserted {
                    let change = state.rejectedChange
                    if let change { changes.append(change) }
                    for link in try metadata.links(touching: state.recordName) where !seen.contains(link.recordName) {
                        // A restored object gets its links back, also those with an unsent deletion.
                        guard let linked = link.rejectedChange ?? (change?.kind == .deletion ? link.unsentDeletion : nil) else { continue }
                        seen.insert(link.recordName)
                        changes.append(linked)
                    }
                }
                if !changes.isEmpty { reversions.append((row, Reversion(of: changes))) }
            }
            return reversions
        }
    }

    /// Prepares the sync metadata for a page that reverts changes; other pages need nothing.
    ///
    /// References to a restored object, which its deletion had cleared, are deferred again if the server did not accept that change.
    ///
    /// - Returns: false if one of the changes has another version than the page is based on.
    func prepareReverting(_ page: ImportPage, of zone: MirrorZone, _ writer: StoreWriter) throws -> Bool {
        if page.reverted.isEmpty { return true }
        let metadata = reader(writer, zone: zone.number)
        var restored: Set<String> = []
        for (name, tag) in page.reverted {
            if let state = try metadata.record(named: name) {
                guard let change = state.rejectedChange, change.changeTag == tag else { return false }
                if change.kind == .deletion { restored.insert(name) }
            } else {
                guard let link = try metadata.link(named: name), (link.rejectedChange ?? link.unsentDeletion)?.changeTag == tag else {
                    return false
                }
            }
        }
        if restored.isEmpty { return true }
        var changes = BookkeepingChanges()
        for var state in try metadata.rejected().records where state.stage == .needsUpload && page.reverted[state.recordName] == nil {
            guard let entity = mapping.entities[state.key.entityIndex], let row = try writer.row(state.key) else { continue }
            let parked = entity.clearedReferences(of: row, state, to: restored)
            if parked.isEmpty { continue }
            changes.parked += parked
            // Other changes are sent again, and rejected on their own.
            state.failure = nil
            changes.records.append(state)
        }
        if !changes.isEmpty { try self.writer(writer, zone: zone.number).write(changes, now: now) }
        return true
    }
}
