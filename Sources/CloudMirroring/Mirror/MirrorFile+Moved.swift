// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import SQLiteStore

// What pages of the home zone say of objects that have moved to the zone of a share.

extension MirrorFile {
    /// Leaves out what a page of the home zone says of records that are in another zone already: it was read before whoever
    /// moved them had deleted them, who sees to what others still write there.
    func withoutMoved(_ page: ImportPage, _ writer: StoreWriter) throws -> ImportPage {
        guard scope == .private, try ZoneTable.all(writer).count > 1 else { return page }
        var page = page
        let home = reader(writer)
        page.records = try page.records.filter { record in
            let isLink = record.recordType == MirrorNames.linkRecordType
            if try isLink ? home.link(named: record.recordName) != nil : home.record(named: record.recordName) != nil { return true }
            var isElsewhere = false
            try writer.query(
                "SELECT 1 FROM \(isLink ? "TARN_LINK" : "TARN_RECORD") WHERE name = ? AND zone IN (SELECT number FROM TARN_ZONE) LIMIT 1",
                [.text(record.recordName)]
            ) { _ in isElsewhere = true }
            return !isElsewhere
        }
        return page
    }

    /// Makes what was moved here belong to the home zone again if somebody deleted its record there, so that it is deleted
    /// as everything is. It was no other device that had moved it, too: of two the one that comes second knows.
    func undoMoves(of deletions: [String], _ writer: StoreWriter) throws {
        guard scope == .private, try ZoneTable.all(writer).count > 1 else { return }
        for name in deletions {
            var moved: (entity: String, pk: Int64, name: String, zone: Int64, isThere: Bool)?
            try writer.query(
                """
                SELECT new.entity, new.pk, new.name, new.zone, new.tag IS NOT NULL FROM TARN_RECORD old JOIN TARN_RECORD new \
                ON new.entity = old.entity AND new.pk = -old.pk WHERE old.zone = \(MirrorZone.home) AND old.name = ? AND old.pk < 0
                """, [.text(name)]
            ) { row in if let entity = row.text(0), let name = row.text(2) { moved = (entity, row.int(1), name, row.int(3), row.int(4) != 0) } }
            guard let moved else { continue }
            let key: [SQLValue] = [.text(moved.entity), .int(moved.pk)]
            let place: [SQLValue] = [.int(moved.zone), .text(moved.name)]
            try exchange(key, isThere: moved.isThere, writer)
            for end in ["first", "second"] {
                try writer.execute("DELETE FROM TARN_LINK WHERE zone = ?1 AND +tag IS NULL AND \(end) = ?2", place)
                try writer.execute("UPDATE TARN_LINK SET stage = \(MirrorStage.needsDelete.rawValue) WHERE zone = ?1 AND \(end) = ?2", place)
            }
            try writer.execute("DELETE FROM TARN_PARKED WHERE zone = ?1 AND source = ?2", place)
        }
    }

    /// The record in the home zone is the object's again; what has arrived in the other zone is left to be deleted there.
    private func exchange(_ key: [SQLValue], isThere: Bool, _ writer: StoreWriter) throws {
        let mark = try writer.latestTransaction()
        // Zero is nobody's key, for a moment.
        try writer.execute("UPDATE TARN_RECORD SET pk = 0 WHERE entity = ?1 AND pk = -?2", key)
        if isThere {
            try writer.execute(
                "UPDATE TARN_RECORD SET pk = -pk, stage = \(MirrorStage.needsDelete.rawValue), mark = ?3 WHERE entity = ?1 AND pk = ?2",
                key + [.int(mark)])
        } else {
            try writer.execute("DELETE FROM TARN_RECORD WHERE entity = ? AND pk = ?", key)
        }
        try writer.execute("UPDATE TARN_RECORD SET pk = ?2, stage = \(MirrorStage.uploaded.rawValue) WHERE entity = ?1 AND pk = 0", key)
    }
}
