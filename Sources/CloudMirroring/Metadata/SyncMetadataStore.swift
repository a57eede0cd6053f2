// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

/// The sync metadata of a store: the `TARN_` tables in its file, which only this folder reads and writes.
///
///     TARN_STATE       StateTable              single values
///     TARN_ZONE        ZoneTable               zones, with change tokens and shares
///     TARN_RECORD      RecordTable             records of objects: merge base, stage, rejection
///     TARN_LINK        LinkTable               join records of many-to-many relationships
///     TARN_PARKED      DeferredReferenceTable  to-one relationships without their target
///     TARN_RANK        PositionTable           position keys in ordered relationships, of rows
///     TARN_LINKRANK    PositionTable           the same, of links
///     TARN_INCOMPLETE  WithheldTable           records that lack a required object, or values that are free
///     TARN_LACKING     WithheldTable           names of missing objects
///     TARN_MERGED      RedirectTable           names of merged records, with the records that supersede them
///     TARN_DELETED     DeletedNameTable        names of records that this device deleted
///     TARN_OUTBOX      OutboxTable             unacknowledged requests
///     TARN_STAGEDPAGE  StagedPageTable         change pages that wait for the last one of their zone
///     TARN_STAGEDASSET StagedPageTable         contents of their assets
///     TARN_CONFLICT    ConflictTable           values that lost a merge
///     TARN_EVENT       EventTable              sync events
struct SyncMetadataStore: Sendable {
    let mapping: RecordMapping
    /// The number of the store in row keys.
    let storeNumber: UInt16

    func reader(_ reader: StoreReader, zone: Int64 = MirrorZone.home) -> SyncMetadataReader {
        SyncMetadataReader(reader: reader, mapping: mapping, store: storeNumber, zone: zone)
    }

    func writer(_ writer: StoreWriter, zone: Int64) -> SyncMetadataWriter {
        SyncMetadataWriter(writer: writer, mapping: mapping, store: storeNumber, zone: zone)
    }

    /// Removes everything but the zone of objects that are not shared, the outbox, staged pages, events and single values.
    func removeObjects(_ writer: StoreWriter) throws {
        let tables = [
            "TARN_RECORD", "TARN_LINK", "TARN_PARKED", "TARN_MERGED", "TARN_CONFLICT", "TARN_DELETED", "TARN_RANK", "TARN_LINKRANK",
        ]
        for table in tables + WithheldTable.tables { try writer.execute("DELETE FROM \(table)") }
        try ZoneTable.removeShares(writer)
    }

    // MARK: Diagnostics

    /// Counts of rows, for support.
    struct Counts: Sendable {
        /// By entity and stage: `Post waiting` and the like.
        var objects: [String: Int64]
        var links: [String: Int64]
        var refusals: [String: Int64]
        var deferredReferences: Int64
        var withheldRecords: Int64
        var conflicts: [String: Int64]
    }

    func counts(_ reader: StoreReader) throws -> Counts {
        func counts(_ sql: String) throws -> [String: Int64] {
            var counts: [String: Int64] = [:]
            try reader.query(sql) { row in
                let stage = row.optionalInt(1).map { " " + (MirrorStage(rawValue: Int($0))?.label ?? "in stage \($0)") } ?? ""
                counts["\(row.text(0) ?? "")\(stage)", default: 0] += row.int(2)
            }
            return counts
        }
        return Counts(
            objects: try counts("SELECT entity, stage, COUNT(*) FROM TARN_RECORD GROUP BY 1, 2"),
            links: try counts("SELECT relationships, stage, COUNT(*) FROM TARN_LINK GROUP BY 1, 2"),
            refusals: try counts(
                """
                SELECT failure, NULL, COUNT(*) FROM (SELECT failure FROM TARN_RECORD UNION ALL SELECT failure FROM TARN_LINK) \
                WHERE failure IS NOT NULL GROUP BY 1
                """),
            deferredReferences: try counts("SELECT '', NULL, COUNT(*) FROM TARN_PARKED").values.reduce(0, +),
            withheldRecords: try counts("SELECT '', NULL, COUNT(*) FROM TARN_INCOMPLETE").values.reduce(0, +),
            conflicts: try counts("SELECT entity || '.' || property, NULL, COUNT(*) FROM TARN_CONFLICT GROUP BY 1"))
    }
}

extension MirrorStage {
    /// The stage in diagnostics.
    fileprivate var label: String {
        switch self {
        case .uploaded: "uploaded"
        case .needsUpload: "waiting"
        case .needsDelete: "deletion waiting"
        case .missing: "missing on the server"
        }
    }
}
