// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import SQLiteStore

extension NSPersistentStoreCoordinator {
    func currentPersistentHistoryTokenImplementation(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
        let named = stores?.compactMap { $0 as? NSPersistentStore } ?? []
        var positions: [String: Int64] = [:]
        for store in named.isEmpty ? persistentStores : named where store.isHistoryTracked {
            guard let number = try? store.storage.read({ try $0.latestTransaction() }) else { continue }
            positions[store.identifier] = number
        }
        return positions.isEmpty ? nil : NSPersistentHistoryToken(positions)
    }

    func execute(_ request: NSPersistentHistoryChangeRequest) throws -> NSPersistentHistoryResult {
        let stores = request.affectedStores ?? persistentStores
        guard stores.allSatisfy(\.isHistoryTracked) else {
            throw CocoaError(
                .persistentStoreUnsupportedRequestType,
                sentence: "A store tracks no history; set NSPersistentHistoryTrackingKey in its description before loading it.")
        }
        switch request.action {
        case .fetch:
            let filter = try HistoryFilter(request.fetchRequest)
            let histories = try stores.map { try history(of: $0, request, filter) }
            return NSPersistentHistoryResult(Self.answer(interleaved(histories), request), request.resultType)
        case .delete:
            let count = try stores.reduce(0) { try $0 + purge($1, before: request.point) }
            return NSPersistentHistoryResult(request.resultType == .count ? count : true, request.resultType)
        }
    }

    private static func answer(
        _ transactions: [NSPersistentHistoryTransaction], _ request: NSPersistentHistoryChangeRequest
    ) -> Any {
        let changes = transactions.flatMap { $0.changes ?? [] }
        switch request.resultType {
        case .statusOnly: return true
        case .objectIDs: return changes.map(\.changedObjectID)
        case .count: return request.fetchRequest?.entity?.name == HistoryEntities.transaction ? transactions.count : changes.count
        case .transactionsOnly, .transactionsAndChanges: return transactions
        case .changesOnly:
            // Their transactions are released with the array, which is not returned.
            return changes
        }
    }

    /// Merges histories: by number within a store, whatever its clock did; by time among stores.
    private func interleaved(_ histories: [[NSPersistentHistoryTransaction]]) -> [NSPersistentHistoryTransaction] {
        if histories.count == 1 { return histories[0] }
        var remaining = histories.map { $0[...] }.filter { !$0.isEmpty }
        var result: [NSPersistentHistoryTransaction] = []
        while let next = remaining.indices.min(by: {
            remaining[$0][remaining[$0].startIndex].timestamp < remaining[$1][remaining[$1].startIndex].timestamp
        }) {
            result.append(remaining[next].removeFirst())
            if remaining[next].isEmpty { remaining.remove(at: next) }
        }
        return result
    }

    private func history(
        of store: NSPersistentStore, _ request: NSPersistentHistoryChangeRequest, _ filter: HistoryFilter
    ) throws -> [NSPersistentHistoryTransaction] {
        let read = try store.translated {
            try store.storage.read { reader in
                let last = try reader.latestTransaction()
                let start = try start(of: request.point, in: store, reader)
                let heads = try reader.historyHeads(after: start)
                // Numbers have no gaps: if the next one is missing, it was deleted.
                let isDeleted = start < last && heads.first?.number != start + 1
                return (heads: heads, isExpired: request.point.isPosition(in: store) && (isDeleted || start > last))
            }
        }
        if read.isExpired {
            throw CocoaError(
                .persistentHistoryTokenExpired,
                sentence: "The history after the token was deleted; refetch the objects and continue from the current token.")
        }
        let candidates = read.heads.filter { filter.mayAccept(NSPersistentHistoryTransaction($0, changes: nil, store: store)) }
        if request.resultType == .transactionsOnly, !filter.needsChanges {
            return candidates.map { NSPersistentHistoryTransaction($0, changes: nil, store: store) }
        }
        let changes = try store.translated { try store.storage.read { try $0.historyChanges(of: candidates.map(\.number)) } }
        return candidates.compactMap { head in
            let made = (changes[head.number] ?? []).map { NSPersistentHistoryChange($0, self) }
            let whole = NSPersistentHistoryTransaction(head, changes: made, store: store)
            // A change references its transaction weakly, and the filter may read it.
            let matching = withExtendedLifetime(whole) { filter.accepts(whole) ? filter.kept(of: made) : nil }
            guard let matching, !filter.isAboutChanges || !matching.isEmpty else { return nil }
            return NSPersistentHistoryTransaction(head, changes: request.resultType == .transactionsOnly ? nil : matching, store: store)
        }
    }

    private func start(
        of point: NSPersistentHistoryChangeRequest.Point, in store: NSPersistentStore, _ reader: StoreReader
    ) throws -> Int64 {
        switch point {
        case .start: 0
        case .token(let token): token.positions[store.identifier] ?? 0
        case .transaction(let transaction): transaction.storeID == store.identifier ? transaction.transactionNumber : 0
        case .date(let date): try reader.lastTransaction(notAfter: date.timeIntervalSinceReferenceDate)
        }
    }

    /// - Returns: The number of deleted transactions.
    private func purge(_ store: NSPersistentStore, before point: NSPersistentHistoryChangeRequest.Point) throws -> Int {
        try store.translated {
            try store.storage.write { writer in
                let number: Int64
                switch point {
                case .start: return 0
                case .token(let token):
                    guard let position = token.positions[store.identifier] else { return 0 }
                    number = position
                case .transaction(let transaction):
                    guard transaction.storeID == store.identifier else { return 0 }
                    number = transaction.transactionNumber
                case .date(let date):
                    number = try writer.lastTransaction(before: date.timeIntervalSinceReferenceDate) + 1
                }
                return try writer.purgeHistory(before: try store.purgeable(before: number, writer))
            }
        }
    }
}

extension NSPersistentHistoryChangeRequest: ExecutableRequest {
    /// - Throws: `CocoaError` 134091 for a store that tracks no history, 134301 for a token with deleted history.
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        try context.requireCoordinator().execute(self)
    }
}

extension NSPersistentHistoryChangeRequest.Point {
    /// Whether the point is behind a transaction of a store, or before its first one, so that the next one must still be there.
    fileprivate func isPosition(in store: NSPersistentStore) -> Bool {
        switch self {
        case .start, .date: false
        case .token(let token): token.positions[store.identifier] != nil
        case .transaction(let transaction): transaction.storeID == store.identifier
        }
    }
}

/// The predicate of a history request's fetch request.
private struct HistoryFilter {
    let isAboutChanges: Bool
    /// Whether the predicate reads changes, so that the transaction's values don't decide.
    let needsChanges: Bool
    private let predicate: NSPredicate?

    /// - Throws: `CocoaError` 134070 for a request about another entity than transactions and changes.
    init(_ request: NSFetchRequest<any NSFetchRequestResult>?) throws {
        predicate = request?.predicate
        switch request?.entityName {
        case nil, HistoryEntities.transaction?: isAboutChanges = false
        case HistoryEntities.change?: isAboutChanges = true
        case let other?:
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "History is fetched by a request for transactions or for changes, not for the entity '\(other)'.")
        }
        needsChanges = isAboutChanges || (predicate.flatMap(parsed)?.formatDescription.contains("changes") ?? false)
    }

    /// Whether a transaction may match, before its changes are read.
    func mayAccept(_ transaction: NSPersistentHistoryTransaction) -> Bool { needsChanges || accepts(transaction) }

    func accepts(_ transaction: NSPersistentHistoryTransaction) -> Bool { isAboutChanges || matches(transaction) }

    func kept(of changes: [NSPersistentHistoryChange]) -> [NSPersistentHistoryChange] {
        isAboutChanges ? changes.filter { matches($0) } : changes
    }

    private func matches(_ subject: some PredicateSubject & AnyObject) -> Bool {
        guard let predicate else { return true }
        guard let tree = parsed(predicate) else { return predicate.evaluate(with: subject) }
        let now = { Date().timeIntervalSinceReferenceDate }
        return (try? tree.evaluate(on: .object(PredicateObject(subject)), now: now)) ?? false
    }
}
