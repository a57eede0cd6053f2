// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// One-to-one relationships, which concurrent edits may leave one-sided.
struct OneToOneRelationships: FileTransactions {
    let file: MirrorFile

    /// Makes the one-to-one relationships of rows two-sided, after all pages of an import are applied.
    ///
    /// Only in the private database: records of others may be read-only for this user, and their owner's devices repair them.
    ///
    /// - Parameter commit: The commit of the last page, which gets the changed rows.
    /// - Returns: Rows that were related to others.
    func repair(_ suspects: Set<RowKey>, _ commit: inout StoreCommit, _ writer: StoreWriter) throws -> [ForwardedEdits.Connection] {
        guard scope == .private, !suspects.isEmpty else { return [] }
        let metadata = reader(writer)
        let repair = try OneToOneRepair.decide(
            suspects, mapping: mapping, row: { try writer.row($0) }, record: { try metadata.record(of: $0) },
            source: { try metadata.sourceRecord(of: $0)?.state })
        if repair.rows.isEmpty { return [] }
        var changes = StoreChanges()
        changes.author = MirrorNames.importAuthor
        let known = Set(commit.inserted).union(commit.updated)
        for case .update(let row, let slots) in repair.rows {
            let before = try writer.row(row.key)
            changes.updates.append(RowUpdate(key: row.key, expectedVersion: row.version, values: row.values, changedSlots: slots))
            if !known.contains(row.key) { commit.updated.append(row.key) }
            commit.relationshipOwners.formUnion(
                slots.flatMap { [row.values[$0].reference, before?.values[$0].reference].compactMap(\.self) })
        }
        commit.relationshipOwners.subtract(commit.inserted)
        try writer.apply(changes)
        for state in repair.records {
            let zone = try metadata.zone(of: state.key) ?? MirrorZone.home
            try self.writer(writer, zone: zone).write(repair.changes(of: state), now: now)
        }
        var log = BookkeepingChanges()
        log.conflicts = repair.conflicts
        try self.writer(writer, zone: MirrorZone.home).write(log, now: now)
        return repair.connections
    }
}
