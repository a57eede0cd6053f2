// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import ManagedModel
import MirroringCore
import SQLiteStore

/// Objects that follow relocated ones: what this device or another one connected with them is relocated, too, and edits of their source
/// records are forwarded.
struct RelocationFollowers: FileTransactions {
    let file: MirrorFile

    /// Relocates what this device alone connected with objects of a zone, after other devices have relocated objects to it.
    func gather(into zone: MirrorZone, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        try gather(reader(writer, zone: zone.number).keys(), into: zone.number, writer, &related)
    }

    /// Relocates objects that returned to the home zone from a lost share, and that the user connected with objects of another share.
    /// Relationships between two shares were not sent; those between the home zone and a share are.
    func gather(returned keys: [RowKey], _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let anyZone = reader(writer)
        var connected: [Int64: Set<RowKey>] = [:]
        for key in keys {
            for neighbour in try file.relocations.neighbours(of: key, changed: nil, writer) {
                guard let zone = try anyZone.zone(of: neighbour), zone != MirrorZone.home else { continue }
                connected[zone, default: []].insert(neighbour)
            }
        }
        for (zone, keys) in connected.sorted(by: { $0.key < $1.key }) {
            let inOrder = keys.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
            try gather(inOrder, into: zone, writer, &related)
        }
    }

    /// Relocates objects that this device alone connected with relocated objects. The home zone withheld the records of those until they were
    /// deleted.
    func gather(withheld names: [String], _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        if names.isEmpty { return }
        for row in try ZoneTable.all(writer) where !row.zone.isHome {
            let metadata = reader(writer, zone: row.zone.number)
            let keys = try names.compactMap { try metadata.record(named: $0) }.filter { !$0.isRelocated && $0.stage != .needsDelete }.map(
                \.key)
            if !keys.isEmpty { try gather(keys, into: row.zone.number, writer, &related) }
        }
    }

    /// Relocates objects of the home zone that are connected with these objects of a zone.
    private func gather(_ keys: [RowKey], into zone: Int64, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let metadata = reader(writer, zone: zone)
        var nearby: [RowKey] = []
        for key in keys {
            nearby += try file.relocations.neighbours(of: key, changed: nil, writer).filter {
                try metadata.zone(of: $0) ?? MirrorZone.home == MirrorZone.home
            }
            nearby += try followers(of: key, metadata, writer)
        }
        try file.relocations.relocate(nearby, to: zone, writer, &related)
        // Links that the device that shared the objects did not have.
        let mark = try writer.latestTransaction()
        for key in keys {
            guard let name = try reader(writer).name(of: key) ?? metadata.name(of: key) else { continue }
            try file.relocations.relocateLinks(of: name, to: zone, mark: mark, writer, &related)
        }
        try file.arrivals.sort(&related, in: zone, writer)
        try sendRelationships(of: keys, in: zone, writer)
    }

    /// Sends relationships to objects that this device could not relocate, and that another device has.
    private func sendRelationships(of keys: [RowKey], in zone: Int64, _ writer: StoreWriter) throws {
        let metadata = reader(writer, zone: zone)
        func isCurrent(_ key: RowKey) throws -> Bool { try metadata.zone(of: key) == zone }
        let changes = try keys.compactMap { key -> LocalChange? in
            guard try isCurrent(key), let state = try metadata.record(of: key), let row = try writer.row(key) else { return nil }
            return try UnsentRelationships.change(
                of: state, row, mapping: mapping, name: { try isCurrent($0) ? metadata.name(of: $0) : nil },
                destinations: { try writer.destinations(of: key, toMany: $0) },
                links: { try metadata.links(touching: state.recordName) })
        }
        if changes.isEmpty { return }
        try file.history.apply(
            [LocalTransaction(number: max(try writer.latestTransaction(), 1), author: nil, changes: changes)], zone: zone, writer)
    }

    /// Returns the objects of the home zone with links, there, to an object of another zone.
    private func followers(of key: RowKey, _ metadata: SyncMetadataReader, _ reader: StoreReader) throws -> [RowKey] {
        let home = self.reader(reader)
        // A record of this name in the home zone is another object's, or its links have a relocated end.
        guard let name = try metadata.name(of: key), let target = try metadata.record(named: name), try home.record(named: name) == nil,
            try !home.isWithheld(name)
        else { return [] }
        return try home.links(touching: name).compactMap {
            try RelocatedLink.follower(of: $0, to: target) { try home.record(named: $0) }
        }
    }

    /// Relocates objects of the home zone that deferred references connect with records of other zones.
    func followDeferredReferences(_ writer: StoreWriter, _ related: inout RelatedRows) throws {
        guard scope == .private else { return }
        let home = reader(writer)
        for row in try ZoneTable.all(writer) where !row.zone.isHome {
            let share = reader(writer, zone: row.zone.number)
            let targets = try DeferredReferenceFollowers.targets(
                of: share.deferredReferences(toRecordsIn: MirrorZone.home), home: { try home.record(named: $0) },
                share: { try share.record(named: $0) })
            let sources = try DeferredReferenceFollowers.sources(
                of: home.deferredReferences(toRecordsIn: row.zone.number), mapping: mapping, home: { try home.record(named: $0) },
                isWithheld: { try home.isWithheld($0) }, share: { try share.record(named: $0) })
            let keys = targets + sources
            if !keys.isEmpty { try file.relocations.relocate(keys, to: row.zone.number, writer, &related) }
        }
    }

    /// Defers references of objects in other zones to rows that a plan deletes or withholds.
    func deferCleared(_ references: [ClearedReference], _ writer: StoreWriter) throws {
        let metadata = reader(writer)
        for reference in references {
            guard let zone = try metadata.zone(of: reference.key), let state = try metadata.record(of: reference.key),
                let deferred = reference.deferred(of: state, mapping: mapping)
            else { continue }
            try self.writer(writer, zone: zone).write(deferred)
        }
    }

    /// Forwards edits that other devices made to relocated objects in the home zone, and relocates objects that they connected with those.
    func forwardEdits(_ plan: ImportPlan, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let home = self.writer(writer, zone: MirrorZone.home)
        let edits = ForwardedEdits(plan)
        for key in edits.edited { try home.markForUploadIfUploaded(key) }
        for unapplied in edits.unapplied {
            guard let zone = try home.reader.zone(of: unapplied.key), zone != MirrorZone.home,
                var state = try home.reader.record(of: unapplied.key),
                state.changeTag == nil
            else { continue }
            state.ancestor.unapplied = unapplied.fields
            try self.writer(writer, zone: zone).write(state)
        }
        guard scope == .private, try ZoneTable.all(writer).count > 1 else { return }
        try follow(edits.connections, writer, &related)
        for link in edits.links { try follow(link, writer, &related) }
    }

    /// Relocates objects that the home zone withheld until now, and that links there join with relocated ones.
    func followLinks(ofReleased names: [String], _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        guard scope == .private, !names.isEmpty, try ZoneTable.all(writer).count > 1 else { return }
        let home = reader(writer)
        for name in names { for link in try home.links(touching: name) where link.isLive { try follow(link, writer, &related) } }
    }

    /// Relocates an object that a link of the home zone joins with a relocated one, and the link.
    private func follow(_ link: LinkState, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let home = reader(writer)
        let ends = try [link.pair.first, link.pair.second].compactMap { try home.record(named: $0) }
        if ends.count == 1 { return try followRelocatedEnd(of: link, from: ends[0].recordName, writer, &related) }
        if ends.isEmpty { return }
        guard ends.contains(where: \.isRelocated) else { return }
        for (end, other) in [(0, 1), (1, 0)] { try follow(ends[end].key, [ends[other].key], writer, &related) }
        guard let zone = try home.zone(of: ends[0].key), zone != MirrorZone.home else { return }
        try file.relocations.relocateLinks(of: link.pair.first, to: zone, mark: try writer.latestTransaction(), writer, &related)
        // The page of the home zone had no positions of relocated members.
        related.add(unsorted: ends.flatMap { mapping.lists(of: $0.key, linkedBy: link.pair.kind) })
        try file.arrivals.sort(&related, in: zone, writer)
    }

    /// - Parameter name: The end of the link that the home zone has.
    private func followRelocatedEnd(of link: LinkState, from name: String, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let home = reader(writer)
        // Most often the other end has not arrived.
        if try home.currentZone(ofRecordNamed: link.pair.end(opposite: name)) == nil { return }
        for row in try ZoneTable.all(writer) where !row.zone.isHome {
            let share = reader(writer, zone: row.zone.number)
            let key = try DeferredReferenceFollowers.linked(
                by: link, mapping: mapping, home: { try home.record(named: $0) }, isWithheld: { try home.isWithheld($0) },
                share: { try share.record(named: $0) })
            if let key {
                try file.relocations.relocate([key], to: row.zone.number, writer, &related)
                return
            }
        }
    }

    /// Relocates objects of the home zone that were connected with objects of other zones.
    func follow(_ connections: [ForwardedEdits.Connection], _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        guard scope == .private, !connections.isEmpty, try ZoneTable.all(writer).count > 1 else { return }
        for connection in connections {
            try follow(connection.key, connection.references, writer, &related)
            for key in connection.references { try follow(key, [connection.key], writer, &related) }
        }
    }

    /// Relocates an object of the home zone to the zone of one of others.
    private func follow(_ key: RowKey, _ others: [RowKey], _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        if others.isEmpty { return }
        let home = reader(writer)
        guard let zone = try home.zone(of: key), zone == MirrorZone.home else { return }
        let zones = try others.map { try home.zone(of: $0) }
        guard let destination = ForwardedEdits.destination(ofObjectIn: zone, following: zones, home: MirrorZone.home) else { return }
        try file.relocations.relocate([key], to: destination, writer, &related)
    }
}
