// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore
import StatementPlans
import Testing

/// Plans of the statements of a store with a model that has every kind of relationship: none reads more rows than its
/// result needs.
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
            // Reopened, as an app does.
            store = try Library.store(url, model: model)
            store.close()
            let statements = recording.statements
            #expect(statements.count > 40)
            let problems = try PlanCheck(path: url.path, broadColumns: ["Z_ENT"]).problems(statements, exceptions: Self.exceptions)
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        }
    }

    /// Fills a store with enough rows for statistics, and uses each read and write by key.
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
        for name in ["List", "Tag", "Reader"] {
            changes.inserts += all(name).map { Row(key: $0, version: 1, values: model.values(name, [:])) }
        }
        for (name, prefix) in [("Item", "i"), ("SpecialItem", "s")] {
            changes.inserts += all(name).enumerated().map { index, key in
                let list = StoredValue.reference(all("List")[index])
                return Row(
                    key: key, version: 1, values: model.values(name, ["list": list, "owner": list, "code": .string("\(prefix)\(index)")]))
            }
        }
        changes.inserts += all("Part").enumerated().map {
            Row(key: $1, version: 1, values: model.values("Part", ["item": .reference(all("Item")[$0])]))
        }
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
                Row(
                    key: try store.write { try $0.allocateKeys(for: model.index("Tag"), count: 1)[0] }, version: 1,
                    values: model.values("Tag", [:]))
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
                changedSlots: [
                    model.slot("Item", "title"), model.slot("Item", "code"), model.slot("Item", "list"), model.slot("Item", "owner"),
                ].sorted())
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

    // MARK: Several models

    private static func derived(_ name: String, _ type: AttributeType, _ expression: String) -> Attribute {
        var attribute = Attribute(name: name, type: type)
        attribute.derivationExpression = expression
        return attribute
    }

    /// Models with features that the first one lacks, by name.
    private static let models: [String: Model] = {
        var cover = Attribute(name: "cover", type: .binaryData)
        cover.allowsExternalBinaryDataStorage = true
        var member = Entity(
            name: "Member",
            attributes: [
                Attribute(name: "title", type: .string), Attribute(name: "size", type: .integer64), cover,
                derived("folded", .string, "canonical:(title)"), derived("groupName", .string, "group.name"),
            ],
            relationships: [
                Relationship(name: "group", destination: "Group", inverse: "members"),
                Relationship(name: "teams", destination: "Group", inverse: "team", isToMany: true),
                Relationship(name: "badge", destination: "Badge", inverse: "member", deleteRule: .cascade),
            ])
        member.indexes = [
            FetchIndex(name: "byTitleAndSize", elements: [.init(property: "title"), .init(property: "size", isAscending: false)])
        ]
        let group = Entity(
            name: "Group",
            attributes: [
                Attribute(name: "name", type: .string), derived("memberCount", .integer64, "members.@count"),
                derived("total", .integer64, "members.@sum.size"), derived("teamCount", .integer64, "team.@count"),
                derived("changed", .date, "now()"),
            ],
            relationships: [
                Relationship(name: "members", destination: "Member", inverse: "group", isToMany: true),
                Relationship(name: "team", destination: "Member", inverse: "teams", isToMany: true),
            ])
        let badge = Entity(
            name: "Badge", attributes: [Attribute(name: "number", type: .integer32)],
            relationships: [Relationship(name: "member", destination: "Member", inverse: "badge")])

        var node = Entity(
            name: "Node", isAbstract: true,
            attributes: [Attribute(name: "name", type: .string), Attribute(name: "code", type: .integer64)],
            relationships: [
                Relationship(name: "parent", destination: "Node", inverse: "children"),
                Relationship(
                    name: "children", destination: "Node", inverse: "parent", isToMany: true, isOrdered: true, deleteRule: .cascade),
                Relationship(name: "previous", destination: "Node", inverse: "next"),
                Relationship(name: "next", destination: "Node", inverse: "previous"),
                Relationship(name: "sources", destination: "Node", inverse: "targets", isToMany: true, isOrdered: true),
                Relationship(name: "targets", destination: "Node", inverse: "sources", isToMany: true, isOrdered: true),
                Relationship(name: "peers", destination: "Node", inverse: "peers", isToMany: true),
            ])
        node.uniquenessConstraints = [["name", "code"]]
        var folder = Entity(name: "Folder", superentity: "Node", attributes: [Attribute(name: "key", type: .uuid)])
        folder.uniquenessConstraints = [["key"]]
        let special = Entity(name: "SpecialFolder", superentity: "Folder", attributes: [Attribute(name: "note", type: .string)])
        let document = Entity(name: "Document", superentity: "Node", attributes: [Attribute(name: "date", type: .date)])
        return [
            "derived and external": Model(entities: [member, group, badge]),
            "a hierarchy that refers to itself": Model(entities: [node, folder, special, document]),
        ]
    }()

    /// The statements of one model, including those of its triggers.
    @Test(arguments: models.keys.sorted()) func everyStatementOfAModelSearchesByAllColumnsItsConditionsCompare(name: String) throws {
        try Library.withFolder { folder in
            let recording = StatementRecording(folder)
            let model = try ResolvedModel(try #require(Self.models[name]))
            let url = folder.appending(path: "Store.sqlite")
            var store = try Library.store(url, model: model)
            try exercise(store, model)
            let triggers = try store.lines("SELECT sql FROM sqlite_master WHERE type = 'trigger'").compactMap(Self.body)
            store.close()
            store = try Library.store(url, model: model)
            store.close()
            let statements = recording.statements + triggers
            #expect(statements.count > 30)
            #expect(triggers.isEmpty == !name.contains("derived"))
            let exceptions = Self.exceptions + (name.contains("derived") ? Self.exceptionsOfDerived : [])
            let problems = try PlanCheck(path: url.path, broadColumns: ["Z_ENT"], functions: ["TARN_DERIVE": 2]).problems(
                statements, exceptions: exceptions)
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        }
    }

    /// The statements of a trigger, with parameters instead of the row's columns.
    private static func body(of trigger: String) -> String? {
        guard let begin = trigger.range(of: " BEGIN "), let end = trigger.range(of: "; END", options: .backwards) else { return nil }
        return String(trigger[begin.upperBound..<end.lowerBound]).replacing(/(NEW|OLD)\.\w+/, with: "?")
    }

    /// Inserts, reads, changes and deletes rows of each entity, with all their relationships.
    private func exercise(_ store: SQLiteStore, _ model: ResolvedModel) throws {
        let count = 400
        let entities = model.entities.filter { !$0.declaration.isAbstract }
        var keys: [Int: [RowKey]] = [:]
        try store.write { writer in for entity in entities { keys[entity.index] = try writer.allocateKeys(for: entity.index, count: count) }
        }
        /// Rows of an entity or one of its subentities.
        func rows(_ entity: Int) -> [RowKey] { model.entities[entity].hierarchy.compactMap { keys[$0] }.flatMap(\.self) }
        func isDerived(_ slot: Slot) -> Bool {
            if case .attribute(let attribute) = slot { attribute.derivationExpression != nil } else { false }
        }
        func value(_ attribute: Attribute, _ number: Int) -> StoredValue {
            switch attribute.type {
            case .string: .string("\(attribute.name) \(number)")
            case .integer32, .integer64: .int(Int64(number))
            case .date: .date(Double(number))
            case .uuid: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number / 256), UInt8(number % 256))))
            case .binaryData: .data(Data(repeating: 1, count: number % 100 == 0 ? 200_000 : 10))
            default: .null
            }
        }
        func values(_ entity: ResolvedEntity, _ number: Int) -> ContiguousArray<StoredValue> {
            var values = entity.defaultValues
            for (slot, declared) in entity.slots.enumerated() {
                switch declared {
                case .attribute(let attribute): if !isDerived(declared) { values[slot] = value(attribute, number + entity.index * count) }
                case .toOne(let relationship): values[slot] = .reference(rows(relationship.destination)[number])
                }
            }
            return values
        }
        var changes = StoreChanges()
        for entity in entities {
            for (number, key) in (keys[entity.index] ?? []).enumerated() {
                changes.inserts.append(Row(key: key, version: 1, values: values(entity, number)))
                for (index, relationship) in entity.toMany.enumerated() where relationship.isLinked {
                    changes.links.append(
                        LinkChange(owner: key, relationship: index, destination: rows(relationship.destination)[number], isAddition: true))
                }
            }
        }
        try store.save(changes)
        for entity in entities {
            let own = keys[entity.index] ?? []
            try store.read { reader in
                _ = try reader.row(own[0])
                _ = try reader.rows(Array(own.prefix(3)))
                _ = try reader.packedRows(of: entity.index, own.prefix(3).map(\.primaryKey))
                for index in entity.toMany.indices {
                    _ = try reader.destinations(of: own[0], toMany: index)
                    _ = try reader.destinations(of: Array(own.prefix(3)), toMany: index)
                    _ = try reader.packedMembers(of: Array(own.prefix(3)), toMany: index)
                }
                let row = values(entity, 3)
                for constraint in entity.uniqueness { _ = try reader.keys(with: constraint, values: constraint.slots.map { row[$0] }) }
            }
            var updates = StoreChanges()
            updates.updates = [
                RowUpdate(
                    key: own[9], expectedVersion: 1, values: values(entity, 9),
                    changedSlots: entity.slots.indices.filter { !isDerived(entity.slots[$0]) })
            ]
            try store.save(updates)
            var deletes = StoreChanges()
            deletes.deletes = [RowDelete(key: own[5], expectedVersion: nil)]
            deletes.links = entity.toMany.enumerated().filter { $0.element.isLinked }.map { index, relationship in
                LinkChange(owner: own[7], relationship: index, destination: rows(relationship.destination)[7], isAddition: false)
            }
            deletes.orders = entity.toMany.enumerated().filter { $0.element.declaration.isOrdered }.map { index, relationship in
                OrderChange(owner: own[8], relationship: index, destinations: [rows(relationship.destination)[8]])
            }
            try store.write { writer in
                try writer.vacate([own[5]])
                _ = try writer.nullifyReferences(to: [own[5]])
                try writer.apply(deletes)
            }
            _ = try store.write { try $0.deleteBatch([own[6]], author: nil, contextName: nil, listsKeys: true) }
        }
    }

    // MARK: Exceptions

    private static let exceptions = [
        PlanException("", "SCAN Z_PRIMARYKEY", because: "It has a row for each entity.")
    ]

    private static let exceptionsOfDerived = ["ZGROUP", "ZMEMBER"].map {
        PlanException(
            "UPDATE \($0) SET…", "SCAN \($0)", because: "A derived attribute is new in the model: it is computed for all rows, once.")
    }
}
