// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// The history of a store's file: changes of this device become pending in the sync metadata.
struct LocalHistory: FileTransactions {
    let file: MirrorFile

    /// History transactions of one read.
    static let pageMax = 256

    /// Marks the changes of this device since history was last read.
    func scan(_ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let latest = try writer.latestTransaction()
        guard let read = try StateTable.int(.historyRead, writer) else { return try scanEverything(writer, upTo: latest, &related) }
        if read == latest { return }
        var position = read
        while position < latest {
            let page = try writer.history(after: position, limit: Self.pageMax)
            // Transactions are numbered without gaps: a missing one was purged before it was read.
            guard let first = page.first, first.number == position + 1, let last = page.last else {
                return try scanEverything(writer, upTo: latest, &related)
            }
            position = last.number
            try apply(page.map(LocalTransaction.init), writer, &related)
        }
        try StateTable.set(.historyRead, .int(position), writer)
    }

    /// Compares all rows with the sync metadata, for a store without complete history.
    private func scanEverything(_ writer: StoreWriter, upTo latest: Int64, _ related: inout RelatedRows) throws {
        var changes: [LocalChange] = []
        for root in Set(mapping.entities.values.map(\.entity.root)).sorted() {
            changes += try writer.fetchKeys(StoreQuery(entity: root)).map { LocalChange(key: $0, kind: .insert) }
        }
        let present = Set(changes.map(\.key))
        changes += try reader(writer).allKeys().filter { !present.contains($0) }.map { LocalChange(key: $0, kind: .delete) }
        try apply([LocalTransaction(number: max(latest, 1), author: nil, changes: changes)], writer, &related)
        try StateTable.set(.historyRead, .int(latest), writer)
    }

    private func apply(_ history: [LocalTransaction], _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        // Most stores have one zone, and everything is in it.
        guard scope != .public, try scope == .shared || ZoneTable.hasShares(writer) else {
            return try apply(history, zone: MirrorZone.home, writer)
        }
        for (zone, part) in try file.relocations.partition(history, writer, &related) { try apply(part, zone: zone, writer) }
    }

    /// - Parameter history: Changes of objects in one zone.
    func apply(_ history: [LocalTransaction], zone: Int64, _ writer: StoreWriter) throws {
        let scan = ExportScan(history, mapping: mapping)
        let metadata = reader(writer, zone: zone)
        let needs = scan.needs
        if needs.keys.isEmpty { return }
        var loaded = ExportScan.Loaded()
        for state in try metadata.records(of: needs.keys) { loaded.records[state.key] = state }
        for listing in needs.listings {
            var destinations = try writer.destinations(of: listing.owner, toMany: listing.relationship)
            // Records of different zones are never linked.
            destinations = try destinations.filter { try metadata.zone(of: $0) ?? zone == zone }
            loaded.destinations[listing] = destinations
            for key in destinations where loaded.records[key] == nil { loaded.records[key] = try metadata.record(of: key) }
        }
        var ends: Set<String> = []
        for key in needs.listings.map(\.owner) + needs.deleted {
            guard let name = loaded.records[key]?.recordName, ends.insert(name).inserted else { continue }
            loaded.links += try metadata.links(touching: name)
        }
        for link in loaded.links {
            for end in [link.pair.first, link.pair.second] {
                if let state = try metadata.record(named: end) { loaded.records[state.key] = state }
            }
        }
        for key in needs.deleted {
            if let name = loaded.records[key]?.recordName { loaded.parked += try metadata.deferredReferences(from: name) }
        }
        // An object without a row is deleted in this scan, or was in an earlier one. A relocated object has a row: a pair of which only one
        // end is relocated was unlinked before.
        loaded.existing = Set(needs.keys).union(loaded.records.values.filter(\.hasRow).map(\.key))
        loaded.existing.subtract(needs.deleted)
        loaded.uniqueNames = try file.uniqueObjects.names(of: needs.keys.filter { loaded.records[$0] == nil }, writer, metadata)
        let names = NewRecordNames((0..<scan.namesAtMost(loaded)).map { _ in surroundings.makeName() })
        try self.writer(writer, zone: zone).write(scan.plan(loaded, names: names), now: now)
        try file.order.rank(after: scan, zone: zone, writer)
    }
}

extension LocalTransaction {
    fileprivate init(_ transaction: HistoryTransaction) {
        self.init(
            number: transaction.number, author: transaction.author,
            changes: transaction.changes.map { change in
                let kind: LocalChange.Kind =
                    switch change.kind {
                    case .insert: .insert
                    case .update: .update
                    case .delete: .delete
                    }
                return LocalChange(key: change.key, kind: kind, changedProperties: change.changedProperties)
            })
    }
}
