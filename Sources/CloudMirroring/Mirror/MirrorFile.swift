// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// What a mirror does to its store's file. Each function is one transaction; decisions are `MirroringCore`'s.
///
/// Calls block their thread: they are made on the mirror's own queue.
struct MirrorFile: Sendable {
    let store: SQLiteStore
    let mapping: RecordMapping
    let containerIdentifier: String
    let scope: CKDatabase.Scope
    let accountRules: AccountRules
    /// Between imports of a database that does not tell of changes.
    let pollSeconds: Double
    let surroundings: SyncEnvironment
    /// For whoever called a function of this file, once it has returned.
    let aside = RowsAside()

    /// Rows of a batch, once loaded, before the batch is cut short.
    static let batchRowBytesMax = 48_000_000
    /// History transactions that are read at once.
    private static let historyPage = 256

    func reader(_ reader: StoreReader, zone: Int64 = MirrorZone.home) -> BookkeepingReader {
        BookkeepingReader(reader: reader, mapping: mapping, store: store.number, zone: zone)
    }

    func writer(_ writer: StoreWriter, zone: Int64) -> BookkeepingWriter {
        BookkeepingWriter(writer: writer, mapping: mapping, zone: zone)
    }

    /// The zone for what is not shared.
    var homeZone: ZoneID {
        switch scope {
        case .private: ZoneID(zoneName: MirrorNames.zone)
        case .public: .defaultZone
        case .shared: ZoneID(zoneName: "")
        }
    }

    /// The first zone that the server has: with others' data there is no home.
    var firstZone: Int64 { scope == .shared ? MirrorZone.home + 1 : MirrorZone.home }

    var now: Double { surroundings.now().timeIntervalSinceReferenceDate }

    // MARK: Setting up

    struct Memory: Sendable {
        var signIn = SignIn()
        /// What the app decided about an account change.
        var answer: AccountRules.Answer?
        var token: String?
        var lastSuccess: Date?
        /// What the user was allowed to do in the public database; nil if the server never said.
        var permissions: [TypePermissions]?
    }

    /// Makes the tables, and notices what changed since the store was last mirrored.
    ///
    /// - Throws: `CloudFailure` with `.badContainer` for a store that belongs to another container.
    func open() throws -> Memory {
        try store.write { writer in
            try BookkeepingTables.open(writer, home: homeZone)
            if let known = try MirrorState.text(.container, writer), known != containerIdentifier {
                throw CloudFailure(
                    .badContainer,
                    "this store was synced with the container \(known) and cannot be synced with \(containerIdentifier); use another file")
            }
            try MirrorState.set(.container, .text(containerIdentifier), writer)
            let fingerprint = try MirrorState.text(.fingerprint, writer)
            if fingerprint != mapping.fingerprint {
                // Lists may have an order that has not been ranked, which a look at everything sees to.
                if fingerprint != nil, mapping.hasOrder { try MirrorState.set(.historyRead, .null, writer) }
                // Records may hold what only this version of the model understands.
                if fingerprint != nil { for row in try ZoneTable.all(writer) { try ZoneTable.beginFullFetch(row.zone.number, writer) } }
                try MirrorState.set(.fingerprint, .text(mapping.fingerprint), writer)
            }
            return Memory(
                signIn: try signIn(writer), answer: try accountAnswer(writer), token: try ZoneTable.row(MirrorZone.home, writer)?.token,
                lastSuccess: try MirrorState.double(.lastSuccess, writer).map { Date(timeIntervalSinceReferenceDate: $0) },
                permissions: try MirrorState.blob(.permissions, writer).flatMap { try CallerIdentity(json: $0).permissions })
        }
    }

    func remember(permissions: [TypePermissions]?) throws {
        let text = permissions.map { CallerIdentity(identity: UserIdentity(userRecordName: "_"), permissions: $0).encoded() }
        try store.write { try MirrorState.set(.permissions, text.map { .blob(Data($0)) } ?? .null, $0) }
    }

    func remember(success: Date) throws {
        try store.write { try MirrorState.set(.lastSuccess, .double(success.timeIntervalSinceReferenceDate), $0) }
    }

    // MARK: Reading history

    /// Marks what was changed here since history was last read.
    func scan(_ writer: StoreWriter) throws {
        let latest = try writer.latestTransaction()
        guard let read = try MirrorState.int(.historyRead, writer) else { return try scanEverything(writer, upTo: latest) }
        if read == latest { return }
        var position = read
        while position < latest {
            let page = try writer.history(after: position, limit: Self.historyPage)
            // Transactions are numbered without gaps: a missing one was purged before it was read.
            guard let first = page.first, first.number == position + 1, let last = page.last else {
                return try scanEverything(writer, upTo: latest)
            }
            position = last.number
            try apply(page.map(LocalTransaction.init), writer)
        }
        try MirrorState.set(.historyRead, .int(position), writer)
    }

    /// Compares all rows with the bookkeeping, where there is no history to tell what changed.
    private func scanEverything(_ writer: StoreWriter, upTo latest: Int64) throws {
        var changes: [LocalChange] = []
        for root in Set(mapping.entities.values.map(\.entity.root)).sorted() {
            changes += try writer.fetchKeys(StoreQuery(entity: root)).map { LocalChange(key: $0, kind: .insert) }
        }
        let present = Set(changes.map(\.key))
        changes += try reader(writer).allKeys().filter { !present.contains($0) }.map { LocalChange(key: $0, kind: .delete) }
        try apply([LocalTransaction(number: max(latest, 1), author: nil, changes: changes)], writer)
        try MirrorState.set(.historyRead, .int(latest), writer)
    }

    private func apply(_ history: [LocalTransaction], _ writer: StoreWriter) throws {
        // Most stores have one zone, and everything is in it.
        guard scope != .public, try scope == .shared || ZoneTable.hasShares(writer) else {
            return try apply(history, zone: MirrorZone.home, writer)
        }
        for (zone, part) in try partition(history, writer) { try apply(part, zone: zone, writer) }
    }

    /// - Parameter history: Of objects in one zone.
    func apply(_ history: [LocalTransaction], zone: Int64, _ writer: StoreWriter) throws {
        let scan = ExportScan(history, mapping: mapping)
        let bookkeeping = reader(writer, zone: zone)
        let needs = scan.needs
        if needs.keys.isEmpty { return }
        var loaded = ExportScan.Loaded()
        for state in try bookkeeping.records(of: needs.keys) { loaded.records[state.key] = state }
        for listing in needs.listings {
            var destinations = try writer.destinations(of: listing.owner, toMany: listing.relationship)
            // Records of different zones are never linked.
            destinations = try destinations.filter { try bookkeeping.zone(of: $0) ?? zone == zone }
            loaded.destinations[listing] = destinations
            for key in destinations where loaded.records[key] == nil { loaded.records[key] = try bookkeeping.record(of: key) }
        }
        var ends: Set<String> = []
        for key in needs.listings.map(\.owner) + needs.deleted {
            guard let name = loaded.records[key]?.recordName, ends.insert(name).inserted else { continue }
            loaded.links += try bookkeeping.links(touching: name)
        }
        for link in loaded.links {
            for end in [link.pair.first, link.pair.second] {
                if let state = try bookkeeping.record(named: end) { loaded.records[state.key] = state }
            }
        }
        for key in needs.deleted {
            if let name = loaded.records[key]?.recordName { loaded.parked += try bookkeeping.parked(source: name) }
        }
        // What has no row is deleted in this scan, or was in an earlier one. What has moved to a share is there: a pair of which only
        // one end moves was taken apart before.
        let there = loaded.records.values.filter { $0.stage != .needsDelete || $0.isMovedOut && $0.key.primaryKey > 0 }
        loaded.existing = Set(needs.keys).union(there.map(\.key))
        loaded.existing.subtract(needs.deleted)
        loaded.uniqueNames = try uniqueNames(of: needs.keys.filter { loaded.records[$0] == nil }, writer, bookkeeping)
        let names = NewRecordNames((0..<scan.namesAtMost(loaded)).map { _ in surroundings.makeName() })
        try self.writer(writer, zone: zone).write(scan.plan(loaded, names: names), now: now)
        try rank(after: scan, zone: zone, writer)
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
