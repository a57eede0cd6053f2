// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// The list of zones: which exist, and which have changes to be fetched.
struct ZoneListing: FileTransactions {
    let file: MirrorFile

    func databaseToken() throws -> String? { try store.read { try StateTable.text(.databaseToken, $0) } }

    /// - Parameter failure: Why the token expired. A server that was restored may lack zones without having deleted them.
    func forgetDatabaseToken(because failure: CloudFailure) throws {
        try store.write { writer in
            try StateTable.set(.databaseToken, .null, writer)
            guard failure.isHistoryLost else { return }
            try StateTable.set(.isZoneHistoryLost, .int(1), writer)
            try ZoneTable.beginFullFetchOfShares(writer)
        }
    }

    /// Returns the shared zones with changes, oldest first.
    func zonesToFetch() throws -> [MirrorZone] {
        try store.read { try ZoneTable.all($0).filter { $0.needsFetch && !$0.zone.isHome }.map(\.zone) }
    }

    /// Applies one page of the list of changed zones.
    ///
    /// - Parameter token: The token of the request. A list without one names all zones.
    /// - Returns: The removed rows.
    func apply(_ page: DatabaseChangesResponse, askedWith token: String?) throws -> Committed<RemovedZones> {
        try write { writer, related in
            var removed = RemovedZones()
            guard try StateTable.text(.databaseToken, writer) == token else { return removed }
            var listing = try StateTable.int(.listing, writer) ?? 0
            var isListing = try StateTable.isZoneListingInProgress(writer)
            if token == nil { (listing, isListing) = (listing + 1, true) }
            for change in page.zones where scope == .private && normal(change.zoneID) == homeZone {
                try StateTable.set(.homeDeletion, change.isDeleted ? .text(change.deletionReason.rawValue) : .null, writer)
            }
            for change in page.zones where isMirrored(change.zoneID) {
                let id = normal(change.zoneID)
                let known = try ZoneTable.row(id, writer)
                if change.isDeleted {
                    let remaining = ZoneRemoval.Remaining(after: change.deletionReason)
                    if let known { try file.zoneRemovals.remove(known.zone, keeping: remaining, &removed, writer, &related) }
                    continue
                }
                let zone = try known?.zone ?? ZoneTable.insert(id, writer)
                try ZoneTable.set(.needsFetch, .int(1), of: zone.number, writer)
                try ZoneTable.set(.listing, .int(listing), of: zone.number, writer)
            }
            if !page.moreComing, isListing {
                isListing = false
                let isLost = try StateTable.int(.isZoneHistoryLost, writer) == 1
                for number in try ZoneTable.numbersNotListed(in: listing, writer) {
                    guard let row = try ZoneTable.row(number, writer) else { continue }
                    try file.zoneRemovals.remove(row.zone, keeping: isLost ? .all : .unsent, &removed, writer, &related)
                }
                try StateTable.set(.isZoneHistoryLost, .null, writer)
            }
            try StateTable.setZoneListing(listing, isInProgress: isListing, writer)
            try StateTable.set(.databaseToken, .text(page.syncToken), writer)
            return removed
        }
    }

    /// Advances the database token without a list of zones.
    func step(_ step: ImportPage.DatabaseStep, _ writer: StoreWriter) throws -> Bool {
        guard try !StateTable.isZoneListingInProgress(writer) && StateTable.text(.databaseToken, writer) == step.from else { return false }
        try StateTable.set(.databaseToken, .text(step.to), writer)
        return true
    }

    /// Returns `true` for a zone of shared objects.
    private func isMirrored(_ id: ZoneID) -> Bool {
        switch scope {
        case .private: id.zoneName.hasPrefix(MirrorNames.shareZonePrefix)
        // Others may share their home zone.
        case .shared: id.zoneName.hasPrefix(MirrorNames.zonePrefix)
        case .public: false
        }
    }

    /// Starts a full fetch of a zone.
    ///
    /// - Parameters:
    ///   - hadPages: Whether pages have arrived that are not applied.
    ///   - failure: Why the token expired. A server that was restored may lack what this device has.
    /// - Returns: nil if the zone is at its beginning already.
    func fetchAgain(_ zone: MirrorZone, hadPages: Bool, because failure: CloudFailure) throws -> RemovedZones? {
        try store.write { writer in
            guard let row = try ZoneTable.row(zone.number, writer) else { return nil }
            let isAtBeginning = row.token == nil && !hadPages, isHistoryLost = failure.isHistoryLost
            guard !isAtBeginning || isHistoryLost && row.exportedToken != nil else { return nil }
            try ZoneTable.beginFullFetch(zone.number, expectsHistory: !isHistoryLost, writer)
            var removed = RemovedZones()
            if !isHistoryLost { return removed }
            // Of objects that others share, those that the user may change are sent again: the owner may never have received the changes.
            let mayWrite = try scope == .private || row.sharing?.mayWrite == true
            if scope == .shared {
                let user = mayWrite ? nil : try StateTable.text(.user, writer)
                let metadata = reader(writer, zone: zone.number)
                if mayWrite || user != nil, try metadata.hasLostRecords(after: failure.restoredVersion, of: user) {
                    try file.zoneRemovals.archive(because: .shareLost, writer)
                    removed.isArchived = true
                }
            }
            if mayWrite { try file.resets.sendAgain(zone.number, lostAfter: failure.restoredVersion, writer) }
            return removed
        }
    }

    /// Returns the row of a zone; nil for a deleted one.
    func row(_ number: Int64) throws -> ZoneTable.Row? { try store.read { try ZoneTable.row(number, $0) } }

    /// The zone of a row's record, with its share.
    func zone(of key: RowKey) throws -> ZoneTable.Row? {
        try store.read { reader in
            guard try ZoneTable.exists(reader) else { return nil }
            return try self.reader(reader).zone(of: key).flatMap { try ZoneTable.row($0, reader) }
        }
    }

    func zone(_ id: ZoneID) throws -> ZoneTable.Row? {
        try store.read { reader in try ZoneTable.exists(reader) ? try ZoneTable.row(normal(id), reader) : nil }
    }
}
