// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

extension NSBatchInsertRequest: ExecutableRequest {
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let coordinator = context.requireCoordinator()
        let layout = try coordinator.layout(forRequestOn: entityName)
        if layout.entity.isAbstract {
            throw CocoaError(.persistentStoreOperation, sentence: "The entity '\(entityName)' is abstract; insert rows of a subentity.")
        }
        guard let store = coordinator.batchStores(self, holding: layout).first(where: { !$0.isReadOnly }) else {
            throw CocoaError(.persistentStoreSave, sentence: "No writable store of the coordinator holds the entity '\(entityName)'.")
        }
        let listsKeys = resultType == .objectIDs || coordinator.listensForBatches(of: store)
        func run(_ rows: some BatchRowSource) throws -> BatchOutcome {
            try store.writeBatch { writer in
                try writer.insertBatch(
                    of: layout.index, author: context.transactionAuthor, contextName: context.name,
                    onConflict: context.batchConflictRule, listsKeys: listsKeys, rows: rows)
            }
        }
        let outcome =
            if let managedObjectHandler {
                try run(ObjectRows(layout, managedObjectHandler))
            } else if let dictionaryHandler {
                try run(DictionaryRows(layout, dictionaryHandler))
            } else {
                try run(DictionaryRows(layout, objectsToInsert ?? []))
            }
        coordinator.didCarryOut(outcome, in: store)
        switch resultType {
        case .statusOnly: return NSBatchInsertResult(NSNumber(value: true), resultType)
        case .count: return NSBatchInsertResult(NSNumber(value: outcome.count), resultType)
        case .objectIDs: return NSBatchInsertResult(coordinator.objectIDs(outcome.inserted + outcome.updated), resultType)
        }
    }
}

extension NSBatchUpdateRequest: ExecutableRequest {
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let coordinator = context.requireCoordinator()
        let layout = try coordinator.layout(forRequestOn: entityName)
        var count = 0
        var keys: [RowKey] = []
        for store in coordinator.batchStores(self, holding: layout) {
            var query = StoreQuery(entity: layout.index, includesSubentities: includesSubentities)
            query.predicate = try predicate.map(FetchPlan.tree(of:))
            let update = BatchUpdate(query, values: try values(of: layout, for: store))
            guard !update.values.isEmpty else { continue }
            let listsKeys = resultType == .updatedObjectIDsResultType || coordinator.listensForBatches(of: store)
            let outcome = try store.writeBatch { writer in
                try writer.updateBatch(
                    update, author: context.transactionAuthor, contextName: context.name, listsKeys: listsKeys)
            }
            coordinator.didCarryOut(outcome, in: store)
            count += outcome.count
            keys += outcome.updated
        }
        switch resultType {
        case .statusOnlyResultType: return NSBatchUpdateResult(NSNumber(value: true), resultType)
        case .updatedObjectsCountResultType: return NSBatchUpdateResult(NSNumber(value: count), resultType)
        case .updatedObjectIDsResultType: return NSBatchUpdateResult(coordinator.objectIDs(keys), resultType)
        }
    }

    private func values(of layout: EntityLayout, for store: NSPersistentStore) throws -> [(slot: Int, value: BatchUpdate.Value)] {
        var properties: [String: Any] = [:]
        for (key, value) in propertiesToUpdate ?? [:] {
            properties[(key.base as? NSPropertyDescription)?.name ?? key.base as? String ?? "\(key.base)"] = value
        }
        return try layout.leaves(of: properties).map { name, value in
            guard case .slot(let slot)? = layout.entity.location(of: name) else {
                throw CocoaError(
                    .persistentStoreOperation,
                    sentence: "A batch update changes '\(layout.name).\(name)', which is neither an attribute nor a to-one relationship.")
            }
            return (slot, try Self.value(value, for: layout.entity.slots[slot], of: layout, in: store))
        }.sorted { $0.slot < $1.slot }
    }

    private static func value(
        _ given: Any, for slot: Slot, of layout: EntityLayout, in store: NSPersistentStore
    ) throws -> BatchUpdate.Value {
        var value = given
        if let expression = given as? PredicateKit.NSExpression {
            guard case .constant = expression.tree else { return .expression(expression.tree) }
            value = expression.constantValue ?? NSNull()
        }
        switch slot {
        case .attribute(let attribute) where attribute.derivationExpression != nil:
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "A batch update cannot set '\(layout.name).\(slot.name)', which the store derives from other properties.")
        case .attribute(let attribute):
            if let stored = AttributeCoding.stored(value, as: attribute.type) {
                if case .object(let box) = stored { try layout.encode(box, of: attribute) }
                return .constant(stored)
            }
        case .toOne(let relationship):
            if value is NSNull { return .constant(.null) }
            let key = (value as? NSManagedObject)?.key ?? (value as? NSManagedObjectID)?.key
            if let key, key.store == store.number, relationship.shape == .manyToOne { return .constant(.reference(key)) }
        }
        throw CocoaError(
            .persistentStoreOperation, sentence: "A batch update cannot set '\(layout.name).\(slot.name)' to a \(type(of: value)).")
    }
}

extension NSBatchDeleteRequest: ExecutableRequest {
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let coordinator = context.requireCoordinator()
        var count = 0
        var keys: [RowKey] = []
        func run(_ store: NSPersistentStore, _ body: (StoreWriter, Bool) throws -> BatchOutcome) throws {
            let listsKeys = resultType == .resultTypeObjectIDs || coordinator.listensForBatches(of: store)
            let outcome = try store.writeBatch { try body($0, listsKeys) }
            coordinator.didCarryOut(outcome, in: store)
            count += outcome.count
            keys += outcome.deleted
        }
        if let parameters {
            let plan = try FetchPlan(parameters, coordinator: coordinator)
            try plan.requireQuery()
            for store in plan.stores where affectedStores?.contains(store) ?? true {
                try run(store) { writer, listsKeys in
                    try writer.deleteBatch(
                        plan.query, author: context.transactionAuthor, contextName: context.name, listsKeys: listsKeys)
                }
            }
        } else {
            let local = objectIDs.filter { !$0.isTemporaryID }.map(context.localKey)
            for (number, group) in Dictionary(grouping: local, by: \.store).sorted(by: { $0.key < $1.key }) {
                guard let store = coordinator.store(numbered: number), affectedStores?.contains(store) ?? true else { continue }
                try run(store) { writer, listsKeys in
                    try writer.deleteBatch(group, author: context.transactionAuthor, contextName: context.name, listsKeys: listsKeys)
                }
            }
        }
        switch resultType {
        case .resultTypeStatusOnly: return NSBatchDeleteResult(NSNumber(value: true), resultType)
        case .resultTypeCount: return NSBatchDeleteResult(NSNumber(value: count), resultType)
        case .resultTypeObjectIDs: return NSBatchDeleteResult(coordinator.objectIDs(keys), resultType)
        }
    }
}

extension NSManagedObjectContext {
    /// The merge policy's rule for rows that violate a uniqueness constraint.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsbatchinsertrequest (practice: an upsert under trump
    /// policies).
    fileprivate var batchConflictRule: BatchConflictRule {
        switch (mergePolicy as? NSMergePolicy)?.mergeType {
        case .mergeByPropertyObjectTrumpMergePolicyType: .update
        case .overwriteMergePolicyType: .overwrite
        case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: .keepStored
        case .errorMergePolicyType, nil: .refuse
        }
    }
}

extension NSPersistentStoreCoordinator {
    fileprivate func layout(forRequestOn name: String) throws -> EntityLayout {
        if let layout = layout(named: name) { return layout }
        throw CocoaError(.persistentStoreOperation, sentence: "The model has no entity named '\(name)'; a batch request needs one.")
    }

    fileprivate func batchStores(_ request: NSPersistentStoreRequest, holding layout: EntityLayout) -> [NSPersistentStore] {
        (request.affectedStores ?? persistentStores).filter { $0.holds(layout.index) }
    }

    fileprivate func objectIDs(_ keys: [RowKey]) -> [NSManagedObjectID] {
        keys.uniqued().map { objectID(for: $0) }
    }

    fileprivate func didCarryOut(_ outcome: BatchOutcome, in store: NSPersistentStore) {
        var commit = StoreCommit(store: store.number)
        commit.inserted = outcome.inserted
        commit.updated = outcome.updated
        commit.deleted = outcome.deleted
        commit.relationshipOwners = outcome.relationshipOwners
        // Contexts are notified as of another process's commit: through history, if they observe remote changes.
        didCommit([commit], by: nil, merging: store.isHistoryTracked && store.postsRemoteChanges)
    }

    /// Whether a listener needs the rows that a batch request changed.
    fileprivate func listensForBatches(of store: NSPersistentStore) -> Bool { store.postsRemoteChanges || hasCommitObservers }
}

extension NSPersistentStore {
    fileprivate func writeBatch<T>(_ body: (StoreWriter) throws -> T) throws -> T {
        guard !isReadOnly else {
            throw CocoaError(.fileWriteNoPermission, sentence: "The store at \(url?.path ?? "") was opened read-only.")
        }
        let file = try requireSQLite()
        return try translated { try file.write(body) }
    }
}
