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

extension NSManagedObjectContext {
    /// Carries out a request that is not a fetch of objects.
    ///
    /// - Throws: ``CocoaError`` 134091 for a kind of request that is not supported, or for the history of a store that
    ///   does not track it.
    public func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
        preconditionIsCurrent()
        guard let request = request as? NSPersistentHistoryChangeRequest else {
            throw CocoaError(
                .persistentStoreUnsupportedRequestType, sentence: "Requests of type \(type(of: request)) are not supported yet.")
        }
        let coordinator = requireCoordinator()
        let stores = request.affectedStores ?? coordinator.persistentStores
        guard stores.allSatisfy(\.isHistoryTracked) else {
            throw CocoaError(
                .persistentStoreUnsupportedRequestType,
                sentence: "A store tracks no history; set NSPersistentHistoryTrackingKey in its description before loading it.")
        }
        switch request.action {
        case .fetch:
            let transactions = try stores.flatMap { try history(of: $0, after: request.point, coordinator) }
            return NSPersistentHistoryResult(transactions.sorted { ($0.timestamp, $0.transactionNumber) < ($1.timestamp, $1.transactionNumber) })
        case .delete:
            for store in stores { try purge(store, before: request.point) }
            return NSPersistentHistoryResult(true)
        }
    }

    private func history(
        of store: NSPersistentStore, after point: NSPersistentHistoryChangeRequest.Point, _ coordinator: NSPersistentStoreCoordinator
    ) throws -> [NSPersistentHistoryTransaction] {
        let start: Int64 =
            switch point {
            case .start, .date: 0
            case .token(let token): token.positions[store.identifier] ?? 0
            case .transaction(let transaction): transaction.storeID == store.identifier ? transaction.transactionNumber : 0
            }
        let transactions = try store.translated { try store.storage.read { try $0.history(after: start, limit: nil) } }
        let made = transactions.map { NSPersistentHistoryTransaction($0, store: store, coordinator) }
        guard case .date(let date) = point else { return made }
        return made.filter { $0.timestamp > date }
    }

    private func purge(_ store: NSPersistentStore, before point: NSPersistentHistoryChangeRequest.Point) throws {
        guard case .token(let token) = point, let number = token.positions[store.identifier] else { return }
        try store.translated { try store.storage.write { try $0.purgeHistory(before: number) } }
    }
}
