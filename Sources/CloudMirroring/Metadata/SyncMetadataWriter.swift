// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import SQLiteStore

/// Writes the sync metadata of one zone, inside one transaction of the store. Each table's file has the statements of that table.
struct SyncMetadataWriter {
    let writer: StoreWriter
    let mapping: RecordMapping
    /// The number of the store in row keys.
    let store: UInt16
    /// The zone in which record names count.
    let zone: Int64

    var reader: SyncMetadataReader { SyncMetadataReader(reader: writer, mapping: mapping, store: store, zone: zone) }

    func entityName(_ key: RowKey) -> String { mapping.syncName(ofEntity: key.entityIndex) }

    /// - Parameter now: The date of conflicts, in seconds since 2001.
    func write(_ changes: BookkeepingChanges, now: Double) throws {
        for name in changes.removedRecords { try removeRecord(named: name) }
        if mapping.hasUniqueness { for name in changes.removedRecords { try removeRedirects(to: name) } }
        if mapping.hasOrderedLinks { try PositionTable.removePositions(ofLinks: changes.removedLinks, writer) }
        for name in changes.removedLinks { try removeLink(named: name) }
        for state in changes.records {
            try write(state)
            if mapping.isRanked(state.key.entityIndex) { try writePositions(of: state) }
            if mapping.isUnique(state.key.entityIndex), !state.isRelocated { try writeRedirects(to: state) }
        }
        for link in changes.links {
            try write(link)
            if mapping.hasOrderedLinks { try writePositions(of: link) }
        }
        for key in changes.unparked { try removeDeferredReference(key) }
        for reference in changes.parked { try write(reference) }
        if mapping.keepsIncomplete {
            try removeWithheld(changes.arrived)
            for record in changes.incomplete { try write(record) }
        }
        try ConflictTable.append(changes.conflicts, now: now, writer)
    }

    // MARK: The zone

    /// Puts an item behind all others of its table in the queue.
    func moveToEndOfQueue(_ name: String) throws {
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute(
                """
                UPDATE \(table) SET mark = 1 + COALESCE((SELECT MAX(mark) FROM \(table) WHERE zone = ?1 \
                AND \(MirrorStage.isPendingSQL)), mark) WHERE zone = ?1 AND name = ?2
                """, [.int(zone), .text(name)])
        }
    }

    /// Clears the rejections of the zone: the user's permission may have changed.
    func clearRejections() throws {
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute("UPDATE \(table) SET failure = NULL WHERE +zone = ? AND failure IS NOT NULL", [.int(zone)])
        }
    }

    /// Removes records and links with a pending deletion, which is not sent. Source records of relocated objects stay: the current record
    /// names them, and other devices may send them.
    func removePendingDeletions() throws {
        let condition = "zone = ? AND stage = \(MirrorStage.needsDelete.rawValue)"
        try writer.execute("DELETE FROM TARN_RECORD WHERE \(condition) AND +isRelocated = 0", [.int(zone)])
        try writer.execute("DELETE FROM TARN_LINK WHERE \(condition)", [.int(zone)])
    }

    func removePendingRecordDeletions() throws {
        try writer.execute("DELETE FROM TARN_RECORD WHERE zone = ? AND stage = \(MirrorStage.needsDelete.rawValue)", [.int(zone)])
    }

    /// Marks everything in the zone to be sent, as if the server had nothing of it. Records that the server does have are merged when they
    /// are fetched: values that differ go to the conflict log. So are records that the server was found to lack: their objects are still
    /// here.
    func markEverythingUnsent(_ sent: SentAgain = .all) throws {
        try writer.execute(
            "DELETE FROM TARN_RECORD WHERE zone = ? AND +isRelocated = 1 AND stage = \(MirrorStage.missing.rawValue)", [.int(zone)])
        try removePendingDeletions()
        let unsent = "tag = NULL, stage = \(MirrorStage.needsUpload.rawValue), failure = NULL"
        // Fields that this version of the model lacks stay: a record that the server does not have is sent with them.
        try writer.execute(
            "UPDATE TARN_RECORD SET \(unsent), ancestor = NULL, digests = NULL WHERE zone = ? AND +isRelocated = 0 AND \(sent.condition)",
            [.int(zone)])
        try writer.execute("UPDATE TARN_RECORD SET tag = NULL, failure = NULL WHERE zone = ? AND +isRelocated = 1", [.int(zone)])
        try writer.execute("UPDATE TARN_LINK SET \(unsent) WHERE zone = ?", [.int(zone)])
    }

    /// Removes records and links of the zone that the server had, or that are not to be sent.
    func removeSent() throws {
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute(
                "DELETE FROM \(table) WHERE zone = ? AND (tag IS NOT NULL OR stage <> \(MirrorStage.needsUpload.rawValue))", [.int(zone)])
        }
    }

    /// Removes deferred references, redirects and withheld records of the zone.
    func removeDependents() throws {
        for table in ["TARN_PARKED", "TARN_MERGED"] + WithheldTable.tables {
            try writer.execute("DELETE FROM \(table) WHERE zone = ?", [.int(zone)])
        }
    }

    /// Removes everything of the zone.
    func removeEverything() throws {
        for table in ["TARN_RECORD", "TARN_LINK"] { try writer.execute("DELETE FROM \(table) WHERE zone = ?", [.int(zone)]) }
        try removeDependents()
    }
}
