// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

// The list of zones, and their shares.

extension MirrorFile {
    // MARK: The list of zones

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
                    if let known { try remove(known.zone, keeping: remaining, &removed, writer, &related) }
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
                    try remove(row.zone, keeping: isLost ? .all : .unsent, &removed, writer, &related)
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

    /// Returns the identifier without the owner's name in the user's own zones: responses may have it or not.
    func normal(_ id: ZoneID) -> ZoneID { scope == .shared ? id : ZoneID(zoneName: id.zoneName) }

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
                    try archive(because: .shareLost, writer)
                    removed.isArchived = true
                }
            }
            if mayWrite { try sendAgain(zone.number, lostAfter: failure.restoredVersion, writer) }
            return removed
        }
    }

    // MARK: Shares

    /// Stores the share of a page. Rejections are cleared, since it may grant write access.
    func keepShare(in page: ImportPage, _ row: ZoneTable.Row, _ writer: StoreWriter) throws {
        let number = row.zone.number
        if let share = page.records.last(where: { $0.recordName == ShareDetails.zoneShareName }) {
            try keep(share, of: row.zone, writer)
            try ZoneTable.set(.shareGeneration, .int(row.generation), of: number, writer)
        } else if page.deletions.contains(ShareDetails.zoneShareName)
            || page.generation != nil && !page.moreComing && row.shareGeneration < row.generation
        {
            try ZoneTable.set(.share, .null, of: number, writer)
        }
    }

    func keep(_ share: Record, of zone: MirrorZone, _ writer: StoreWriter) throws {
        try ZoneTable.set(.share, .blob(Data(share.encoded())), of: zone.number, writer)
        try self.writer(writer, zone: zone.number).clearRejections()
    }

    /// The shares of a store with their zones.
    func shares() throws -> [(share: Record, zone: MirrorZone)] {
        try store.read { reader in
            guard try ZoneTable.exists(reader) else { return [] }
            return try ZoneTable.all(reader).compactMap { row in try row.sharing.map { ($0, row.zone) } }
        }
    }

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
