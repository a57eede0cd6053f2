// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// The rows that one transaction removed with zones.
struct RemovedZones: Sendable {
    /// The keys of rows that were deleted.
    var keys: [RowKey] = []
    /// Whether the store was archived. One copy has the objects of all zones.
    var isArchived = false
}

/// Zones that the server has deleted. `ZoneRemoval` decides what happens to their objects.
struct ZoneRemovals: FileTransactions {
    let file: MirrorFile

    /// Archives of lost shares that may wait for the app's acknowledgement.
    private static let sharesLostMax = 16

    /// Returns the reason for which the home zone was deleted, as the list of zones named it; nil while it exists, or if no list named it.
    func homeDeletion() throws -> ZoneDeletionReason? {
        try store.read { try StateTable.text(.homeDeletion, $0).flatMap { ZoneDeletionReason(rawValue: $0) } }
    }

    /// Removes a zone and its objects, as the server did.
    func remove(_ zone: MirrorZone, keeping remaining: ZoneRemoval.Remaining) throws -> Committed<RemovedZones> {
        try write { writer, related in
            var removed = RemovedZones()
            guard try ZoneTable.row(zone.number, writer)?.zone == zone else { return removed }
            try remove(zone, keeping: remaining, &removed, writer, &related)
            return removed
        }
    }

    /// - Parameter removed: The removed rows are added to it.
    func remove(
        _ zone: MirrorZone, keeping remaining: ZoneRemoval.Remaining, _ removed: inout RemovedZones, _ writer: StoreWriter,
        _ related: inout RelatedRows
    ) throws {
        let removal = ZoneRemoval(isHome: zone.isHome, keeping: remaining, ownsObjects: scope == .private)
        let metadata = self.writer(writer, zone: zone.number)
        try file.history.scan(writer, &related)
        file.stagedPages.files?.remove(zone.number)
        if removal.marksEverythingUnsent {
            try file.outbox.noteCreationsInDoubt(writer)
            try file.resets.disownRecordsOfParticipants(in: zone.number, writer)
            try renameRecordsOfParticipants(in: zone.number, writer)
        }
        try file.outbox.clear(of: zone, writer)
        let duplicates = try removal.marksEverythingUnsent ? removeDuplicates(of: zone, writer) : []
        if removal.marksEverythingUnsent { try metadata.forgetSent() }
        let all = try removal.deletedRows == .all ? metadata.reader.keys() : []
        var returned =
            try removal.takesBackRelocations ? takeBackRelocations(from: metadata, isLost: removal.marksEverythingUnsent, writer) : []
        var keys = try removal.deletedRows == .all ? all : metadata.reader.keysOnServer()
        if let kind = removal.archivedBecause, !keys.isEmpty, !removed.isArchived {
            try archive(because: kind, writer)
            removed.isArchived = true
        }
        let dependents = try removal.unsentObjects == .areDeleted ? nil : dependents(of: keys, metadata.reader, writer)
        keys += dependents?.keys ?? []
        try file.resets.delete(keys, writer)
        if let dependents { try forget(dependents, metadata) }
        switch removal.unsentObjects {
        case .stay:
            try metadata.removeSent()
            try metadata.removeLinksWithoutEnds()
            try metadata.removeDependents()
        case .moveHome, .areDeleted:
            for key in keys { try metadata.removeRecord(of: key) }
            try metadata.removePendingRecordDeletions()
            if removal.unsentObjects == .moveHome {
                returned += try metadata.reader.keys()
                try metadata.moveUnsent(to: MirrorZone.home)
            }
            try metadata.removeEverything()
        }
        if removal.fetchesAgain {
            try ZoneTable.beginFullFetch(zone.number, expectsHistory: false, writer)
        } else {
            try ZoneTable.remove(zone.number, writer)
        }
        try file.followers.gather(returned: returned, writer, &related)
        removed.keys += keys + duplicates
    }

    /// Gives records of a share other names that participants created under the name of an object of the home zone.
    private func renameRecordsOfParticipants(in zone: Int64, _ writer: StoreWriter) throws {
        guard let owner = try StateTable.text(.user, writer) else { return }
        let home = reader(writer), metadata = self.writer(writer, zone: zone)
        for name in try metadata.reader.names(notCreatedBy: owner) where try home.hasRecord(named: name) {
            var changes = BookkeepingChanges()
            changes.removedLinks = try metadata.reader.links(touching: name).map(\.recordName)
            try metadata.write(changes, now: now)
            try metadata.renameRecord(name, to: surroundings.makeName())
        }
    }

    /// - Throws: `StoreError` if the archive cannot be made; `CloudFailure` if too many archives of shares wait for the app.
    func archive(because kind: AccountChange.Kind, _ writer: StoreWriter) throws {
        // A server that loses its history again and again would fill the disk.
        guard try kind != .shareLost || file.accountChanges.log(writer).changes.count(where: { $0.kind == .shareLost }) < Self.sharesLostMax
        else {
            throw CloudFailure(
                .serviceUnavailable,
                "the server lost shares \(Self.sharesLostMax) times, and an archive was made each time; after the app has called "
                    + "acknowledgeAccountChanges(in:), syncing continues")
        }
        let owner = try file.account.signIn(writer).owner
        let copy = try ArchiveFile.add(
            store, ArchiveNote(owner: owner, date: now, objectCount: Int64(try file.account.allKeys(writer).count)))
        try file.accountChanges.note(
            AccountChange(kind: kind, outcome: .emptied, date: now, previous: owner, present: owner, archive: copy), writer)
    }

    /// Deletes objects that another device has sent to the home zone before this one learned that their zone was deleted. This device has
    /// the objects, and merges them when the home zone is fetched again.
    private func removeDuplicates(of zone: MirrorZone, _ writer: StoreWriter) throws -> [RowKey] {
        let home = self.writer(writer, zone: MirrorZone.home)
        let keys = try home.reader.keys(alsoNamedIn: zone.number)
        try file.resets.delete(keys, writer)
        for key in keys {
            guard let name = try home.reader.record(of: key)?.recordName else { continue }
            try home.removeRecord(named: name)
            try home.removeDeferredReferences(from: name)
        }
        // A restored server may have lost records of the home zone, too.
        try ZoneTable.beginFullFetch(MirrorZone.home, expectsHistory: true, writer)
        return keys
    }

    /// Makes source records the current ones of objects that were relocated to a zone and have not arrived there.
    ///
    /// - Returns: The keys of the objects.
    private func takeBackRelocations(from zone: SyncMetadataWriter, isLost: Bool, _ writer: StoreWriter) throws -> [RowKey] {
        let home = self.writer(writer, zone: MirrorZone.home)
        let keys = try zone.reader.keysNotArrived(from: MirrorZone.home)
        for key in keys {
            guard let source = try home.reader.sourceRecord(of: key)?.state else { continue }
            try zone.removeRecord(of: key)
            try home.write(source.takenBack(isLost: isLost))
        }
        if !keys.isEmpty { try zone.takeBackLinks(to: MirrorZone.home) }
        return keys
    }

    /// Returns the unsent objects of a zone that require one of the rows that are deleted.
    func dependents(of keys: [RowKey], _ metadata: SyncMetadataReader, _ writer: StoreWriter) throws -> RemovedRows {
        var others: [(row: Row, state: RecordState)] = []
        var names: [RowKey: String] = [:]
        if mapping.hasRequirements {
            let deleted = Set(keys)
            for row in try writer.rows(try metadata.keys().filter { !deleted.contains($0) }) {
                if let state = try metadata.record(of: row.key) { others.append((row, state)) }
                for key in row.references where names[key] == nil { names[key] = try metadata.name(of: key) }
            }
        }
        return RemovedRows(with: keys, among: others, names: names, mapping: mapping)
    }

    private func forget(_ removed: RemovedRows, _ metadata: SyncMetadataWriter) throws {
        var changes = BookkeepingChanges()
        changes.conflicts = removed.conflicts
        for key in removed.keys { if let state = try metadata.reader.record(of: key) { changes.removedRecords.append(state.recordName) } }
        try metadata.write(changes, now: now)
    }
}
