// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

// Where a context reads rows: the stores of its coordinator, or the context above it.
//
//     child ──▶ parent ──▶ … ──▶ root ──▶ coordinator ──▶ stores
//
// Each waits for the next with its queue held, always downwards: a parent never waits for a child.

extension NSManagedObjectContext {
    /// The row under an object of this context.
    ///
    /// - Returns: nil when there is none, or the context above is about to delete it.
    func sourceRow(_ key: RowKey) throws -> Row? {
        guard let parent else {
            if key.isTemporary { return nil }
            return try prefetchedRow(key) ?? inPinnedState { try requireCoordinator().row(key) }
        }
        return try reading(parent) { try $0.currentRow(aliases[key] ?? key) }
    }

    /// The rows under several objects, in no particular order; what is gone is left out.
    func sourceRows(_ keys: [RowKey]) throws -> [Row] {
        guard let parent else { return try inPinnedState { try requireCoordinator().rows(keys.filter { !$0.isTemporary }) } }
        return try reading(parent) { try $0.currentRows(keys.map { aliases[$0] ?? $0 }) }
    }

    /// The members of a to-many relationship, as they are under this context.
    func sourceDestinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let parent else {
            if key.isTemporary { return [] }
            return try prefetched.members(of: key, toMany: index)
                ?? inPinnedState { try requireCoordinator().destinations(of: key, toMany: index) }
        }
        return try reading(parent) { try $0.currentDestinations(of: aliases[key] ?? key, toMany: index) }
    }

    /// Objects of the context above that a fetch finds there, as rows in the fetch's order.
    func sourceRows(matching parameters: FetchParameters, in parent: NSManagedObjectContext) throws -> [Row] {
        try reading(parent) { parent in
            try parent.fetchObjects(parameters).compactMap { object in
                object.willRead()
                return object.currentRow
            }
        }
    }

    /// Waits for the context above. Keys that it has made permanent are known here before anything is read.
    func reading<T>(_ parent: NSManagedObjectContext, _ body: (NSManagedObjectContext) throws -> T) rethrows -> T {
        try parent.queue.sync {
            adoptPermanentKeys()
            return try body(parent)
        }
    }

    // MARK: What a child sees

    private func currentRow(_ key: RowKey) throws -> Row? {
        guard let known = registry[key], !known.flags.contains(.detached) else { return try sourceRow(key) }
        if known.isMarkedDeleted { return nil }
        return try known.currentRow ?? sourceRow(key)
    }

    private func currentRows(_ keys: [RowKey]) throws -> [Row] {
        var rows: [Row] = []
        var unknown: [RowKey] = []
        for key in keys {
            guard let known = registry[key], !known.flags.contains(.detached) else {
                unknown.append(key)
                continue
            }
            if known.isMarkedDeleted { continue }
            if let row = known.currentRow { rows.append(row) } else { unknown.append(key) }
        }
        return try rows + (unknown.isEmpty ? [] : sourceRows(unknown))
    }

    private func currentDestinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let known = registry[key], !known.flags.contains(.detached) else { return try sourceDestinations(of: key, toMany: index) }
        if known.isMarkedDeleted { return [] }
        _ = known.toManyKeys(index)
        return known.toMany[index].orderedMembers
    }
}

extension NSManagedObject {
    /// The object's values as a row; nil for a fault that has none at hand.
    final var currentRow: Row? {
        guard !flags.contains(.detached), !flags.contains(.fault) || flags.contains(.hasRow) else { return nil }
        return Row(key: key, version: version, values: values)
    }
}
