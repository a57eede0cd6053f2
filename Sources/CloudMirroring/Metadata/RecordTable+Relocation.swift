// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

// Statements for relocations: an object's record leaves the home zone for the zone of a share.

extension SyncMetadataReader {
    /// Returns the record that a row had in its source zone; nil if the row was not relocated, or the server has deleted that record.
    func sourceRecord(of key: RowKey) throws -> (state: RecordState, zone: Int64)? {
        var source: Int64?
        try reader.query(
            "SELECT zone FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 1", [.text(entityName(key)), .int(key.primaryKey)]
        ) { source = $0.int(0) }
        guard let source,
            let state = try records("entity = ? AND pk = ? AND isRelocated = 1", [.text(entityName(key)), .int(key.primaryKey)]).first
        else { return nil }
        return (state, source)
    }

    /// Returns the zone of the current record of a name.
    func currentZone(ofRecordNamed name: String) throws -> Int64? {
        var zone: Int64?
        try reader.query(
            "SELECT zone FROM TARN_RECORD WHERE name = ? AND isRelocated = 0 AND zone IN (SELECT number FROM TARN_ZONE)", [.text(name)]
        ) { zone = $0.int(0) }
        return zone
    }

    /// Returns the names of records that are shown with edits of their source records, which the relocating device is to forward.
    func namesAwaitingEdits() throws -> [String] {
        try names(
            "SELECT name FROM TARN_RECORD WHERE zone = ? AND isRelocated = 0 AND instr(unapplied, ?) > 0 ORDER BY name",
            [.int(zone), .blob(Data(MirrorNames.awaited.utf8))])
    }

    /// Returns the names of records that others than a user created.
    func names(notCreatedBy user: String) throws -> [String] {
        try names("SELECT name FROM TARN_RECORD WHERE zone = ? AND +isRelocated = 0 AND creator <> ?", [.int(zone), .text(user)])
    }

    /// Returns the keys of rows that were relocated from a zone to this one, with records that have not arrived on the server.
    func keysNotArrived(from source: Int64) throws -> [RowKey] {
        var keys: [RowKey] = []
        try reader.query(
            """
            SELECT d.entity, d.pk FROM TARN_RECORD s JOIN TARN_RECORD d ON d.entity = s.entity AND d.pk = s.pk AND d.isRelocated = 0 \
            WHERE s.isRelocated = 1 AND +s.zone = ?2 AND +d.zone = ?1 AND d.tag IS NULL
            """, [.int(zone), .int(source)]
        ) { row in if let key = key(row.text(0), row.int(1)) { keys.append(key) } }
        return keys
    }
}

extension SyncMetadataWriter {
    /// Moves the record of a row to another zone, with its deferred references and redirects.
    ///
    /// - Parameters:
    ///   - name: Its name in this zone.
    ///   - state: The record in the destination zone.
    func moveRecord(named name: String, to destination: SyncMetadataWriter, as state: RecordState) throws {
        try writer.execute(
            // A deletion of the row's record there that is not sent yet is replaced.
            "UPDATE OR REPLACE TARN_RECORD SET zone = ?, name = ? WHERE zone = ? AND name = ?",
            [.int(destination.zone), .text(state.recordName), .int(zone), .text(name)])
        try destination.write(state)
        try moveDeferredReferences(from: name, to: destination, as: state.recordName)
        try moveRedirects(to: name, destination, as: state.recordName)
    }

    /// Stores the record that a relocated object has in this zone, its source zone, in place of an older one.
    func writeSource(_ state: RecordState) throws {
        try writer.execute(
            "DELETE FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 1",
            [.text(entityName(state.key)), .int(state.key.primaryKey)])
        try write(state)
    }

    /// Moves a link to another zone.
    func moveLink(to destination: SyncMetadataWriter, as link: LinkState) throws {
        try writer.execute(
            "UPDATE TARN_LINK SET zone = ? WHERE zone = ? AND name = ?", [.int(destination.zone), .int(zone), .text(link.recordName)])
        try destination.write(link)
    }

    // MARK: Zones that are deleted

    /// Sets the links of a source zone that were relocated to this zone, and have not arrived, to their state before.
    func takeBackLinks(to source: Int64) throws {
        try writer.execute(
            """
            UPDATE TARN_LINK SET stage = CASE WHEN tag IS NULL THEN ?3 ELSE \(MirrorStage.uploaded.rawValue) END WHERE zone = ?2 \
            AND name IN (SELECT name FROM TARN_LINK WHERE zone = ?1 AND tag IS NULL AND stage = ?3)
            """, [.int(zone), .int(source), .int(Int64(MirrorStage.needsUpload.rawValue))])
    }

    /// Marks everything in the zone that is not deleted as never sent.
    func forgetSent() throws {
        let condition = "zone = ? AND stage <> \(MirrorStage.needsDelete.rawValue)"
        let stage = MirrorStage.needsUpload.rawValue
        try writer.execute(
            "UPDATE TARN_RECORD SET tag = NULL, ancestor = NULL, digests = NULL, failure = NULL, stage = \(stage) WHERE \(condition)",
            [.int(zone)])
        try writer.execute("UPDATE TARN_LINK SET tag = NULL, failure = NULL, stage = \(stage) WHERE \(condition)", [.int(zone)])
    }

    /// Moves the records of the zone to another one, with the links and redirects that have their ends there.
    func moveUnsent(to destination: Int64) throws {
        let zones: [SQLValue] = [.int(destination), .int(zone)]
        // The source record of an object that is in another zone is replaced: the record is current again.
        try writer.execute("UPDATE OR REPLACE TARN_RECORD SET zone = ?, failure = NULL WHERE zone = ?", zones)
        try writer.execute(
            """
            UPDATE OR IGNORE TARN_LINK SET zone = ?1, failure = NULL WHERE zone = ?2 AND tag IS NULL \
            AND EXISTS (SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND name = TARN_LINK.first) \
            AND EXISTS (SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND name = TARN_LINK.second)
            """, zones)
        try writer.execute(
            """
            UPDATE OR REPLACE TARN_MERGED SET zone = ?1 WHERE zone = ?2 \
            AND EXISTS (SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND name = TARN_MERGED.successor)
            """, zones)
        if mapping.hasUniqueness { try RedirectTable.findReferences(in: destination, writer) }
    }
}
