// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// A fetch request with resolved names: the query for the stores, and its evaluation in memory.
struct FetchPlan {
    let entities: Set<Int>
    let query: StoreQuery
    let stores: [NSPersistentStore]
    let includesPendingChanges: Bool
    /// Whether the predicate has a block: the query has neither it nor the window, which apply to the fetched objects.
    let filtersObjects: Bool
    /// Numbers of the request's own stores; nil for all stores.
    private let affectedStores: Set<UInt16>?
    private let predicate: PredicateKit.Predicate?
    private let order: [SortKey]

    init(_ parameters: FetchParameters, coordinator: NSPersistentStoreCoordinator) throws {
        guard let name = parameters.entityName, let layout = coordinator.layout(named: name) else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "The model has no entity named '\(parameters.entityName ?? "")'; a fetch request needs one.")
        }
        entities = parameters.includesSubentities ? Set(layout.entity.hierarchy) : [layout.index]
        includesPendingChanges = parameters.includesPendingChanges
        stores = (parameters.affectedStores ?? coordinator.persistentStores).filter { $0.holds(layout.index) }
        affectedStores = parameters.affectedStores.map { Set($0.map(\.number)) }
        let tree = parameters.predicate?.tree
        let hasBlock = tree?.hasBlock ?? false
        filtersObjects = hasBlock && stores.allSatisfy(\.isInMemory)
        guard filtersObjects || !hasBlock else { throw Self.blockInQuery() }
        predicate = filtersObjects ? tree : tree.map(Self.evaluatingConstants(of:))
        var query = StoreQuery(entity: layout.index)
        query.includesSubentities = parameters.includesSubentities
        query.predicate = filtersObjects ? nil : predicate
        order = try parameters.sortDescriptors.map { descriptor in
            try SortKey(descriptor, of: name, layouts: coordinator.layouts)
        }
        query.sort = order
        query.limit = parameters.limit > 0 && !filtersObjects ? parameters.limit : nil
        query.offset = filtersObjects ? 0 : parameters.offset
        self.query = query
    }

    /// - Throws: `CocoaError` 134070 if the predicate has a block, which a query of rows cannot have.
    func requireQuery() throws {
        guard filtersObjects else { return }
        throw CocoaError(
            .persistentStoreOperation,
            sentence: "A predicate made from a block selects objects, not dictionaries or rows of a batch request; write it as a format.")
    }

    /// - Throws: `CocoaError` 134070 for a predicate made from a block.
    static func tree(of predicate: NSPredicate) throws -> PredicateKit.Predicate {
        guard let tree = parsed(predicate) else { throw blockInQuery() }
        return evaluatingConstants(of: tree)
    }

    private static func blockInQuery() -> CocoaError {
        CocoaError(
            .persistentStoreOperation,
            sentence: "A predicate made from a block cannot run in a SQLite store; write it as a format or filter the results.")
    }

    /// Returns the tree with the results of nested fetches, which are the same for all rows.
    private static func evaluatingConstants(of tree: PredicateKit.Predicate) -> PredicateKit.Predicate {
        tree.mapExpressions { expression in
            guard case .block(let block, _) = expression, block.isConstant else { return expression }
            return .constant(PredicateValue(block.body(nil, [], nil)))
        }
    }

    /// Whether the object is of the request's stores and satisfies the predicate. The caller checks its entity.
    func accepts(_ object: NSManagedObject) -> Bool {
        guard isAffected(object) else { return false }
        guard let predicate else { return true }
        // The store, which evaluates first, has rejected predicates that memory cannot evaluate.
        let now = { Date().timeIntervalSinceReferenceDate }
        return (try? predicate.evaluate(on: .object(PredicateObject(object)), now: now)) ?? false
    }

    /// A new object counts for the store that its save will choose.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentstorerequest/affectedstores
    private func isAffected(_ object: NSManagedObject) -> Bool {
        guard let affectedStores else { return true }
        guard object.key.isTemporary else { return affectedStores.contains(object.key.store) }
        guard let store = object.contextReference?.chosenStore(of: object) else { return false }
        return affectedStores.contains(store.number)
    }

    /// - Returns: The objects sorted; ties are in the order in which objects were registered.
    func sorted(_ objects: [NSManagedObject]) -> [NSManagedObject] {
        guard !order.isEmpty else { return objects }
        return objects.map(KeyedObject.init).sorted(by: precedes).map(\.object)
    }

    /// Returns the insertion index of an object in a sorted list by binary search. It reads the keys of few members, so
    /// that one change among many objects costs little and fires few faults.
    func insertionIndex(for object: NSManagedObject, among count: Int, _ member: (Int) -> NSManagedObject) -> Int {
        guard !order.isEmpty else { return count }
        let placed = KeyedObject(object)
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(placed, KeyedObject(member(middle))) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// An object with its sort keys, read on demand.
    private final class KeyedObject {
        let object: NSManagedObject
        var values: [PredicateValue] = []

        init(_ object: NSManagedObject) { self.object = object }

        func value(_ index: Int, of order: [SortKey]) -> PredicateValue {
            while values.count <= index {
                values.append(PredicateValue.object(PredicateObject(object)).value(at: order[values.count].keyPath[...]))
            }
            return values[index]
        }
    }

    private func precedes(_ first: KeyedObject, _ second: KeyedObject) -> Bool {
        for (index, key) in order.enumerated() {
            let comparison = key.order(first.value(index, of: order), second.value(index, of: order))
            if comparison != 0 { return (comparison < 0) == key.ascending }
        }
        return first.object.sequence < second.object.sequence
    }
}

extension NSPersistentStore {
    /// Whether fetches may have predicates made from blocks.
    ///
    /// Source: developer.apple.com/documentation/foundation/nspredicate/init(block:) (in-memory and atomic stores, not
    /// SQLite stores).
    fileprivate var isInMemory: Bool { self is NSAtomicStore || type == NSInMemoryStoreType }
}
