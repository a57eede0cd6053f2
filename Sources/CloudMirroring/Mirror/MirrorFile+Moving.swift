// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

// Objects that come to the zone of a share. A record cannot leave its zone: it is made in the new one under its old name,
// with a receipt that says where it was, and deleted in the old one after that. Who knows the object under its old place
// keeps it, and what others still write there goes to it.
//
// Records are never related across zones, so everything that is connected goes together.

extension MirrorFile {
    // MARK: Following changes made here

    /// Changes by the zones of their objects. New objects go to the zone of what they are related to, and so do objects of
    /// the home zone that were related to something shared, with all they are connected with.
    func partition(_ history: [LocalTransaction], _ writer: StoreWriter) throws -> [(zone: Int64, history: [LocalTransaction])] {
        let bookkeeping = reader(writer)
        /// What changed of a row; nil for everything.
        var changed: [RowKey: Set<String>?] = [:]
        var order: [RowKey] = []
        var zones: [RowKey: Int64] = [:]
        var deleted: Set<RowKey> = []
        for change in history.filter({ !MirrorNames.isMirror($0.author) }).flatMap(\.changes) where mapping.entities[change.key.entityIndex] != nil {
            if let earlier = changed[change.key] {
                changed[change.key] = .some(change.kind == .update ? earlier?.union(change.changedProperties) : nil)
            } else {
                changed[change.key] = .some(change.kind == .update ? Set(change.changedProperties) : nil)
                order.append(change.key)
                zones[change.key] = try bookkeeping.zone(of: change.key)
            }
            if change.kind == .delete { deleted.insert(change.key) } else { deleted.remove(change.key) }
        }
        var joining: [(key: RowKey, zone: Int64)] = []
        for key in order where !deleted.contains(key) {
            let zone = zones[key] ?? MirrorZone.home
            for neighbour in try neighbours(of: key, changed: changed[key] ?? nil, writer) {
                let other = try bookkeeping.zone(of: neighbour) ?? MirrorZone.home
                if zone != MirrorZone.home, other == MirrorZone.home { joining.append((neighbour, zone)) }
                if zone == MirrorZone.home, other != MirrorZone.home { joining.append((key, other)) }
            }
        }
        // The zone that was first is the one, where an object is between two.
        for (key, zone) in joining.sorted(by: { $0.zone < $1.zone }) { try move([key], to: zone, writer) }
        var parts: [Int64: Set<RowKey>] = [:]
        for key in order { parts[try bookkeeping.zone(of: key) ?? MirrorZone.home, default: []].insert(key) }
        return parts.sorted { $0.key < $1.key }.map { zone, keys in
            (zone, history.map { LocalTransaction(number: $0.number, author: $0.author, changes: $0.changes.filter { keys.contains($0.key) }) })
        }
    }

    /// Rows that a row is related to.
    ///
    /// - Parameter changed: Only by these properties; nil for all. The many side of a one-to-many relationship is left out
    ///   then: what is related by it changed itself.
    private func neighbours(of key: RowKey, changed: Set<String>?, _ reader: StoreReader) throws -> [RowKey] {
        let entity = mapping.model.entities[key.entityIndex]
        guard let row = try reader.row(key) else { return [] }
        var keys: [RowKey] = []
        for (slot, declared) in entity.slots.enumerated() {
            guard case .toOne(let relationship) = declared, !relationship.declaration.isTransient,
                changed?.contains(declared.name) ?? true, let target = row.values[slot].reference
            else { continue }
            keys.append(target)
        }
        for (index, relationship) in entity.toMany.enumerated() where !relationship.declaration.isTransient {
            if let changed { guard relationship.shape == .manyToMany, changed.contains(relationship.name) else { continue } }
            keys += try reader.destinations(of: key, toMany: index)
        }
        return keys.filter { mapping.entities[$0.entityIndex] != nil }
    }

    // MARK: Moving

    /// Everything that is connected with rows by relationships, the rows included.
    ///
    /// - Parameter isIncluded: Told the zone of each row that is reached; what it leaves out leads nowhere.
    private func connected(
        _ keys: [RowKey], _ reader: StoreReader, where isIncluded: (RowKey, Int64) throws -> Bool
    ) throws -> [RowKey] {
        let bookkeeping = self.reader(reader)
        var found: [RowKey] = []
        var seen: Set<RowKey> = []
        // Several may have led to one, and what moves twice would change places with what is left of it.
        var open = keys.filter { seen.insert($0).inserted }
        while let key = open.popLast() {
            guard try isIncluded(key, try bookkeeping.zone(of: key) ?? MirrorZone.home) else { continue }
            found.append(key)
            for neighbour in try neighbours(of: key, changed: nil, reader) where seen.insert(neighbour).inserted { open.append(neighbour) }
        }
        return found
    }

    /// - Throws: `CloudFailure` with `.alreadyShared` if something that is connected with the rows is in another share.
    func checkShareable(_ keys: [RowKey], into target: Int64?) throws {
        try store.write { writer in
            try scan(writer)
            _ = try connected(keys, writer) { _, zone in
                guard zone == MirrorZone.home || zone == target else {
                    throw CloudFailure(.alreadyShared, "an object, or one that is connected with it, is shared already")
                }
                return zone == MirrorZone.home
            }
        }
    }

    /// Puts rows, and what they are connected with, into the zone of a share.
    ///
    /// - Returns: Keys of all rows that went there.
    func assign(_ keys: [RowKey], to id: ZoneID, share: Record) throws -> [RowKey] {
        try store.write { writer in
            try scan(writer)
            let listing = try MirrorState.int(.listing, writer) ?? 0
            let id = normal(id)
            let row = try ZoneTable.row(id, writer)
            let zone = try row?.zone ?? ZoneTable.insert(id, listing: abs(listing), writer)
            // What the app has in hand may be older than what has come since.
            let known = try row?.sharing?.modified?.timestamp
            if known.map({ $0 < share.modified?.timestamp ?? 0 }) ?? true { try keep(share, of: zone, writer) }
            return try move(keys, to: zone.number, writer)
        }
    }

    @discardableResult
    private func move(_ keys: [RowKey], to zone: Int64, _ writer: StoreWriter) throws -> [RowKey] {
        let moving = try connected(keys, writer) { $1 == MirrorZone.home }
        let bookkeeping = reader(writer)
        let mark = try writer.latestTransaction()
        var names: [String] = []
        var new: [LocalChange] = []
        for key in moving {
            guard let state = try bookkeeping.record(of: key) else {
                new.append(LocalChange(key: key, kind: .insert))
                continue
            }
            guard state.stage != .needsDelete, state.stage != .missing else { continue }
            names.append(state.recordName)
            try moveRecord(state, to: zone, mark: mark, writer)
        }
        // First: a pair that goes along may have been taken apart in history that is still to be read.
        try relate(arrived: names, in: zone, writer)
        for name in names { try moveLinks(touching: name, to: zone, mark: mark, writer, bookkeeping) }
        if !new.isEmpty {
            try apply([LocalTransaction(number: max(mark, 1), author: nil, changes: new)], zone: zone, writer)
        }
        return moving
    }

    private func moveRecord(_ state: RecordState, to zone: Int64, mark: Int64, _ writer: StoreWriter) throws {
        let place: [SQLValue] = [.int(MirrorZone.home), .text(state.recordName)]
        if scope == .private {
            try writer.execute(
                """
                INSERT OR REPLACE INTO TARN_RECORD \
                (zone, name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, generation, creator, created) \
                SELECT -1, name, entity, -pk, tag, ancestor, unapplied, digests, \(MirrorStage.needsDelete.rawValue), ?3, generation, creator, \
                created \
                FROM TARN_RECORD WHERE zone = ?1 AND name = ?2
                """, place + [.int(mark)])
        }
        // What newer versions wrote goes along; everything else is sent as the row has it.
        try writer.execute(
            """
            UPDATE TARN_RECORD SET zone = ?3, tag = NULL, ancestor = NULL, digests = NULL, failure = NULL, generation = 0, \
            created = NULL, parent = NULL, share = NULL, \
            stage = \(MirrorStage.needsUpload.rawValue), mark = ?4 WHERE zone = ?1 AND name = ?2
            """, place + [.int(zone), .int(mark)])
        try writer.execute("UPDATE TARN_RECORD SET zone = ?1 WHERE zone = -1 AND name = ?2", place)
        try writer.execute("UPDATE TARN_PARKED SET zone = ?3 WHERE zone = ?1 AND source = ?2", place + [.int(zone)])
        try MergedTable.move(state.recordName, from: MirrorZone.home, to: zone, as: state.recordName, writer)
    }

    /// Links whose both ends are there now.
    private func moveLinks(
        touching name: String, to zone: Int64, mark: Int64, _ writer: StoreWriter, _ bookkeeping: BookkeepingReader
    ) throws {
        let there = reader(writer, zone: zone)
        for var link in try bookkeeping.links(touching: name) where link.stage != .needsDelete {
            let other = link.pair.first == name ? link.pair.second : link.pair.first
            guard try there.record(named: other) != nil else { continue }
            // Where an end was gone already when the link came, nobody has seen the pair yet.
            let isNews = try scope == .private && [name, other].contains { try bookkeeping.record(named: $0) == nil }
            var old = link
            old.stage = .needsDelete
            old.mark = mark
            old.failure = nil
            link.stage = .needsUpload
            link.mark = mark
            link.changeTag = nil
            link.failure = nil
            link.generation = 0
            var (here, moved) = (BookkeepingChanges(), BookkeepingChanges())
            if scope == .private { here.links = [old] } else { here.removedLinks = [link.recordName] }
            moved.links = [link]
            try self.writer(writer, zone: MirrorZone.home).write(here, now: now)
            try self.writer(writer, zone: zone).write(moved, now: now)
            if isNews { try join(link, writer, there) }
        }
    }

    // MARK: What others know

    /// After a zone has received objects: what this device alone connected with them follows.
    func gather(into zone: MirrorZone, _ writer: StoreWriter) throws {
        let bookkeeping = reader(writer, zone: zone.number)
        var near: [RowKey] = []
        for key in try bookkeeping.keys() {
            near += try neighbours(of: key, changed: nil, writer).filter { try bookkeeping.zone(of: $0) ?? MirrorZone.home == MirrorZone.home }
        }
        try move(near, to: zone.number, writer)
        // Links that whoever shared the objects did not know of.
        let home = reader(writer), mark = try writer.latestTransaction()
        for key in try bookkeeping.keys() {
            guard let name = try bookkeeping.name(of: key) else { continue }
            try moveLinks(touching: name, to: zone.number, mark: mark, writer, home)
        }
    }

    /// What others wrote into a record whose object has moved goes to the object, and has to be sent from there; what they
    /// connected with it follows.
    func passOn(_ plan: ImportPlan, _ writer: StoreWriter) throws {
        var updated: Set<RowKey> = []
        for case .update(let row, _) in plan.rows { updated.insert(row.key) }
        for state in plan.bookkeeping.records where state.isMovedOut && updated.contains(state.key) {
            try writer.execute(
                "UPDATE TARN_RECORD SET stage = \(MirrorStage.needsUpload.rawValue) WHERE entity = ? AND pk = ? AND stage = 0",
                [.text(mapping.model.entities[state.key.entityIndex].name), .int(state.key.primaryKey)])
        }
        // What only newer versions of the app understand goes along as well, until the record is made.
        for state in plan.bookkeeping.records where state.isMovedOut {
            try writer.execute(
                """
                UPDATE TARN_RECORD SET unapplied = (SELECT unapplied FROM TARN_RECORD old WHERE old.zone = \(MirrorZone.home) AND old.name = ?3) \
                WHERE entity = ?1 AND pk = ?2 AND tag IS NULL AND zone <> \(MirrorZone.home)
                """, [.text(mapping.model.entities[state.key.entityIndex].name), .int(state.key.primaryKey), .text(state.recordName)])
        }
        guard scope == .private, try ZoneTable.all(writer).count > 1 else { return }
        let home = reader(writer)
        for intent in plan.rows {
            switch intent {
            case .insert(let row), .update(let row, _):
                try follow(row.key, row.references, writer, home)
                // What others let a moved object refer to in the old place goes after it.
                for key in row.references { try follow(key, [row.key], writer, home) }
            case .delete: continue
            }
        }
        for link in plan.bookkeeping.links where link.stage == .uploaded {
            let ends = try [link.pair.first, link.pair.second].compactMap { try home.record(named: $0) }
            guard ends.count == 2, ends.contains(where: \.isMovedOut) else { continue }
            for (end, other) in [(0, 1), (1, 0)] { try follow(ends[end].key, [ends[other].key], writer, home) }
            guard let zone = try home.zone(of: ends[0].key), zone != MirrorZone.home else { continue }
            try moveLinks(touching: link.pair.first, to: zone, mark: try writer.latestTransaction(), writer, home)
        }
    }

    /// Moves an object of the home zone to where one of others is.
    private func follow(_ key: RowKey, _ others: [RowKey], _ writer: StoreWriter, _ home: BookkeepingReader) throws {
        if others.isEmpty { return }
        guard try home.zone(of: key) == MirrorZone.home else { return }
        let zones = try others.compactMap { try home.zone(of: $0) }
        if let zone = zones.filter({ $0 != MirrorZone.home }).min() { try move([key], to: zone, writer) }
    }
}
