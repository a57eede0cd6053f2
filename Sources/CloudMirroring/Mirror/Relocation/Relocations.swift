// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// Relocations: objects of the home zone go to the zone of a share. `MirroringCore/Relocation` decides.
///
/// A record cannot leave its zone: it is created in the destination zone under its name, with a stamp that names its source, and deleted in
/// the source zone after that. Devices that know the object by its source record keep it. Edits that they make there are forwarded.
///
/// Records are never related across zones, so everything that is connected is relocated together.
struct Relocations: FileTransactions {
    let file: MirrorFile

    // MARK: Changes of this device

    /// Returns the history of each zone, after it has relocated objects that were related to shared ones.
    func partition(_ history: [LocalTransaction], _ writer: StoreWriter, _ related: inout RelatedRows) throws -> [(
        zone: Int64, history: [LocalTransaction]
    )] {
        let metadata = reader(writer)
        let assignment = ZoneAssignment(history, mapping: mapping)
        func zone(_ key: RowKey) throws -> Int64 { try metadata.zone(of: key) ?? MirrorZone.home }
        let changes = try assignment.existing.map { key in
            ZoneAssignment.Change(
                key: key, zone: try zone(key),
                neighbours: try neighbours(of: key, changed: assignment.changedProperties(of: key), writer).map {
                    .init(key: $0, zone: try zone($0))
                })
        }
        for relocation in ZoneAssignment.relocations(changes, home: MirrorZone.home) {
            try relocate([relocation.key], to: relocation.zone, writer, &related)
        }
        var zones: [RowKey: Int64] = [:]
        for key in assignment.keys { zones[key] = try zone(key) }
        return assignment.parts(zones: zones)
    }

    /// Returns the rows that a row is related to.
    ///
    /// - Parameter changed: Only by these properties; nil for all. The many side of a one-to-many relationship is left out then: the
    ///   objects that are related by it changed themselves.
    func neighbours(of key: RowKey, changed: Set<String>?, _ reader: StoreReader) throws -> [RowKey] {
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

    // MARK: Relocating

    /// Returns the rows that are connected with rows by relationships, the rows included.
    ///
    /// - Parameter isIncluded: Called with the zone of each row that is reached. A row that it leaves out leads nowhere.
    private func connected(_ keys: [RowKey], _ reader: StoreReader, where isIncluded: (Int64) throws -> Bool) throws -> [RowKey] {
        let metadata = self.reader(reader)
        var connected = ConnectedObjects(from: keys)
        while let key = connected.next() {
            guard try isIncluded(try metadata.zone(of: key) ?? MirrorZone.home) else { continue }
            connected.include(key, neighbours: try neighbours(of: key, changed: nil, reader))
        }
        return connected.keys
    }

    /// - Throws: `CloudFailure` with `.alreadyShared` if an object that is connected with the rows is in another share, `.invalidArguments` if
    ///   one has a value that waits for its key or its asset.
    func checkShareable(_ keys: [RowKey], into target: Int64?) throws -> Committed<Void> {
        try write { writer, related in
            try file.history.scan(writer, &related)
            let moving = try connected(keys, writer) { zone in
                guard zone == MirrorZone.home || zone == target else {
                    throw CloudFailure(.alreadyShared, "an object, or one that is connected with it, is shared already")
                }
                return zone == MirrorZone.home
            }
            let metadata = reader(writer)
            guard try metadata.unreadableCount() > 0 else { return }
            for key in moving {
                guard let values = try metadata.record(of: key)?.fieldStates, values.awaitsValues else { continue }
                throw CloudFailure(
                    .invalidArguments,
                    values.missingKeys.isEmpty
                        ? "the server does not have an asset of an object; set the attribute, or wait for the asset, and share the object then"
                        : "an object has an encrypted value without its key; add the key with addEncryptionKeys(_:to:) and share it then")
            }
        }
    }

    /// Relocates rows, with the rows that they are connected with, to the zone of a share.
    ///
    /// - Returns: The keys of all rows that were relocated.
    func assign(_ keys: [RowKey], to id: ZoneID, share: Record) throws -> Committed<[RowKey]> {
        try write { writer, related in
            try file.history.scan(writer, &related)
            let listing = try StateTable.int(.listing, writer) ?? 0
            let id = normal(id)
            let row = try ZoneTable.row(id, writer)
            let zone = try row?.zone ?? ZoneTable.insert(id, listing: listing, writer)
            // The app's copy of the share may be older than the stored one.
            let known = try row?.sharing?.modified?.timestamp
            if known.map({ $0 < share.modified?.timestamp ?? 0 }) ?? true { try file.shares.keep(share, of: zone, writer) }
            return try relocate(keys, to: zone.number, writer, &related)
        }
    }

    @discardableResult
    func relocate(_ keys: [RowKey], to zone: Int64, _ writer: StoreWriter, _ related: inout RelatedRows) throws -> [RowKey] {
        let moving = try connected(keys, writer) { $0 == MirrorZone.home }
        let home = self.writer(writer, zone: MirrorZone.home), destination = self.writer(writer, zone: zone)
        let mark = try writer.latestTransaction()
        var names: [(source: String, destination: String)] = []
        var unrecorded: [LocalChange] = []
        for key in moving {
            guard let state = try home.reader.record(of: key) else {
                unrecorded.append(LocalChange(key: key, kind: .insert))
                continue
            }
            guard RelocatedRecord.isRelocatable(state) else { continue }
            let name = try destinationName(of: state, destination.reader, writer)
            names.append((state.recordName, name))
            let relocated = RelocatedRecord(state, as: name, mark: mark, keepsSource: scope == .private)
            try home.moveRecord(named: state.recordName, to: destination, as: relocated.destination)
            if let source = relocated.source { try home.writeSource(source) }
        }
        // First: a pair that is relocated may have been unlinked in history that is still to be read.
        try file.arrivals.relate(arrived: names.map(\.destination), in: zone, writer, &related)
        let renamed = Dictionary(uniqueKeysWithValues: names.map { ($0.source, $0.destination) })
        for name in names { try relocateLinks(of: name.source, renamed, to: zone, mark: mark, writer, &related) }
        try file.arrivals.sort(&related, in: zone, writer)
        if !unrecorded.isEmpty {
            try file.history.apply([LocalTransaction(number: max(mark, 1), author: nil, changes: unrecorded)], zone: zone, writer)
        }
        return moving
    }

    /// Returns the record name of an object that is relocated.
    private func destinationName(of state: RecordState, _ destination: SyncMetadataReader, _ writer: StoreWriter) throws -> String {
        guard let row = try writer.row(state.key),
            try Rekeying.isNameTaken(
                from: state, row, inDestination: destination.record(named: state.recordName),
                withheld: destination.withheldRecord(named: state.recordName), mapping: mapping)
        else { return state.recordName }
        return try file.uniqueObjects.name(of: row, besides: [], destination) ?? surroundings.makeName()
    }

    /// Relocates the links of a record that have both ends in a zone now. The caller sorts the lists that members joined: a list has the
    /// positions of all its members once the links of all records are there.
    ///
    /// - Parameter renamed: Destination names of objects that are relocated now, by their names in the home zone.
    func relocateLinks(
        of name: String, _ renamed: [String: String] = [:], to zone: Int64, mark: Int64, _ writer: StoreWriter, _ related: inout RelatedRows
    ) throws {
        let home = self.writer(writer, zone: MirrorZone.home), destination = self.writer(writer, zone: zone)
        // The other end of its link was relocated before, or the pair was unlinked.
        for link in try home.reader.links(touching: name) where link.stage != .needsDelete {
            let isSymmetric = mapping.links[link.pair.kind]?.isSymmetric == true
            let pair = try RelocatedLink.pair(of: link, isSymmetric: isSymmetric) { name in
                if let name = renamed[name] { return name }
                return try RelocatedLink.destinationName(
                    of: name, source: home.reader.record(named: name), hasRecord: { try destination.reader.hasRecord(named: $0) },
                    isWithheld: { try destination.reader.isWithheld($0) }, nameOf: { try destination.reader.name(of: $0) })
            }
            guard let pair else {
                if let deletion = RelocatedLink.deletion(ofStaying: link, mark: mark, isLinked: try isLinked(link, home.reader, writer)) {
                    var changes = BookkeepingChanges()
                    changes.links = [deletion]
                    try home.write(changes, now: now)
                }
                continue
            }
            let relocated = RelocatedLink(
                link, as: pair, mark: mark, keepsSource: scope == .private,
                hasBothEndsAtSource: try scope != .private
                    || RelocatedLink.hasBothEnds(
                        link, hasRecord: { try home.reader.hasRecord(named: $0) }, isWithheld: { try home.reader.isWithheld($0) })
            )
            var (atSource, atDestination) = (BookkeepingChanges(), BookkeepingChanges())
            if let source = relocated.source { atSource.links = [source] } else { atSource.removedLinks = [link.recordName] }
            atDestination.links = [relocated.destination]
            try home.write(atSource, now: now)
            try destination.write(atDestination, now: now)
            if relocated.isLinkedOnArrival { try file.arrivals.join(relocated.destination, writer, destination.reader, &related) }
        }
    }

    /// Whether the rows of a link are linked; nil if an object has no row, or no record in the zone.
    private func isLinked(_ link: LinkState, _ metadata: SyncMetadataReader, _ reader: StoreReader) throws -> Bool? {
        guard let relationship = mapping.links[link.pair.kind],
            let first = try metadata.record(named: link.pair.first)?.key, try reader.row(first) != nil,
            let second = try metadata.record(named: link.pair.second)?.key, try reader.row(second) != nil
        else { return nil }
        return try file.arrivals.isLinked(first, second, relationship, reader)
    }
}
