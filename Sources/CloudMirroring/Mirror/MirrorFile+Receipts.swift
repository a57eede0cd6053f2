// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

// A record that comes from another zone says where it was, so that whoever knows the object under its old place keeps it.

extension MirrorFile {
    /// Where a row's record was before it moved.
    func receiptPlace(of key: RowKey, _ reader: StoreReader) throws -> (name: String, zone: Int64)? {
        var place: (String, Int64)?
        try reader.query(
            "SELECT name, zone FROM TARN_RECORD WHERE entity = ? AND pk = ?",
            [.text(mapping.model.entities[key.entityIndex].name), .int(-key.primaryKey)]
        ) { row in place = row.text(0).map { ($0, row.int(1)) } }
        return place
    }

    func receipt(of row: Row, _ reader: StoreReader) throws -> MoveReceipt? {
        guard let place = try receiptPlace(of: row.key, reader), let zone = try ZoneTable.row(place.zone, reader)?.zone else { return nil }
        var receipt = MoveReceipt(name: place.name, zone: zone.id)
        let there = self.reader(reader, zone: place.zone)
        if let entity = mapping.entities[row.key.entityIndex], let old = try there.record(named: place.name), let name = try there.record(of: row.key)?.recordName {
            var names: [RowKey: String] = [:]
            for key in row.references { names[key] = try there.record(of: key)?.recordName }
            let parked = try there.zone(of: row.key).map { try self.reader(reader, zone: $0).parked(source: name) } ?? []
            entity.note(old, row, names: names, parked: parked, in: &receipt)
        }
        return receipt
    }

    /// What others wrote where objects of a page were before is passed on from here, and has not been sent yet.
    func loadFormer(_ page: ImportPage, _ reader: StoreReader, into loaded: inout ImportPlan.Loaded) throws {
        guard scope == .private else { return }
        let home = self.reader(reader)
        for record in page.records {
            guard let state = loaded.records[record.recordName], state.stage == .needsUpload, let place = try receiptPlace(of: state.key, reader),
                place.zone == MirrorZone.home
            else { continue }
            loaded.former[record.recordName] = try home.record(named: place.name)?.ancestor
        }
    }

    /// What others let objects refer to in the old place that have moved may have come from there before this is heard of.
    func loadTargetsElsewhere(_ needs: ImportNeeds, _ reader: StoreReader, into loaded: inout ImportPlan.Loaded) throws {
        guard scope == .private, loaded.records.values.contains(where: \.isMovedOut) else { return }
        for name in needs.names where loaded.records[name] == nil {
            var zone: Int64?
            try reader.query("SELECT zone FROM TARN_RECORD WHERE name = ? AND pk > 0 AND zone IN (SELECT number FROM TARN_ZONE)", [.text(name)]) { zone = $0.int(0) }
            guard let zone, let state = try self.reader(reader, zone: zone).record(named: name), state.stage != .needsDelete else { continue }
            loaded.targetsElsewhere[name] = state.key
            loaded.existing.insert(state.key)
        }
    }

    /// What a record was called in the home zone before it moved; nil for one that did not.
    static func oldName(of record: Record) -> String? { homeReceipt(of: record)?.name }

    private static func homeReceipt(of record: Record) -> MoveReceipt? {
        guard let receipt = MoveReceipt(record), receipt.zone.zoneName == MirrorNames.zone else { return nil }
        return receipt
    }

    /// Finds objects of the home zone that come back in a page of a shared zone, so that they stay the objects they are, and
    /// show nothing older than they did.
    func rebind(_ page: inout ImportPage, _ zone: MirrorZone, _ writer: StoreWriter) throws {
        guard scope == .private else { return }
        let (home, there) = (reader(writer), reader(writer, zone: zone.number))
        var rebound: [String] = [], arrived: [String] = []
        for (index, record) in page.records.enumerated() {
            if record.recordType == MirrorNames.linkRecordType {
                guard try there.link(named: record.recordName) == nil, let link = try home.link(named: record.recordName) else { continue }
                if try waits(link, home, there, writer) {
                    var forgotten = BookkeepingChanges()
                    forgotten.removedLinks = [link.recordName]
                    try self.writer(writer, zone: home.zone).write(forgotten, now: now)
                    continue
                }
                try rename("TARN_LINK", record.recordName, to: record.recordName, in: zone, writer)
                continue
            }
            let known = try there.record(named: record.recordName)
            if let known, known.changeTag == nil, known.key.primaryKey > 0 {
                // Somebody else has moved it as well, and was first: they see to what is left of it in the home zone.
                guard let place = try receiptPlace(of: known.key, writer), place.zone == MirrorZone.home, let old = try home.record(named: place.name) else { continue }
                try takeUp(old, as: known, there, writer)
                if let receipt = Self.homeReceipt(of: record), let entity = mapping.entities[known.key.entityIndex] {
                    page.replace(at: index, with: entity.completed(record, with: old, receipt))
                }
                arrived.append(record.recordName)
            } else if let known {
                // A full fetch believes the server where that says something new.
                guard known.ancestor.unapplied[MirrorNames.awaited] != nil, page.generation == nil || record.recordChangeTag == known.changeTag,
                    let receipt = Self.homeReceipt(of: record), let entity = mapping.entities[known.key.entityIndex]
                else { continue }
                page.replace(at: index, with: entity.completedAgain(record, with: known, receipt))
            } else if let receipt = Self.homeReceipt(of: record), let known = try home.record(named: receipt.name),
                !known.isMovedOut, mapping.entity(of: record)?.entity.root == mapping.model.entities[known.key.entityIndex].root
            {
                try rename("TARN_RECORD", receipt.name, to: record.recordName, in: zone, writer)
                try writer.execute(
                    "UPDATE TARN_PARKED SET zone = ?, source = ? WHERE zone = ? AND source = ?",
                    [.int(zone.number), .text(record.recordName), .int(MirrorZone.home), .text(receipt.name)])
                try MergedTable.move(receipt.name, from: MirrorZone.home, to: zone.number, as: record.recordName, writer)
                if let entity = mapping.entities[known.key.entityIndex] { page.replace(at: index, with: entity.completed(record, with: known, receipt)) }
                rebound.append(record.recordName)
            }
        }
        for name in rebound + arrived { try release(name, there, writer) }
        try relate(arrived: rebound + arrived, in: zone.number, writer)
        if !rebound.isEmpty { try ZoneTable.set("receives", .int(1), of: zone.number, writer) }
    }

    /// Whether a link came when one of its ends was gone from the home zone already, or had not come yet: then it is news where both are.
    private func waits(_ link: LinkState, _ home: BookkeepingReader, _ there: BookkeepingReader, _ reader: StoreReader) throws -> Bool {
        guard link.isLive, let relationship = mapping.links[link.pair.kind] else { return false }
        let ends = try [link.pair.first, link.pair.second].map { try there.record(named: $0) ?? home.record(named: $0) }
        guard let first = ends[0]?.key, let second = ends[1]?.key else { return true }
        return try !isLinked(first, second, relationship, reader)
    }

    /// Measures what this device and another one made of an object, which both have moved, against what it was before.
    private func takeUp(_ old: RecordState, as known: RecordState, _ bookkeeping: BookkeepingReader, _ writer: StoreWriter) throws {
        var state = known
        state.ancestor.fields = old.ancestor.fields
        state.ancestor.digests = old.ancestor.digests
        state.modified = old.modified
        // As of a record that is renamed.
        state.changeTag = ""
        var changes = BookkeepingChanges()
        changes.records = [state]
        try writer.execute("DELETE FROM TARN_RECORD WHERE zone = \(MirrorZone.home) AND name = ?", [.text(old.recordName)])
        try self.writer(writer, zone: bookkeeping.zone).write(changes, now: now)
    }

    /// An empty change tag is older than any that the server gives, and known: what differs is merged and noted. Each zone counts
    /// its full fetches for itself.
    private func rename(_ table: String, _ name: String, to new: String, in zone: MirrorZone, _ writer: StoreWriter) throws {
        try writer.execute(
            "UPDATE \(table) SET zone = ?, name = ?, tag = '', failure = NULL, generation = 0 WHERE zone = ? AND name = ?",
            [.int(zone.number), .text(new), .int(MirrorZone.home), .text(name)])
    }

    /// Lets a record that has come from another zone take up relationships whose targets came before it: to the merge they
    /// are news.
    private func release(_ name: String, _ bookkeeping: BookkeepingReader, _ writer: StoreWriter) throws {
        guard var state = try bookkeeping.record(named: name), let entity = mapping.entities[state.key.entityIndex] else { return }
        var changes = BookkeepingChanges()
        for parked in try bookkeeping.parked(source: name) where try bookkeeping.record(named: parked.destination) != nil {
            guard let property = entity.properties.first(where: { $0.name == parked.key.relationship }) else { continue }
            state.ancestor.fields[property.fieldName] = nil
            changes.unparked.append(parked.key)
        }
        if changes.unparked.isEmpty { return }
        changes.records = [state]
        try self.writer(writer, zone: bookkeeping.zone).write(changes, now: now)
    }
}
