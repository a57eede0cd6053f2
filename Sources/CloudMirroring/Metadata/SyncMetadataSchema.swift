// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

/// Versions of the sync metadata in a store's file. A case is never reused or renumbered; older tables are migrated, newer ones are
/// rejected.
enum SyncMetadataFormat: Int64, CaseIterable {
    /// First released format.
    case initial = 1
    /// Events are stored, and records have creators.
    case events = 2
    /// Records and links belong to zones.
    case zones = 3
    /// Names of deleted records are stored.
    case deletions = 4
    /// Members of ordered relationships have position keys.
    case ranks = 5
    /// Records that lack a required object are withheld.
    case incomplete = 6
    /// Records that were merged redirect to others.
    case merged = 7
    /// More than one request may be unacknowledged.
    case outbox = 8
    /// Merge bases take fewer bytes. Rows of earlier formats are rewritten when they change.
    case keptAncestors = 9
    /// Deletions and withheld records have indexes of their own.
    case deletionIndexes = 10
    /// Records have a creation date, a share and a parent. Rows of earlier formats get them with the next response that holds the record.
    case systemFields = 11
    /// Change pages are staged until the last one of their zone has arrived.
    case stagedPages = 12
    /// Columns in place of signs: relocated records, lists of zones in progress. Redirects that other rows name are flagged.
    case relocatedRecords = 13
    /// Zones have the token of their last acknowledged export.
    case exportedTokens = 14
    /// Records have the versions of their encrypted values, and the quarantined ones.
    case encryptedFields = 15
    /// Staged pages are files.
    case pageFiles = 16
    /// Staged pages may be as they arrived.
    case arrivedPages = 17

    static let current = SyncMetadataFormat.arrivedPages
}

/// The tables of the sync metadata, in the file of the store whose rows they describe: a row and its metadata are written in one
/// transaction.
///
/// Entities are stored by name: their numbers change when a model gains one.
enum SyncMetadataSchema {
    private static let statements =
        [ZoneTable.statement] + RecordTable.statements + LinkTable.statements + DeferredReferenceTable.statements
        + [ConflictTable.statement, EventTable.statement, DeletedNameTable.statement, OutboxTable.statement] + PositionTable.statements
        + WithheldTable.statements + RedirectTable.statements + StagedPageTable.statements

    /// Creates missing tables, and migrates those of an older format.
    ///
    /// - Parameter home: The zone of objects that are not shared.
    /// - Throws: `StoreError` with `.newerFormat` for tables of a later version.
    static func open(_ writer: StoreWriter, home: ZoneID) throws {
        try writer.execute(StateTable.statement)
        let format = try StateTable.int(.format, writer)
        guard format ?? 0 <= SyncMetadataFormat.current.rawValue else {
            throw StoreError(.newerFormat, "the store was synced by a newer version of this library")
        }
        if format == SyncMetadataFormat.current.rawValue { return }
        func isBefore(_ later: SyncMetadataFormat) -> Bool { format.map { $0 < later.rawValue } ?? false }
        if isBefore(.zones) {
            try addZones(isInitial: format == SyncMetadataFormat.initial.rawValue, home, writer)
        } else {
            if isBefore(.systemFields) { try RecordTable.addSystemFields(writer) }
            if isBefore(.relocatedRecords) { try RecordTable.addRelocated(writer) }
            if isBefore(.exportedTokens) { try ZoneTable.addExportedToken(writer) }
            if isBefore(.encryptedFields) { try RecordTable.addEncrypted(writer) }
            if isBefore(.arrivedPages) { try StagedPageTable.dropEarlier(writer) }
            let hasRedirects = try writer.hasTable("TARN_MERGED")
            if isBefore(.relocatedRecords), hasRedirects { try RedirectTable.addReferenced(writer) }
            // Later formats have more tables and indexes.
            for statement in statements { try writer.execute(statement) }
            if isBefore(.relocatedRecords), hasRedirects {
                for zone in try ZoneTable.all(writer) { try RedirectTable.findReferences(in: zone.zone.number, writer) }
            }
        }
        if isBefore(.relocatedRecords) { try StateTable.addZoneListing(writer) }
        if isBefore(.outbox) { try OutboxTable.adopt(writer) }
        try ZoneTable.insert(home, number: MirrorZone.home, writer)
        try StateTable.set(.format, .int(SyncMetadataFormat.current.rawValue), writer)
    }

    /// Puts everything into the home zone. Before there were zones, the state of the only zone was among the single values.
    private static func addZones(isInitial: Bool, _ home: ZoneID, _ writer: StoreWriter) throws {
        if isInitial { try writer.execute("ALTER TABLE TARN_RECORD ADD COLUMN creator TEXT") }
        for index in [
            "RECORD_ROW", "RECORD_PENDING", "LINK_FIRST", "LINK_SECOND", "LINK_PENDING", "PARKED_DESTINATION",
        ] {
            try writer.execute("DROP INDEX IF EXISTS TARN_\(index)")
        }
        let columns = [
            "TARN_RECORD": "name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator",
            "TARN_LINK": "name, entities, relationships, first, second, tag, stage, mark, failure, generation",
            "TARN_PARKED": "source, relationship, destination",
        ]
        for table in columns.keys.sorted() { try writer.execute("ALTER TABLE \(table) RENAME TO \(table)_OLD") }
        for statement in statements { try writer.execute(statement) }
        for (table, columns) in columns.sorted(by: { $0.key < $1.key }) {
            try writer.execute("INSERT INTO \(table) (zone, \(columns)) SELECT \(MirrorZone.home), \(columns) FROM \(table)_OLD")
            try writer.execute("DROP TABLE \(table)_OLD")
        }
        try ZoneTable.insert(home, number: MirrorZone.home, writer)
        try StateTable.moveZoneValues(writer)
    }
}
