// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

// Which zones there are, how they come and go, and what their shares say.

extension MirrorFile {
    // MARK: The list of zones

    func databaseToken() throws -> String? { try store.read { try MirrorState.text(.databaseToken, $0) } }

    func forgetDatabaseToken() throws { try store.write { try MirrorState.set(.databaseToken, .null, $0) } }

    /// Shared zones in which something changed, the longest known first.
    func zonesToFetch() throws -> [MirrorZone] {
        try store.read { try ZoneTable.all($0).filter { $0.needsFetch && !$0.zone.isHome }.map(\.zone) }
    }

    /// Takes in one page of the list of changed zones.
    ///
    /// - Parameter token: With which the page was asked for. A list that begins without one names all zones there are.
    /// - Returns: Keys of rows that went with their zones.
    func apply(_ page: DatabaseChangesResponse, askedWith token: String?) throws -> [RowKey] {
        try store.write { writer in
            guard try MirrorState.text(.databaseToken, writer) == token else { return [] }
            var listing = try MirrorState.int(.listing, writer) ?? 0
            // Below zero: a list of all zones has begun and not ended.
            if token == nil { listing = -(abs(listing) + 1) }
            var removed: [RowKey] = []
            for change in page.zones where scope == .private && normal(change.zoneID) == homeZone {
                try MirrorState.set(.homeDeletion, change.isDeleted ? .text(change.deletionReason.rawValue) : .null, writer)
            }
            for change in page.zones where isMirrored(change.zoneID) {
                let id = normal(change.zoneID)
                let known = try ZoneTable.row(id, writer)
                if change.isDeleted {
                    let rest = change.deletionReason.rest
                    if let known { removed += try remove(known.zone, keeping: rest, writer) }
                    continue
                }
                let zone = try known?.zone ?? ZoneTable.insert(id, writer)
                try ZoneTable.set("needsFetch", .int(1), of: zone.number, writer)
                try ZoneTable.set("listing", .int(abs(listing)), of: zone.number, writer)
            }
            if !page.moreComing, listing < 0 {
                listing = -listing
                var gone: [Int64] = []
                try writer.query("SELECT number FROM TARN_ZONE WHERE number > 0 AND listing < ?", [.int(listing)]) { gone.append($0.int(0)) }
                for number in gone {
                    guard let row = try ZoneTable.row(number, writer) else { continue }
                    removed += try remove(row.zone, keeping: .unsent, writer)
                }
            }
            try MirrorState.set(.listing, .int(listing), writer)
            try MirrorState.set(.databaseToken, .text(page.syncToken), writer)
            return removed
        }
    }

    /// Goes on in the history of the database without a list of zones, from where the last one ended.
    func step(_ step: ImportPage.DatabaseStep, _ writer: StoreWriter) throws -> Bool {
        // Below zero a list of all zones has begun and not ended.
        let isListing = try MirrorState.int(.listing, writer) ?? 0 < 0
        guard try !isListing && MirrorState.text(.databaseToken, writer) == step.from else { return false }
        try MirrorState.set(.databaseToken, .text(step.to), writer)
        return true
    }

    /// Whether a zone is one of mirrored objects that are shared.
    private func isMirrored(_ id: ZoneID) -> Bool {
        switch scope {
        case .private: id.zoneName.hasPrefix(MirrorNames.shareZonePrefix)
        // Others may share the whole of what they have.
        case .shared: id.zoneName.hasPrefix(MirrorNames.zonePrefix)
        case .public: false
        }
    }

    /// The user's own zones are known without their owner's name, which the server may say or not.
    func normal(_ id: ZoneID) -> ZoneID { scope == .shared ? id : ZoneID(zoneName: id.zoneName) }

    // MARK: Zones that go

    /// What stays of a zone that went. It belongs to no share then.
    enum Rest: Hashable, Sendable {
        case nothing
        /// What was made here and never sent.
        case unsent
        /// Everything, to be sent again: the user's keys were reset, and the server's copies with them.
        case all
    }

    /// Why the home zone went, if the list of zones said so; nil while it is there, or if nobody knows.
    func homeDeletion() throws -> ZoneDeletionReason? {
        try store.read { try MirrorState.text(.homeDeletion, $0).flatMap { ZoneDeletionReason(rawValue: $0) } }
    }

    /// Takes a zone and its objects away, as the server did.
    func remove(_ zone: MirrorZone, keeping rest: Rest) throws -> [RowKey] {
        try store.write { writer in
            guard try ZoneTable.row(zone.number, writer)?.zone == zone else { return [] }
            return try remove(zone, keeping: rest, writer)
        }
    }

    func remove(_ zone: MirrorZone, keeping rest: Rest, _ writer: StoreWriter) throws -> [RowKey] {
        let keepingUnsent = rest != .nothing
        try scan(writer)
        try clearOutbox(of: zone, writer)
        // What others shared is not the user's to send.
        let sendsAgain = rest == .all && scope == .private
        let twins = try sendsAgain ? removeTwins(of: zone, writer) : []
        if sendsAgain { try forgetSent(zone, writer) }
        let bookkeeping = reader(writer, zone: zone.number)
        let known = try bookkeeping.keys()
        if keepingUnsent { try putBack(zone, writer) }
        let keys = try keepingUnsent ? bookkeeping.keysOnServer() : known
        try delete(keys, writer)
        for key in keys {
            try writer.execute("DELETE FROM TARN_RECORD WHERE entity = ? AND pk = ?", [.text(bookkeeping.entityName(key)), .int(key.primaryKey)])
        }
        let number = SQLValue.int(zone.number)
        try writer.execute("DELETE FROM TARN_RECORD WHERE zone = ? AND stage = \(MirrorStage.needsDelete.rawValue)", [number])
        if keepingUnsent {
            let home = SQLValue.int(MirrorZone.home)
            try writer.execute("UPDATE TARN_RECORD SET zone = ?, failure = NULL WHERE zone = ?", [home, number])
            try writer.execute(
                """
                UPDATE OR IGNORE TARN_LINK SET zone = ?1, failure = NULL WHERE zone = ?2 AND tag IS NULL \
                AND EXISTS (SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND name = TARN_LINK.first) \
                AND EXISTS (SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND name = TARN_LINK.second)
                """, [home, number])
            try writer.execute(
                """
                UPDATE OR REPLACE TARN_MERGED SET zone = ?1 WHERE zone = ?2 \
                AND EXISTS (SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND name = TARN_MERGED.successor)
                """, [home, number])
        }
        for table in ["TARN_RECORD", "TARN_LINK", "TARN_PARKED", "TARN_MERGED"] + IncompleteTable.tables { try writer.execute("DELETE FROM \(table) WHERE zone = ?", [number]) }
        if zone.isHome { try ZoneTable.beginFullFetch(zone.number, writer) } else { try ZoneTable.remove(zone.number, writer) }
        return keys + twins
    }

    /// Takes away what another device sent home before this one heard that the zone went: the objects are here already, and
    /// meet their records when everything is fetched again.
    private func removeTwins(of zone: MirrorZone, _ writer: StoreWriter) throws -> [RowKey] {
        let bookkeeping = reader(writer)
        let keys = try bookkeeping.keys(alsoNamedIn: zone.number)
        try delete(keys, writer)
        for key in keys {
            guard let name = try bookkeeping.record(of: key)?.recordName else { continue }
            try writer.execute("DELETE FROM TARN_RECORD WHERE zone = \(MirrorZone.home) AND name = ?", [.text(name)])
            try writer.execute("DELETE FROM TARN_PARKED WHERE zone = \(MirrorZone.home) AND source = ?", [.text(name)])
        }
        try ZoneTable.beginFullFetch(MirrorZone.home, writer)
        return keys
    }

    /// Makes everything in a zone what was never sent.
    private func forgetSent(_ zone: MirrorZone, _ writer: StoreWriter) throws {
        let upload = MirrorStage.needsUpload.rawValue
        let kept = "zone = \(zone.number) AND stage <> \(MirrorStage.needsDelete.rawValue)"
        try writer.execute("UPDATE TARN_RECORD SET tag = NULL, ancestor = NULL, digests = NULL, failure = NULL, stage = \(upload) WHERE \(kept)")
        try writer.execute("UPDATE TARN_LINK SET tag = NULL, failure = NULL, stage = \(upload) WHERE \(kept)")
    }

    /// What moved into a zone and has not arrived there stays where it was.
    private func putBack(_ zone: MirrorZone, _ writer: StoreWriter) throws {
        let arguments: [SQLValue] = [.int(zone.number), .int(MirrorZone.home), .int(Int64(MirrorStage.needsUpload.rawValue))]
        let moved = """
            FROM TARN_RECORD new JOIN TARN_RECORD old ON old.entity = new.entity AND old.pk = -new.pk \
            WHERE new.zone = ?1 AND new.tag IS NULL AND old.zone = ?2
            """
        var places: [(entity: String, pk: Int64)] = []
        try writer.query("SELECT new.entity, new.pk \(moved)", Array(arguments.prefix(2))) { row in
            if let entity = row.text(0) { places.append((entity, row.int(1))) }
        }
        for place in places {
            let row: [SQLValue] = [.text(place.entity), .int(place.pk)]
            try writer.execute("DELETE FROM TARN_RECORD WHERE entity = ? AND pk = ?", row)
            try writer.execute("UPDATE TARN_RECORD SET pk = ?2, stage = ?3 WHERE entity = ?1 AND pk = -?2", row + [arguments[2]])
        }
        guard !places.isEmpty else { return }
        try writer.execute(
            """
            UPDATE TARN_LINK SET stage = CASE WHEN tag IS NULL THEN ?3 ELSE 0 END WHERE zone = ?2 \
            AND name IN (SELECT name FROM TARN_LINK WHERE zone = ?1 AND tag IS NULL AND stage = ?3)
            """, arguments)
    }

    /// Begins to fetch a zone from its beginning.
    ///
    /// - Parameters:
    ///   - hadPages: Whether pages had arrived that are not applied.
    ///   - isHistoryLost: Whether the server was restored and may lack what this device has.
    /// - Returns: Whether it was not at its beginning already.
    func fetchAgain(_ zone: MirrorZone, hadPages: Bool, isHistoryLost: Bool) throws -> Bool {
        try store.write { writer in
            guard let row = try ZoneTable.row(zone.number, writer), row.token != nil || hadPages else { return false }
            try ZoneTable.beginFullFetch(zone.number, writer)
            // What others shared is theirs to send.
            if isHistoryLost, scope == .private { try sendAgain(zone.number, writer) }
            return true
        }
    }

    // MARK: Shares

    /// Keeps what a page says of the zone's share. Whoever may write now and might not before gets another try.
    func keepShare(in page: ImportPage, _ row: ZoneTable.Row, _ writer: StoreWriter) throws {
        let number = row.zone.number
        if let share = page.records.last(where: { $0.recordName == ShareDetails.zoneShareName }) {
            try keep(share, of: row.zone, writer)
            try ZoneTable.set("shareGeneration", .int(row.generation), of: number, writer)
        } else if page.deletions.contains(ShareDetails.zoneShareName)
            || page.generation != nil && !page.moreComing && row.shareGeneration < row.generation
        {
            try ZoneTable.set("share", .null, of: number, writer)
        }
    }

    func keep(_ share: Record, of zone: MirrorZone, _ writer: StoreWriter) throws {
        try ZoneTable.set("share", .blob(Data(share.encoded())), of: zone.number, writer)
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute("UPDATE \(table) SET failure = NULL WHERE +zone = ? AND failure IS NOT NULL", [.int(zone.number)])
        }
    }

    /// The shares of a store with their zones.
    func shares() throws -> [(share: Record, zone: MirrorZone)] {
        try store.read { reader in
            guard try ZoneTable.isThere(reader) else { return [] }
            return try ZoneTable.all(reader).compactMap { row in try row.sharing.map { ($0, row.zone) } }
        }
    }

    /// The zone of a row's record, with what is shared of it.
    func zone(of key: RowKey) throws -> ZoneTable.Row? {
        try store.read { reader in
            guard try ZoneTable.isThere(reader) else { return nil }
            return try self.reader(reader).zone(of: key).flatMap { try ZoneTable.row($0, reader) }
        }
    }

    func zone(_ id: ZoneID) throws -> ZoneTable.Row? {
        try store.read { reader in try ZoneTable.isThere(reader) ? try ZoneTable.row(normal(id), reader) : nil }
    }

    func keep(_ share: Record, of id: ZoneID) throws {
        try store.write { writer in
            guard let row = try ZoneTable.row(normal(id), writer) else { return }
            try keep(share, of: row.zone, writer)
        }
    }
}

extension ZoneTable.Row {
    /// The share of the whole zone.
    var sharing: Record? {
        get throws { try share.map { try Record(json: [UInt8]($0)) } }
    }
}

extension ZoneDeletionReason {
    var rest: MirrorFile.Rest { self == .encryptedDataReset ? .all : .unsent }
}
