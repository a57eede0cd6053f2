// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import ManagedModel
import MirroringCore
import SQLiteStore

/// Resets of zones: their objects are fetched, sent or removed.
struct ZoneResets: FileTransactions {
    let file: MirrorFile

    /// Fetches the home zone from its beginning, and treats its objects as a reset demands.
    ///
    /// - Returns: The removed rows.
    func reset(_ reset: SyncMachine.Reset) throws -> Committed<RemovedZones> {
        try write { writer, related in
            var removed = RemovedZones()
            if reset != .fetchAgain {
                if reset != .removeRows { try file.outbox.noteCreationsInDoubt(writer) }
                try OutboxTable.removeAll(writer)
                try StateTable.set(.homeDeletion, .null, writer)
            }
            switch reset {
            case .fetchAgain: try ZoneTable.beginFullFetch(MirrorZone.home, expectsHistory: true, writer)
            case .uploadAgain:
                try ZoneTable.beginFullFetch(MirrorZone.home, expectsHistory: false, writer)
                try sendAgain(MirrorZone.home, writer)
            case .uploadLost(let version):
                try ZoneTable.beginFullFetch(MirrorZone.home, expectsHistory: false, writer)
                try ZoneTable.beginFullFetchOfShares(writer)
                try StateTable.set(.isHomeHistoryLost, .int(1), writer)
                try sendAgain(MirrorZone.home, lostAfter: version, writer)
            case .removeRows:
                try file.zoneRemovals.remove(
                    MirrorZone(number: MirrorZone.home, id: homeZone), keeping: .unsent, &removed, writer, &related)
            }
            return removed
        }
    }

    /// Marks everything in a zone to be sent, as if the server had nothing of it. Records that the server does have are merged with when
    /// they are fetched: values that differ go to the conflict log.
    ///
    /// - Parameter version: The last version in the backup of a restored server; nil if the server has no part of this history. Earlier
    ///   versions remain merge bases: the server has them, or has replaced them.
    func sendAgain(_ zone: Int64, lostAfter version: RestoredVersion? = nil, _ writer: StoreWriter) throws {
        try disownRecordsOfParticipants(in: zone, writer)
        let metadata = self.writer(writer, zone: zone), sent: SentAgain = scope == .shared ? .exceptRelocated : .all
        if let version { try metadata.markUnsent(sent, after: version) } else { try metadata.markEverythingUnsent(sent) }
    }

    /// Prepares records of a share's zone to be sent by this device, which makes its user their author: relocation stamps of participants, and
    /// their references to objects of the home zone, must not count as the owner's.
    func disownRecordsOfParticipants(in zone: Int64, _ writer: StoreWriter) throws {
        guard scope == .private, zone != MirrorZone.home, let owner = try StateTable.text(.user, writer) else { return }
        let metadata = self.writer(writer, zone: zone)
        for name in try metadata.reader.deferredReferenceSources()
        where try metadata.reader.record(named: name)?.isWritten(by: owner) != true {
            try metadata.removeDeferredReferences(from: name)
        }
        for name in try metadata.reader.names(notCreatedBy: owner) {
            guard var state = try metadata.reader.record(named: name) else { continue }
            if state.ancestor.unapplied.removeValue(forKey: MirrorNames.moveReceipt) != nil { try metadata.write(state) }
        }
    }

    /// Deletes rows, with all references to them, as changes that are not sent.
    func delete(_ keys: [RowKey], _ writer: StoreWriter) throws {
        if keys.isEmpty { return }
        try writer.nullifyReferences(to: keys)
        try PositionTable.remove(keys, mapping, writer)
        var changes = StoreChanges()
        changes.deletes = keys.map { RowDelete(key: $0, expectedVersion: nil) }
        changes.author = MirrorNames.resetAuthor
        try writer.apply(changes)
    }
}
