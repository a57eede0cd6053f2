// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import SQLiteStore

// Starting over: what is known of the home zone holds no more.

extension MirrorFile {
    /// Begins anew with the home zone.
    func reset(_ reset: SyncMachine.Reset) throws -> [RowKey] {
        try store.write { writer in
            try ZoneTable.beginFullFetch(MirrorZone.home, writer)
            if reset != .fetchAgain {
                try OutboxTable.removeAll(writer)
                try MirrorState.set(.homeDeletion, .null, writer)
            }
            switch reset {
            case .fetchAgain: return []
            case .uploadAgain:
                try sendAgain(MirrorZone.home, writer)
                return []
            case .removeRows: return try removeRows(writer)
            }
        }
    }

    /// Marks everything in a zone to be sent, as if the server had nothing of it. Records that the server does have are merged with when
    /// they are fetched: values that differ go to the conflict log.
    func sendAgain(_ zone: Int64, _ writer: StoreWriter) throws {
        let now = MirrorStage.needsUpload.rawValue, gone = MirrorStage.needsDelete.rawValue
        let missing = MirrorStage.missing.rawValue
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute("DELETE FROM \(table) WHERE zone = \(zone) AND stage IN (\(gone), \(missing))")
            try writer.execute("UPDATE \(table) SET tag = NULL, stage = \(now), failure = NULL WHERE zone = \(zone)")
        }
        try writer.execute("UPDATE TARN_RECORD SET ancestor = NULL, unapplied = NULL, digests = NULL WHERE zone = \(zone)")
    }

    /// The user deleted the app's data elsewhere: what came from there, or went there, goes here too. What was made
    /// here and never sent stays.
    private func removeRows(_ writer: StoreWriter) throws -> [RowKey] {
        try scan(writer)
        var keys = try reader(writer).keysOnServer()
        if !keys.isEmpty {
            let owner = try signIn(writer).owner
            let copy = try archive(ArchiveNote(owner: owner, date: now, objectCount: Int64(try allKeys(writer).count)))
            try note(AccountChange(kind: .dataDeleted, outcome: .emptied, date: now, previous: owner, present: owner, archive: copy), writer)
        }
        let along = try goingAlong(with: keys, writer)
        keys += along.keys
        try delete(keys, writer)
        try forget(along, writer)
        let home = "zone = \(MirrorZone.home)"
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute("DELETE FROM \(table) WHERE \(home) AND (tag IS NOT NULL OR stage <> \(MirrorStage.needsUpload.rawValue))")
        }
        try writer.execute(
            """
            DELETE FROM TARN_LINK WHERE \(home) AND (first NOT IN (SELECT name FROM TARN_RECORD WHERE \(home)) \
            OR second NOT IN (SELECT name FROM TARN_RECORD WHERE \(home)))
            """)
        for table in ["TARN_PARKED", "TARN_MERGED"] + IncompleteTable.tables { try writer.execute("DELETE FROM \(table) WHERE \(home)") }
        return keys
    }

    /// What was never sent and cannot be without something that goes.
    private func goingAlong(with keys: [RowKey], _ writer: StoreWriter) throws -> RemovedRows {
        let bookkeeping = reader(writer)
        var others: [(row: Row, state: RecordState)] = []
        var names: [RowKey: String] = [:]
        if mapping.hasRequirements {
            let gone = Set(keys)
            for row in try writer.rows(try bookkeeping.keys().filter { !gone.contains($0) }) {
                if let state = try bookkeeping.record(of: row.key) { others.append((row, state)) }
                for key in row.references where names[key] == nil { names[key] = try bookkeeping.name(of: key) }
            }
        }
        return RemovedRows(with: keys, among: others, names: names, mapping: mapping)
    }

    private func forget(_ removed: RemovedRows, _ writer: StoreWriter) throws {
        let bookkeeping = reader(writer)
        var changes = BookkeepingChanges()
        changes.conflicts = removed.conflicts
        for key in removed.keys { if let state = try bookkeeping.record(of: key) { changes.removedRecords.append(state.recordName) } }
        try self.writer(writer, zone: MirrorZone.home).write(changes, now: now)
    }

    /// Deletes rows as what comes from outside, with all references to them.
    func delete(_ keys: [RowKey], _ writer: StoreWriter) throws {
        if keys.isEmpty { return }
        try writer.nullifyReferences(to: keys)
        try RankTable.forget(keys, mapping, writer)
        var changes = StoreChanges()
        changes.deletes = keys.map { RowDelete(key: $0, expectedVersion: nil) }
        changes.author = MirrorNames.resetAuthor
        try writer.apply(changes)
    }
}
