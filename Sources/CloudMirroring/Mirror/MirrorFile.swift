// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// The transactions of sync on a store's file. Each function gathers facts, lets `MirroringCore` decide, and stores the decision.
///
/// Calls block their thread: they are made on the mirror's own queue.
struct MirrorFile: Sendable {
    let store: SQLiteStore
    let mapping: RecordMapping
    let containerIdentifier: String
    let scope: CKDatabase.Scope
    let accountRules: AccountRules
    /// Seconds between imports of a database without a change feed.
    let pollSeconds: Double
    let surroundings: SyncEnvironment

    /// The size of loaded rows at which a batch ends.
    static let batchRowBytesMax = 48_000_000
    /// History transactions of one read.
    static let historyPage = 256

    var metadata: SyncMetadataStore { SyncMetadataStore(mapping: mapping, storeNumber: store.number) }

    func reader(_ reader: StoreReader, zone: Int64 = MirrorZone.home) -> SyncMetadataReader { metadata.reader(reader, zone: zone) }

    func writer(_ writer: StoreWriter, zone: Int64) -> SyncMetadataWriter { metadata.writer(writer, zone: zone) }

    /// The zone of objects that are not shared.
    var homeZone: ZoneID {
        switch scope {
        case .private: ZoneID(zoneName: MirrorNames.zone)
        case .public: .defaultZone
        case .shared: ZoneID(zoneName: "")
        }
    }

    /// The first zone on the server: the shared database has no home zone.
    var firstZone: Int64 { scope == .shared ? MirrorZone.home + 1 : MirrorZone.home }

    var now: Double { surroundings.now().timeIntervalSinceReferenceDate }

    // MARK: Setting up

    struct Memory: Sendable {
        var signIn = SignIn()
        /// The app's decision about an account change.
        var answer: AccountRules.Answer?
        var token: String?
        var lastSuccess: Date?
        /// The user's permissions in the public database; nil without a response that has them.
        var permissions: [TypePermissions]?
    }

    /// Creates the tables, and handles a change of the model.
    ///
    /// - Throws: `CloudFailure` with `.badContainer` for a store that belongs to another container, or that was synced under other names.
    func open() throws -> Memory {
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            if let known = try StateTable.text(.container, writer), known != containerIdentifier {
                throw CloudFailure(
                    .badContainer,
                    "this store was synced with the container \(known) and cannot be synced with \(containerIdentifier); use another file")
            }
            try StateTable.set(.container, .text(containerIdentifier), writer)
            let fingerprint = try StateTable.text(.fingerprint, writer)
            try checkNames(wasSynced: fingerprint != nil, writer)
            try fillLenses(writer)
            if fingerprint != mapping.fingerprint {
                // Lists may have members without position keys: a scan of all rows adds them.
                if fingerprint != nil, mapping.hasOrder { try StateTable.set(.historyRead, .null, writer) }
                // Records may have fields that only this version of the model has.
                if fingerprint != nil {
                    for row in try ZoneTable.all(writer) { try ZoneTable.beginFullFetch(row.zone.number, expectsHistory: true, writer) }
                }
                // Flags are not maintained while a model has no unique values.
                if mapping.hasUniqueness {
                    for row in try ZoneTable.all(writer) { try RedirectTable.findReferences(in: row.zone.number, writer) }
                }
                try StateTable.set(.fingerprint, .text(mapping.fingerprint), writer)
            }
            try removeUnneededFiles(writer)
            return Memory(
                signIn: try signIn(writer), answer: try accountAnswer(writer), token: try ZoneTable.row(MirrorZone.home, writer)?.token,
                lastSuccess: try StateTable.double(.lastSuccess, writer).map { Date(timeIntervalSinceReferenceDate: $0) },
                permissions: try StateTable.blob(.permissions, writer).flatMap { try CallerIdentity(json: $0).permissions })
        }
    }

    /// Compares the names on the server with those that the store was synced with.
    private func checkNames(wasSynced: Bool, _ writer: StoreWriter) throws {
        let names = ServerNames(mapping)
        let stored = try StateTable.text(.serverNames, writer)
        if stored == names.text { return }
        var loss = stored.flatMap { ServerNames(text: $0).losses(to: names).first }
        if stored == nil, wasSynced, mapping.hasRenamedParts { loss = try reader(writer).lossOfNames() }
        if let loss { throw CloudFailure(.badContainer, loss.reason) }
        try StateTable.set(.serverNames, .text(names.text), writer)
    }

    func remember(permissions: [TypePermissions]?) throws {
        let text = permissions.map { CallerIdentity(identity: UserIdentity(userRecordName: "_"), permissions: $0).encoded() }
        try store.write { try StateTable.set(.permissions, text.map { .blob(Data($0)) } ?? .null, $0) }
    }

    func remember(success: Date) throws {
        try store.write { try StateTable.set(.lastSuccess, .double(success.timeIntervalSinceReferenceDate), $0) }
    }

    // MARK: Reading history

    /// Marks the changes of this device since history was last read.
    func scan(_ writer: StoreWriter, _ related: inout RelatedRows) throws {
        let latest = try writer.latestTransaction()
        guard let read = try StateTable.int(.historyRead, writer) else { return try scanEverything(writer, upTo: latest, &related) }
        if read == latest { return }
        var position = read
        while position < latest {
            let page = try writer.history(after: position, limit: Self.historyPage)
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
        for (zone, part) in try partition(history, writer, &related) { try apply(part, zone: zone, writer) }
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
        loaded.uniqueNames = try uniqueNames(of: needs.keys.filter { loaded.records[$0] == nil }, writer, metadata)
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
