// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// Changes that the server rejected permanently: which there are, and how they give way to what the server has.
extension MirrorFile {
    struct Rejected: Sendable {
        var change: RejectedChange
        /// The object; of a join record that at its first end.
        var key: RowKey
        /// Of a join record; nil for the object's own values.
        var relationshipName: String?
        var zone: ZoneID
    }

    func rejected() throws -> [Rejected] {
        try store.write { writer in
            try BookkeepingTables.open(writer, home: homeZone)
            // A change since the rejection is pending again.
            try scan(writer)
            var rejected: [Rejected] = []
            for row in try ZoneTable.all(writer) {
                let bookkeeping = reader(writer, zone: row.zone.number)
                let (records, links) = try bookkeeping.rejected()
                for state in records {
                    guard let change = state.rejectedChange else { continue }
                    rejected.append(Rejected(change: change, key: state.key, zone: row.zone.id))
                }
                for link in links {
                    guard let change = link.rejectedChange, let end = try bookkeeping.record(named: link.pair.first) else { continue }
                    let name = mapping.links[link.pair.kind]?.first.relationshipName
                    rejected.append(Rejected(change: change, key: end.key, relationshipName: name ?? link.pair.kind.relationships, zone: row.zone.id))
                }
            }
            return rejected
        }
    }

    func rejectedCount() throws -> Int {
        try store.read { reader in
            var count = 0
            for table in ["TARN_RECORD", "TARN_LINK"] {
                try reader.query("SELECT COUNT(*) FROM \(table) WHERE failure IS NOT NULL") { count += Int($0.int(0)) }
            }
            return count
        }
    }

    /// Changes to revert, by zone.
    ///
    /// - Parameter keys: Objects whose rejected changes are reverted; nil reverts all rejected deletions.
    func reversions(of keys: [RowKey]?) throws -> [(row: ZoneTable.Row, reversion: Reversion)] {
        try store.write { writer in
            try scan(writer)
            var reversions: [(row: ZoneTable.Row, reversion: Reversion)] = []
            for row in try ZoneTable.all(writer) where row.zone.number >= firstZone {
                let bookkeeping = reader(writer, zone: row.zone.number)
                let rejected = try bookkeeping.rejected().records
                let states: [RecordState]
                if let keys {
                    // Also objects of which only a join record was rejected.
                    states = try keys.compactMap { key in
                        guard try bookkeeping.zone(of: key) == row.zone.number else { return nil }
                        return try bookkeeping.record(of: key)
                    }
                } else {
                    states = rejected.filter { $0.rejectedChange?.kind == .deletion }
                }
                var changes: [RejectedChange] = []
                var seen: Set<String> = []
                for state in states where seen.insert(state.recordName).inserted {
                    let change = state.rejectedChange
                    if let change { changes.append(change) }
                    for link in try bookkeeping.links(touching: state.recordName) where !seen.contains(link.recordName) {
                        // With an object that comes back comes what it was linked with, also where the server was not asked yet.
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
    /// References to an object that comes back, which its deletion had cleared, wait for it again where the server did not accept that they
    /// were cleared.
    ///
    /// - Returns: false if one of the changes is no longer the one that the server was asked about.
    func prepareReverting(_ page: ImportPage, of zone: MirrorZone, _ writer: StoreWriter) throws -> Bool {
        if page.reverted.isEmpty { return true }
        let bookkeeping = reader(writer, zone: zone.number)
        var restored: Set<String> = []
        for (name, tag) in page.reverted {
            if let state = try bookkeeping.record(named: name) {
                guard let change = state.rejectedChange, change.changeTag == tag else { return false }
                if change.kind == .deletion { restored.insert(name) }
            } else {
                guard let link = try bookkeeping.link(named: name), (link.rejectedChange ?? link.unsentDeletion)?.changeTag == tag else { return false }
            }
        }
        if restored.isEmpty { return true }
        var changes = BookkeepingChanges()
        for var state in try bookkeeping.rejected().records where state.stage == .needsUpload && page.reverted[state.recordName] == nil {
            guard let entity = mapping.entities[state.key.entityIndex], let row = try writer.row(state.key) else { continue }
            let parked = entity.clearedReferences(of: row, state, to: restored)
            if parked.isEmpty { continue }
            changes.parked += parked
            // Whatever else was changed is sent again, and rejected for itself.
            state.failure = nil
            changes.records.append(state)
        }
        if !changes.isEmpty { try self.writer(writer, zone: zone.number).write(changes, now: now) }
        return true
    }
}
