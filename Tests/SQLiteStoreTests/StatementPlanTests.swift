// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore
import StatementPlans
import Testing

/// Plans of the statements that a store makes of a model with every kind of relationship: none reads more rows than its answer
/// needs.
@Suite(.timeLimit(.minutes(10))) struct StoreStatementPlanTests {
    /// Lists with ordered items, items with tags, ordered friends, and a unique code, in a hierarchy.
    private static func model() throws -> ResolvedModel {
        var item = Entity(
            name: "Item", attributes: [Attribute(name: "title", type: .string), Attribute(name: "code", type: .string)],
            relationships: [
                Relationship(name: "list", destination: "List", inverse: "items"),
                Relationship(name: "owner", destination: "List", inverse: "owned"),
                Relationship(name: "tags", destination: "Tag", inverse: "items", isToMany: true),
                Relationship(name: "friends", destination: "Item", inverse: "friends", isToMany: true),
                Relationship(name: "parts", destination: "Part", inverse: "item", deleteRule: .cascade),
            ])
        item.uniquenessConstraints = [["code"]]
        let heir = Entity(name: "SpecialItem", superentity: "Item", attributes: [Attribute(name: "note", type: .string)])
        let list = Entity(
            name: "List", attributes: [Attribute(name: "name", type: .string)],
            relationships: [
                Relationship(name: "items", destination: "Item", inverse: "list", isToMany: true, isOrdered: true, deleteRule: .cascade),
                Relationship(name: "owned", destination: "Item", inverse: "owner", isToMany: true, deleteRule: .nullify),
                Relationship(name: "readers", destination: "Reader", inverse: "lists", isToMany: true, isOrdered: true),
            ])
        let tag = Entity(
            name: "Tag", attributes: [Attribute(name: "label", type: .string)],
            relationships: [Relationship(name: "items", destination: "Item", inverse: "tags", isToMany: true)])
        let part = Entity(
            name: "Part", attributes: [Attribute(name: "size", type: .integer32)],
            relationships: [Relationship(name: "item", destination: "Item", inverse: "parts")])
        let reader = Entity(
            name: "Reader", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "lists", destination: "List", inverse: "readers", isToMany: true)])
        return try ResolvedModel(Model(entities: [item, heir, list, tag, part, reader]))
    }

    @Test func everyStatementSearchesByAllColumnsItsConditionsCompare() throws {
        try Library.withFolder { folder in
            let recording = StatementRecording(folder)
            let model = try Self.model()
            let url = folder.appending(path: "Store.sqlite")
            var store = try Library.store(url, model: model)
            try run(on: store, model)
            store.close()
            // Opened again, as an app does.
            store = try Library.store(url, model: model)
            store.close()
            let statements = recording.statements
            #expect(statements.count > 40)
            let problems = try PlanCheck(path: url.path, broadColumns: ["Z_ENT"]).problems(statements, exceptions: Self.exceptions)
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        }
    }

    /// Fills a store with enough rows for statistics, and uses each way to read and write rows by their keys.
    private func run(on store: SQLiteStore, _ model: ResolvedModel) throws {
        let count = 600
        let keys = try store.write { writer in
            var keys: [String: [RowKey]] = [:]
            for name in ["List", "Item", "SpecialItem", "Tag", "Part", "Reader"] {
                keys[name] = try writer.allocateKeys(for: model.index(name), count: count)
            }
            return keys
        }
        func all(_ name: String) -> [RowKey] { keys[name] ?? [] }
        var changes = StoreChanges()
        for name in ["List", "Tag", "Reader"] { changes.inserts += all(name).map { Row(key: $0, version: 1, values: model.values(name, [:])) } }
        for (name, prefix) in [("Item", "i"), ("SpecialItem", "s")] {
            changes.inserts += all(name).enumerated().map { index, key in
                let list = StoredValue.reference(all("List")[index])
                return Row(key: key, version: 1, values: model.values(name, ["list": list, "owner": list, "code": .string("\(prefix)\(index)")]))
            }
        }
        changes.inserts += all("Part").enumerated().map { Row(key: $1, version: 1, values: model.values("Part", ["item": .reference(all("Item")[$0])])) }
        let tags = model.toMany("Item", "tags"), friends = model.toMany("Item", "friends"), readers = model.toMany("List", "readers")
        for (index, item) in all("Item").enumerated() {
            changes.links.append(LinkChange(owner: item, relationship: tags, destination: all("Tag")[index], isAddition: true))
            changes.links.append(LinkChange(owner: item, relationship: friends, destination: all("SpecialItem")[index], isAddition: true))
        }
        for (list, reader) in zip(all("List"), all("Reader")) {
            changes.links.append(LinkChange(owner: list, relationship: readers, destination: reader, isAddition: true))
        }
        try store.save(changes)
        for number in 0..<count {
            var change = StoreChanges()
            change.author = "author \(number)"
            change.inserts = [
                Row(key: try store.write { try $0.allocateKeys(for: model.index("Tag"), count: 1)[0] }, version: 1, values: model.values("Tag", [:]))
            ]
            try store.save(change)
        }
        try read(from: store, model, all)
        try change(store, model, all)
    }

    private func read(from store: SQLiteStore, _ model: ResolvedModel, _ all: (String) -> [RowKey]) throws {
        let item = model.index("Item")
        try store.read { reader in
            _ = try reader.row(all("Item")[0])
            _ = try reader.rows(Array(all("Item").prefix(3) + all("SpecialItem").suffix(2)))
            _ = try reader.rows(of: item, all("Item").prefix(3).map(\.primaryKey))
            _ = try reader.packedRows(of: item, all("Item").prefix(3).map(\.primaryKey))
            for entity in ["List", "Item", "Tag", "Reader"] {
                for index in model.entities[model.index(entity)].toMany.indices {
                    let owners = Array(all(entity).prefix(3))
                    _ = try reader.destinations(of: owners[0], toMany: index)
                    _ = try reader.destinations(of: owners, toMany: index)
                    _ = try reader.memberRows(of: owners, toMany: index)
                    _ = try reader.packedMembers(of: owners, toMany: index)
                }
            }
            if let constraint = model.entities[item].uniqueness.first { _ = try reader.keys(with: constraint, values: [.string("i7")]) }
            _ = try reader.latestTransaction()
            _ = try reader.history(after: 0)
            _ = try reader.historyHeads(after: 0, limit: 1)
            _ = try reader.historyChanges(of: [1, 3])
            _ = try reader.lastTransaction(notAfter: 2000)
            _ = try reader.lastTransaction(before: 2000)
            _ = try reader.metadata()
        }
        _ = try store.row(all("Item")[1])
    }

    private func change(_ store: SQLiteStore, _ model: ResolvedModel, _ all: (String) -> [RowKey]) throws {
        var changes = StoreChanges()
        changes.author = "app"
        changes.contextName = "main"
        let item = all("Item")[0], list = all("List")[0]
        changes.updates = [
            RowUpdate(
                key: item, expectedVersion: 1,
                values: model.values("Item", ["title": .string("new"), "code": .string("other"), "list": .reference(all("List")[1])]),
                changedSlots: [model.slot("Item", "title"), model.slot("Item", "code"), model.slot("Item", "list"), model.slot("Item", "owner")].sorted())
        ]
        changes.owners = [RowOwner(key: all("List")[2], expectedVersion: 1)]
        changes.links = [
            LinkChange(owner: item, relationship: model.toMany("Item", "tags"), destination: all("Tag")[0], isAddition: false),
            LinkChange(owner: item, relationship: model.toMany("Item", "friends"), destination: all("SpecialItem")[0], isAddition: false),
        ]
        let items = model.toMany("List", "items"), readers = model.toMany("List", "readers")
        let members = try store.read { try $0.destinations(of: list, toMany: items) }
        changes.orders = [
            OrderChange(owner: list, relationship: items, destinations: members.reversed()),
            OrderChange(owner: list, relationship: readers, destinations: [all("Reader")[0]]),
            OrderChange(owner: all("List")[3], relationship: items, destinations: [all("Item")[3]], isAppended: true),
        ]
        changes.deletes = [RowDelete(key: all("Item")[5], expectedVersion: 1), RowDelete(key: all("Part")[9], expectedVersion: nil)]
        try store.save(changes)
        try store.write { writer in
            let gone = [all("Item")[10], all("List")[10], all("Tag")[10], all("Part")[11], all("Reader")[10]]
            try writer.vacate(gone)
            _ = try writer.nullifyReferences(to: gone)
            var deletes = StoreChanges()
            deletes.deletes = gone.map { RowDelete(key: $0, expectedVersion: nil) }
            try writer.apply(deletes)
        }
        _ = try store.write { writer in
            try writer.deleteBatch([all("List")[20], all("Item")[20], all("Tag")[20]], author: nil, contextName: nil, listsKeys: true)
        }
        var same = StoreChanges()
        same.updates = [
            RowUpdate(
                key: all("Item")[30], expectedVersion: 1, values: model.values("Item", ["code": .string("i31")]),
                changedSlots: [model.slot("Item", "code")])
        ]
        #expect(throws: StoreError.self) { try store.save(same) }
        _ = try store.write { try $0.purgeHistory(before: 2) }
    }

    // MARK: Exceptions

    private static let exceptions = [
        PlanException("", "SCAN Z_PRIMARYKEY", because: "It has a row for each entity.")
    ]
}
