// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

/// The unread rows of one fetch batch, read together when the first of their objects is used.
///
/// Objects of the batch hold it instead of their row until then.
final class PromisedRows {
    let store: UInt16
    let entity: Int
    let primaryKeys: [Int64]
    let prefetching: PrefetchPlan

    init(store: UInt16, entity: Int, primaryKeys: [Int64], prefetching: PrefetchPlan) {
        self.store = store
        self.entity = entity
        self.primaryKeys = primaryKeys
        self.prefetching = prefetching
    }
}

extension FetchParameters {
    /// Whether the fetch reads keys only, and objects read their rows later.
    var leavesRows: Bool { (batchSize > 0 || !includesPropertyValues) && returnsObjectsAsFaults && !refreshesRefetched }
}

extension NSManagedObjectContext {
    /// Returns the objects of a query, as faults without rows.
    func foundWithoutRows(
        _ query: StoreQuery, in store: NSPersistentStore, _ parameters: FetchParameters, _ prefetching: PrefetchPlan
    ) throws -> [NSManagedObject] {
        let keys = try inPinnedState { try store.fetchKeys(query) }
        let layouts = requireCoordinator().layouts
        // A query returns each row once: with no registered object there is nothing to look up.
        let isFirst = registry.isEmpty
        registry.reserve(keys.count)
        let objects = keys.map { key in
            guard !isFirst, let registered = registry[key] else {
                return NSManagedObject.make(key, layout: layouts[key.entityIndex], in: self)
            }
            if registered.flags.contains(.detached) { registered.clearInaccessible() }
            return registered
        }
        guard parameters.batchSize > 0, parameters.includesPropertyValues else { return objects }
        for start in stride(from: 0, to: objects.count, by: parameters.batchSize) {
            let batch = objects[start..<min(start + parameters.batchSize, objects.count)].filter(\.lacksRow)
            guard !batch.isEmpty else { continue }
            let promise = RowChunk(
                store: store.number,
                promise: PromisedRows(
                    store: store.number, entity: query.entity, primaryKeys: batch.map(\.key.primaryKey), prefetching: prefetching))
            for object in batch { object.pack(promise, at: 0) }
        }
        return objects
    }

    /// Reads the batch of a fault that belongs to one.
    func readBatch(of object: NSManagedObject) {
        guard let promise = object.promise as? PromisedRows, let store = requireCoordinator().store(numbered: promise.store),
            let file = store.sqlite
        else { return }
        // A row that cannot be read now is read, or reported missing, on its own.
        let read = try? inPinnedState { try file.read { try $0.packedRows(of: promise.entity, promise.primaryKeys) } }
        guard let chunks = read else { return }
        var objects: [NSManagedObject] = []
        for chunk in chunks {
            chunk.forEach { offset in
                guard let object = registry[chunk.key(at: offset)], object.lacksRow else { return }
                object.cacheRow(chunk, at: offset)
                objects.append(object)
            }
        }
        // A failed prefetch is harmless: the relationships are read one by one.
        if !promise.prefetching.isEmpty { try? prefetch(promise.prefetching, for: objects) }
    }
}

extension NSManagedObject {
    /// Whether firing the fault reads from the store.
    fileprivate final var lacksRow: Bool { flags.contains(.fault) && flags.isDisjoint(with: [.hasRow, .detached]) }
}
