// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

// Row access for contexts.

extension NSPersistentStoreCoordinator {
    func row(_ key: RowKey) throws -> Row? {
        guard let store = store(numbered: key.store) else { return nil }
        return try store.row(key)
    }

    func rows(_ keys: [RowKey]) throws -> [Row] {
        var rows: [Row] = []
        for (number, keys) in Dictionary(grouping: keys, by: \.store).sorted(by: { $0.key < $1.key }) {
            guard let store = store(numbered: number), !keys.isEmpty else { continue }
            rows += try store.rows(keys)
        }
        return rows
    }

    func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let store = store(numbered: key.store) else { return [] }
        return try store.destinations(of: key, toMany: index)
    }

    /// Saves store by store.
    ///
    /// - Throws: ``StoreError`` of the first store that failed; earlier stores are saved then. With one store, the common
    ///   case, a save is one transaction.
    func save(_ changes: [UInt16: StoreChanges], of objects: [NSManagedObject], in context: NSManagedObjectContext?) throws {
        for (number, changes) in changes.sorted(by: { $0.key < $1.key }) where !changes.isEmpty {
            guard let store = store(numbered: number) else {
                throw CocoaError(.persistentStoreSave, sentence: "A store that pending objects belong to was removed.")
            }
            guard !store.isReadOnly else {
                throw CocoaError(.fileWriteNoPermission, sentence: "The store at \(store.url?.path ?? "") was opened read-only.")
            }
            try store.save(changes, of: objects, in: context)
        }
    }
}
