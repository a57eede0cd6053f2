// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

// The source of a context's rows: the stores of its coordinator, or its parent context.
//
//     child ──▶ parent ──▶ … ──▶ root ──▶ coordinator ──▶ stores
//
// Each waits for the next while it holds its own queue, in this direction only: a parent never waits for a child.

extension NSManagedObjectContext {
    /// A read of one row past the caches and the connections that bracket reads by transactions.
    enum PointRead {
        /// The row has to be read by ``sourceRow(_:)``.
        case unavailable
        case missing
        /// A chunk with this row alone.
        case row(RowChunk)
    }

    func pointRead(_ key: RowKey) throws -> PointRead {
        guard parent == nil, !key.isTemporary, isUnpinned, prefetched.isEmpty, let file = rowStore(numbered: key.store)?.sqlite,
            file.readsPoints
        else { return .unavailable }
        do throws(StoreError) {
            return try file.packedRow(key).map(PointRead.row) ?? .missing
        } catch {
            throw CocoaError(error)
        }
    }

    /// Reads one row of the source.
    ///
    /// - Returns: nil if it does not exist, or the parent has a pending deletion of it.
    func sourceRow(_ key: RowKey) throws -> Row? {
        guard let parent else {
            if key.isTemporary { return nil }
            return try prefetchedRow(key) ?? inPinnedState { try requireCoordinator().row(key) }
        }
        return try reading(parent) { try $0.currentRow(aliases[key] ?? key) }
    }

    /// Reads several rows of the source, in no particular order, without missing ones.
    func sourceRows(_ keys: [RowKey]) throws -> [Row] {
        guard let parent else { return try inPinnedState { try requireCoordinator().rows(keys.filter { !$0.isTemporary }) } }
        return try reading(parent) { try $0.currentRows(keys.map { aliases[$0] ?? $0 }) }
    }

    /// Reads the members of a to-many relationship from the source.
    func sourceDestinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let parent else {
            if key.isTemporary { return [] }
            return try prefetched.members(of: key, toMany: index)
                ?? inPinnedState { try requireCoordinator().destinations(of: key, toMany: index) }
        }
        return try reading(parent) { try $0.currentDestinations(of: aliases[key] ?? key, toMany: index) }
    }

    /// Fetches in the parent and returns rows in the order of the fetch.
    func sourceRows(matching parameters: FetchParameters, in parent: NSManagedObjectContext) throws -> [Row] {
        try reading(parent) { parent in
            try parent.fetchObjects(parameters).compactMap { object in
                object.willRead()
                return object.currentRow
            }
        }
    }

    /// Runs a block in the parent. Adopts the parent's permanent keys before anything is read.
    func reading<T>(_ parent: NSManagedObjectContext, _ body: (NSManagedObjectContext) throws -> T) rethrows -> T {
        try parent.queue.sync {
            adoptPermanentKeys()
            return try body(parent)
        }
    }

    // MARK: Reads by a child

    private func currentRow(_ key: RowKey) throws -> Row? {
        guard let registered = registry[key], !registered.flags.contains(.detached) else { return try sourceRow(key) }
        if registered.isMarkedDeleted { return nil }
        return try registered.currentRow ?? sourceRow(key)
    }

    private func currentRows(_ keys: [RowKey]) throws -> [Row] {
        var rows: [Row] = []
        var unknown: [RowKey] = []
        for key in keys {
            guard let registered = registry[key], !registered.flags.contains(.detached) else {
                unknown.append(key)
                continue
            }
            if registered.isMarkedDeleted { continue }
            if let row = registered.currentRow { rows.append(row) } else { unknown.append(key) }
        }
        return try rows + (unknown.isEmpty ? [] : sourceRows(unknown))
    }

    private func currentDestinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let registered = registry[key], !registered.flags.contains(.detached) else {
            return try sourceDestinations(of: key, toMany: index)
        }
        if registered.isMarkedDeleted { return [] }
        _ = registered.toManyKeys(index)
        return registered.toMany[index].orderedMembers
    }
}

extension NSManagedObject {
    /// The object's values as a row; nil for a fault without a cached row.
    final var currentRow: Row? {
        guard !flags.contains(.detached), !flags.contains(.fault) || flags.contains(.hasRow) else { return nil }
        return Row(key: key, version: version, values: values)
    }
}
