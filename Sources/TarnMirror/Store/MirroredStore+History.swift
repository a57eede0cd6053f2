// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// Reads the store's persistent history.
extension MirroredStore {
    /// Marks the changes of this device since history was last read, in one save with the history token.
    ///
    /// Transactions are counted by the mirror itself: their own numbers are the store's, and a mark must never be used twice.
    func scan() throws {
        var state = try metadata.state()
        guard let archived = state.historyToken, let token = Self.token(archived) else { return try scanEverything(state) }
        let transactions: [NSPersistentHistoryTransaction]
        do {
            transactions = try history(after: token)
        } catch let error as CocoaError where error.code.rawValue == NSPersistentHistoryTokenExpiredError {
            return try scanEverything(state)
        }
        guard let last = transactions.last else { return }
        try clearDanglingReferences(after: transactions)
        var history: [LocalTransaction] = []
        for transaction in transactions {
            state.lastMark += 1
            if MirrorNames.isMirror(transaction.author) { continue }
            history.append(
                LocalTransaction(number: state.lastMark, author: transaction.author, changes: try changes(transaction.changes ?? [])))
        }
        try mark(history)
        state.historyToken = try Self.archive(last.token)
        try metadata.set(state)
    }

    /// Compares all objects with the metadata, for a store without complete history.
    private func scanEverything(_ before: MirrorState) throws {
        var state = before
        // Changes behind the token are read again by the next scan: they are marked twice, and sent once.
        let token = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: [store])
        let ids = try allObjectIDs()
        try keys.load(ids)
        let present = try ids.compactMap { try keys.key(of: $0) }
        let known = try metadata.allRecords().compactMap { try $0.state(mapping) }.filter(\.hasRow).map(\.key)
        let missing = Set(known).subtracting(present).sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
        state.lastMark += 1
        try mark([
            LocalTransaction(
                number: state.lastMark, author: nil,
                changes: present.map { LocalChange(key: $0, kind: .insert) } + missing.map { LocalChange(key: $0, kind: .delete) })
        ])
        state.historyToken = try token.map { try Self.archive($0) }
        try metadata.set(state)
    }

    /// Writes the marks of changes, and the names of new records.
    private func mark(_ history: [LocalTransaction]) throws {
        let scan = ExportScan(history, mapping: mapping)
        let needs = scan.needs
        if needs.keys.isEmpty { return }
        knownPendingCount = nil
        var loaded = ExportScan.Loaded()
        for state in try records(of: needs.keys) { loaded.records[state.key] = state }
        let owners = try objects(Set(needs.listings.map(\.owner)))
        for listing in needs.listings {
            let relationship = mapping.model.entities[listing.owner.entityIndex].toMany[listing.relationship]
            let destinations = try owners[listing.owner].map { try self.destinations(of: $0, relationship) } ?? []
            loaded.destinations[listing] = destinations
            let unknown = destinations.filter { loaded.records[$0] == nil }
            for state in try records(of: unknown) { loaded.records[state.key] = state }
        }
        if try metadata.hasLinks() {
            var ends: Set<String> = []
            for key in needs.listings.map(\.owner) + needs.deleted {
                guard let name = loaded.records[key]?.recordName, ends.insert(name).inserted else { continue }
                loaded.links += try metadata.links(touching: name)
            }
            let names = Set(loaded.links.flatMap { [$0.pair.first, $0.pair.second] }).sorted()
            for state in try records(named: names) { loaded.records[state.key] = state }
        }
        for key in needs.deleted {
            if let name = loaded.records[key]?.recordName { loaded.parked += try metadata.deferredReferences(from: name) }
        }
        loaded.existing = Set(needs.keys).union(loaded.records.values.filter(\.hasRow).map(\.key)).subtracting(needs.deleted)
        let names = NewRecordNames((0..<scan.namesAtMost(loaded)).map { _ in environment.makeName() })
        try metadata.apply(
            try MetadataChanges(scan.plan(loaded, names: names), now: now, mapping: mapping) { try keys.uri(of: $0) })
    }

    private func changes(_ changes: [NSPersistentHistoryChange]) throws -> [LocalChange] {
        try keys.load(changes.map(\.changedObjectID))
        return try changes.compactMap { change in
            guard let key = try keys.key(of: change.changedObjectID) else { return nil }
            return switch change.changeType {
            case .insert: LocalChange(key: key, kind: .insert)
            case .delete: LocalChange(key: key, kind: .delete)
            default: LocalChange(key: key, kind: .update, changedProperties: (change.updatedProperties ?? []).map(\.name).sorted())
            }
        }
    }

    // MARK: Requests

    private func history(after token: NSPersistentHistoryToken?, changes: Bool = true) throws -> [NSPersistentHistoryTransaction] {
        let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
        request.resultType = changes ? .transactionsAndChanges : .transactionsOnly
        request.affectedStores = [store]
        let result = try context.execute(request) as? NSPersistentHistoryResult
        return result?.result as? [NSPersistentHistoryTransaction] ?? []
    }

    /// Whether the mirror's save of this name is in the store; nil if the app deleted history that may have shown it.
    func hasTransaction(named name: String, after state: MirrorState) throws -> Bool? {
        func isIn(_ transactions: [NSPersistentHistoryTransaction]) -> Bool { transactions.contains { $0.contextName == name } }
        if let token = state.historyToken.flatMap({ Self.token($0) }) {
            do {
                if isIn(try history(after: token, changes: false)) { return true }
                // The transaction of the token is there unless it was deleted.
                return try history(after: nil, changes: false).isEmpty ? nil : false
            } catch let error as CocoaError where error.code.rawValue == NSPersistentHistoryTokenExpiredError {
                // A part of history is left.
            }
        }
        return isIn(try history(after: nil, changes: false)) ? true : nil
    }

    /// Returns the token up to which history was read; nil if it was never read.
    func historyToken() throws -> NSPersistentHistoryToken? { try metadata.state().historyToken.flatMap { Self.token($0) } }

    /// Whether the app saved behind a token, as far as history tells.
    func mayHaveSaves(after token: NSPersistentHistoryToken) throws -> Bool {
        do {
            return try history(after: token, changes: false).contains { !MirrorNames.isMirror($0.author) }
        } catch let error as CocoaError where error.code.rawValue == NSPersistentHistoryTokenExpiredError {
            return true
        }
    }

    /// - Returns: nil for an archive that can't be read: history is compared with the metadata then.
    private static func token(_ archive: Data) -> NSPersistentHistoryToken? {
        try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: archive)
    }

    private static func archive(_ token: NSPersistentHistoryToken) throws -> Data {
        try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    }
}
