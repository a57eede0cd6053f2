// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import StatementPlans
import Testing

/// The cost of changes, in instructions of SQLite's virtual machine: proportional to the change, independent of the
/// table's size.
@Suite(.timeLimit(.minutes(10))) struct StatementCostTests {
    /// A list with ordered items, ordered friends of items, and ordered members without an inverse.
    private static func model() throws -> ResolvedModel {
        var total = Attribute(name: "total", type: .integer64)
        total.derivationExpression = "readers.@count"
        var itemCount = Attribute(name: "itemCount", type: .integer64)
        itemCount.derivationExpression = "items.@count"
        let list = Entity(
            name: "List", attributes: [total, itemCount],
            relationships: [
                Relationship(name: "items", destination: "Item", inverse: "list", isToMany: true, isOrdered: true),
                Relationship(name: "readers", destination: "Item", inverse: "lists", isToMany: true, isOrdered: true),
            ])
        let item = Entity(
            name: "Item", attributes: [Attribute(name: "title", type: .string)],
            relationships: [
                Relationship(name: "list", destination: "List", inverse: "items"),
                Relationship(name: "lists", destination: "List", inverse: "readers", isToMany: true),
            ])
        return try ResolvedModel(Model(entities: [list, item]))
    }

    /// Instructions per item, for `count` items.
    private func stepsForEach(
        _ count: Int, _ change: (ResolvedModel, _ lists: [RowKey], _ items: [RowKey], SQLiteStore, () -> Int) throws -> Int
    ) throws -> Double {
        try Library.withFolder { folder in
            let recording = StatementRecording(folder)
            let model = try Self.model()
            let store = try Library.store(folder.appending(path: "Store.sqlite"), model: model)
            let lists = try (0..<2).map { _ in try store.insert(model, "List", [:]) }
            let items = try store.write { try $0.allocateKeys(for: model.index("Item"), count: count) }
            let steps = try change(model, lists, items, store) { recording.steps }
            store.close()
            return Double(steps) / Double(count)
        }
    }

    private func insert(_ items: [RowKey], in list: RowKey?, _ model: ResolvedModel, _ store: SQLiteStore) throws {
        var changes = StoreChanges()
        changes.inserts = items.map { Row(key: $0, version: 1, values: model.values("Item", list.map { ["list": .reference($0)] } ?? [:])) }
        try store.save(changes)
    }

    @Test func joiningAnOrderedListCostsTheSameAtAnyLength() throws {
        func steps(_ count: Int) throws -> Double {
            try stepsForEach(count) { model, lists, items, store, steps in
                let before = steps()
                try insert(items, in: lists[0], model, store)
                let cost = steps() - before
                #expect(try store.read { try $0.destinations(of: lists[0], toMany: model.toMany("List", "items")) } == items)
                return cost
            }
        }
        #expect(try steps(1600) < 1.2 * steps(400))
    }

    /// Each item moves from a long list to another one; the store maintains their counts.
    @Test func movingBetweenCountedListsCostsTheSameAtAnyLength() throws {
        func steps(_ count: Int) throws -> Double {
            try stepsForEach(count) { model, lists, items, store, steps in
                try insert(items, in: lists[0], model, store)
                var changes = StoreChanges()
                let slot = model.slot("Item", "list")
                changes.updates = items.map {
                    RowUpdate(
                        key: $0, expectedVersion: 1, values: model.values("Item", ["list": .reference(lists[1])]), changedSlots: [slot])
                }
                let before = steps()
                try store.save(changes)
                let cost = steps() - before
                let counted = model.slot("List", "itemCount")
                #expect(try lists.map { try store.row($0)?.values[counted] } == [.int(0), .int(Int64(count))])
                #expect(try store.read { try $0.destinations(of: lists[1], toMany: model.toMany("List", "items")) } == items)
                return cost
            }
        }
        #expect(try steps(1600) < 1.2 * steps(400))
    }

    @Test func joinRecordsOfAnOrderedListCostTheSameAtAnyLength() throws {
        func steps(_ count: Int) throws -> Double {
            try stepsForEach(count) { model, lists, items, store, steps in
                try insert(items, in: nil, model, store)
                var changes = StoreChanges()
                let readers = model.toMany("List", "readers"), counted = model.slot("List", "total")
                changes.links = items.map { LinkChange(owner: lists[0], relationship: readers, destination: $0, isAddition: true) }
                let before = steps()
                try store.save(changes)
                #expect(try store.read { try $0.destinations(of: lists[0], toMany: readers) } == items)
                #expect(try store.row(lists[0])?.values[counted] == .int(Int64(count)))
                changes.links = items.map { LinkChange(owner: lists[0], relationship: readers, destination: $0, isAddition: false) }
                try store.save(changes)
                let cost = steps() - before
                #expect(try store.row(lists[0])?.values[counted] == .int(0))
                return cost
            }
        }
        #expect(try steps(1600) < 1.2 * steps(400))
    }
}
