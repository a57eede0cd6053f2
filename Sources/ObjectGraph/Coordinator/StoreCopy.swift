// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

/// Copies all objects of a store into a new store of any type.
struct StoreCopy {
    private let source: NSPersistentStore
    private let coordinator: NSPersistentStoreCoordinator

    init(from source: NSPersistentStore, of coordinator: NSPersistentStoreCoordinator) {
        self.source = source
        self.coordinator = coordinator
    }

    /// - Returns: The new store, open and not published.
    func copy(into description: NSPersistentStoreDescription) throws -> NSPersistentStore {
        // Uses another coordinator, so that the new store is invisible until it is complete.
        let workshop = NSPersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)
        let target = try workshop.makeStore(description)
        workshop.attach(target)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = workshop
        try context.performAndWait { try copy(to: target, in: context) }
        let own = [NSStoreUUIDKey, NSStoreTypeKey]
        let appValues = (source.metadata ?? [:]).filter { !own.contains($0.key) && !$0.key.hasPrefix("Tarn") && !$0.key.hasPrefix("_") }
        if !appValues.isEmpty {
            target.metadata = appValues.merging(target.metadata ?? [:]) { $1 }
            try target.saveMetadata(in: context)
        }
        workshop.detach(target)
        return target
    }

    private func copy(to target: NSPersistentStore, in context: NSManagedObjectContext) throws {
        var objects: [NSManagedObject] = []
        var keys: [RowKey: RowKey] = [:]
        for layout in coordinator.layouts where source.holds(layout.index) && target.holds(layout.index) && !layout.entity.isAbstract {
            let rows = try source.fetch(StoreQuery(entity: layout.index, includesSubentities: false))
            let made = rows.map { row in
                let object = NSManagedObject.make(layout.description, insertedInto: nil)
                object.replaceValues(row.values)
                object.flags = .inserted
                return object
            }
            let new = try target.allocateKeys(for: made, entity: layout.index)
            for ((object, row), key) in zip(zip(made, rows), new) {
                keys[row.key] = key
                object.setKey(key)
                object.contextReference = context
                context.enter(object)
                context.pending.insert(object)
            }
            objects += made
        }
        let originals = Dictionary(uniqueKeysWithValues: keys.map { ($0.value, $0.key) })
        for object in objects {
            object.translateReferences(keys)
            guard let original = originals[object.key] else { continue }
            for index in object.toMany.indices {
                for member in try source.destinations(of: original, toMany: index) {
                    if let key = keys[member] { object.toMany[index].insert(key) }
                }
            }
        }
        let draft = SaveDraft(objects, author: nil, contextName: nil)
        guard let changes = draft.changes[target.number] else { return }
        do {
            try target.save(changes, of: objects, in: context)
        } catch let error as StoreError {
            throw CocoaError(error)
        }
    }
}
