// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore

extension NSPersistentStoreCoordinator {
    /// The newest point of the history of some stores; all of them for nil.
    public func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
        let wanted = stores?.compactMap { $0 as? NSPersistentStore } ?? persistentStores
        var positions: [String: Int64] = [:]
        for store in wanted where store.isHistoryTracked {
            guard let number = try? store.storage.read({ try $0.latestTransaction() }) else { continue }
            positions[store.identifier] = number
        }
        return positions.isEmpty ? nil : NSPersistentHistoryToken(positions)
    }
}

extension NSPersistentHistoryChangeRequest: ExecutableRequest {
    /// - Throws: ``CocoaError`` 134091 for the history of a store that does not track it.
    func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let coordinator = context.requireCoordinator()
        let stores = affectedStores ?? coordinator.persistentStores
        guard stores.allSatisfy(\.isHistoryTracked) else {
            throw CocoaError(
                .persistentStoreUnsupportedRequestType,
                sentence: "A store tracks no history; set NSPersistentHistoryTrackingKey in its description before loading it.")
        }
        switch action {
        case .fetch:
            let histories = try stores.map { try history(of: $0, coordinator) }
            return NSPersistentHistoryResult(Self.interleaved(histories))
        case .delete:
            for store in stores { try purge(store) }
            return NSPersistentHistoryResult(true)
        }
    }

    /// In the order of numbers within a store, whatever the clock did; by time among stores.
    private static func interleaved(_ histories: [[NSPersistentHistoryTransaction]]) -> [NSPersistentHistoryTransaction] {
        var rest = histories.map { $0[...] }.filter { !$0.isEmpty }
        var result: [NSPersistentHistoryTransaction] = []
        while let next = rest.indices.min(by: { rest[$0][rest[$0].startIndex].timestamp < rest[$1][rest[$1].startIndex].timestamp }) {
            result.append(rest[next].removeFirst())
            if rest[next].isEmpty { rest.remove(at: next) }
        }
        return result
    }

    private func history(
        of store: NSPersistentStore, _ coordinator: NSPersistentStoreCoordinator
    ) throws -> [NSPersistentHistoryTransaction] {
        let start: Int64 =
            switch point {
            case .start, .date: 0
            case .token(let token): token.positions[store.identifier] ?? 0
            case .transaction(let transaction): transaction.storeID == store.identifier ? transaction.transactionNumber : 0
            }
        let (transactions, last) = try store.translated {
            try store.storage.read { (try $0.history(after: start, limit: nil), try $0.latestTransaction()) }
        }
        // Numbers have no gaps, so what does not follow at once was deleted.
        if start > 0, start < last, transactions.first?.number != start + 1 {
            throw CocoaError(
                .persistentHistoryTokenExpired,
                sentence: "The history after the token was deleted; read the objects anew and go on from the current token.")
        }
        let made = transactions.map { NSPersistentHistoryTransaction($0, store: store, coordinator) }
        guard case .date(let date) = point else { return made }
        return made.filter { $0.timestamp > date }
    }

    private func purge(_ store: NSPersistentStore) throws {
        let number: Int64
        switch point {
        case .start: return
        case .token(let token):
            guard let position = token.positions[store.identifier] else { return }
            number = position
        case .transaction(let transaction):
            guard transaction.storeID == store.identifier else { return }
            number = transaction.transactionNumber
        case .date(let date):
            let transactions = try store.translated { try store.storage.read { try $0.history(after: 0, limit: nil) } }
            guard let last = transactions.last(where: { $0.timestamp < date.timeIntervalSinceReferenceDate }) else { return }
            number = last.number + 1
        }
        try store.translated { try store.storage.write { try $0.purgeHistory(before: number) } }
    }
}
