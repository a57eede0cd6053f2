// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// A fetch request with names looked up: what goes to the stores, and what decides in memory.
struct FetchPlan {
    let entities: Set<Int>
    let query: StoreQuery
    let stores: [NSPersistentStore]
    let includesPendingChanges: Bool
    private let predicate: PredicateKit.Predicate?
    private let order: [SortKey]

    init(_ parameters: FetchParameters, coordinator: NSPersistentStoreCoordinator) throws {
        guard let name = parameters.entityName, let layout = coordinator.layout(named: name) else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "The model has no entity named '\(parameters.entityName ?? "")'; a fetch request needs one.")
        }
        predicate = try parameters.predicate.map(Self.tree(of:))
        entities = parameters.includesSubentities ? Set(layout.entity.hierarchy) : [layout.index]
        includesPendingChanges = parameters.includesPendingChanges
        stores = (parameters.affectedStores ?? coordinator.persistentStores).filter { $0.holds(layout.index) }
        var query = StoreQuery(entity: layout.index)
        query.includesSubentities = parameters.includesSubentities
        query.predicate = predicate
        order = try parameters.sortDescriptors.map { descriptor in
            try SortKey(descriptor, of: name, layouts: coordinator.layouts)
        }
        query.sort = order
        query.limit = parameters.limit > 0 ? parameters.limit : nil
        query.offset = parameters.offset
        self.query = query
    }

    /// - Throws: ``CocoaError`` 134070 for a predicate made from a block.
    static func tree(of predicate: NSPredicate) throws -> PredicateKit.Predicate {
        if let tree = parsed(predicate) {
            // What another fetch finds is the same for all rows.
            return tree.mapExpressions { expression in
                guard case .block(let block, _) = expression, block.isConstant else { return expression }
                return .constant(PredicateValue(block.body(nil, [], nil)))
            }
        }
        throw CocoaError(
            .persistentStoreOperation,
            sentence: "A predicate made from a block cannot run in a store; write it as a format or filter the results.")
    }

    func accepts(_ object: NSManagedObject) -> Bool {
        guard let predicate else { return true }
        // What cannot be evaluated in memory was refused by the store, which is asked first.
        let now = { Date().timeIntervalSinceReferenceDate }
        return (try? predicate.evaluate(on: .object(PredicateObject(object)), now: now)) ?? false
    }

    /// - Returns: The objects in order; what is equal by all keys is in the order in which it came to the context.
    func sorted(_ objects: [NSManagedObject]) -> [NSManagedObject] {
        guard !order.isEmpty else { return objects }
        return objects.map(Placed.init).sorted(by: precedes).map(\.object)
    }

    /// Where an object belongs in a list that is in order already. It reads the keys of few of the list's members, so
    /// that one change among very many objects costs little and fires few faults.
    func place(for object: NSManagedObject, among count: Int, _ member: (Int) -> NSManagedObject) -> Int {
        guard !order.isEmpty else { return count }
        let placed = Placed(object)
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(placed, Placed(member(middle))) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// An object with the values of the keys that were needed so far.
    private final class Placed {
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

    private func precedes(_ first: Placed, _ second: Placed) -> Bool {
        for (index, key) in order.enumerated() {
            let comparison = key.order(first.value(index, of: order), second.value(index, of: order))
            if comparison != 0 { return (comparison < 0) == key.ascending }
        }
        return first.object.sequence < second.object.sequence
    }
}
