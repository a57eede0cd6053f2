// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// A row with its related rows, as a predicate in memory evaluates it.
final class Witness: RowIdentified, PredicateSubject {
    let row: Row
    let world: World

    init(_ row: Row, _ world: World) {
        self.row = row
        self.world = world
    }

    var rowKey: RowKey? { row.key }

    func predicateValue(forKey key: String) -> PredicateValue {
        let entity = world.model.entities[row.key.entityIndex]
        switch entity.location(of: key) {
        case .slot(let slot)?: return world.value(row.values[slot])
        case .toMany(let index)?:
            return .list((world.members[row.key]?[index] ?? []).compactMap { world.witness($0) })
        case nil:
            switch key {
            case "objectID": return .object(PredicateObject(self))
            case "entity": return PredicateValue(["name": entity.name] as [String: Any])
            default: return .null
            }
        }
    }
}

/// The same authors, books and tags in a store and in memory.
final class World {
    let model: ResolvedModel
    let store: SQLiteStore
    var witnesses: [RowKey: Witness] = [:]
    var members: [RowKey: [Int: [RowKey]]] = [:]

    init(seed: UInt64) throws {
        model = try Library.model()
        store = try Library.store(model: model)
        var random = SeededRandom(seed: seed)
        let authors = try (0..<5).map { index in
            try store.insert(
                model, "Author", ["name": Self.name(&random), "born": index == 0 ? .null : .date(Double(index) * 100)])
        }
        var books: [RowKey] = []
        for _ in 0..<24 {
            var values: [String: StoredValue] = ["title": Self.name(&random), "author": .null]
            if let author = authors.randomElement(using: &random), Bool.random(using: &random) {
                values["author"] = .reference(author)
            }
            values["pages"] = Bool.random(using: &random) ? .int(Int64.random(in: 0...6, using: &random)) : .null
            values["weight"] =
                Bool.random(using: &random) ? .double(Double(Int.random(in: -2...4, using: &random)) / 2) : .null
            values["price"] =
                Bool.random(using: &random) ? .decimal(Decimal(Int.random(in: 0...4, using: &random)) / 2) : .null
            values["published"] =
                Bool.random(using: &random) ? .date(Double(Int.random(in: 0...3, using: &random))) : .null
            values["isOpen"] = .int(Bool.random(using: &random) ? 1 : 0)
            values["number"] = .uuid(
                UUID(uuid: (UInt8.random(in: 0...2, using: &random), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
            books.append(try store.insert(model, Bool.random(using: &random) ? "Book" : "Comic", values))
        }
        let tags = try (0..<4).map { _ in try store.insert(model, "Tag", ["label": Self.name(&random)]) }
        var changes = StoreChanges()
        for book in books {
            for tag in tags where Int.random(in: 0..<3, using: &random) == 0 {
                changes.links.append(
                    LinkChange(
                        owner: book, relationship: model.toMany("Book", "tags"), destination: tag, isAddition: true))
            }
        }
        try store.save(changes)
        try store.read { reader in
            for row in try reader.rows(authors + books + tags) {
                witnesses[row.key] = Witness(row, self)
                for index in model.entities[row.key.entityIndex].toMany.indices {
                    members[row.key, default: [:]][index] = try reader.destinations(of: row.key, toMany: index)
                }
            }
        }
    }

    private static func name(_ random: inout SeededRandom) -> StoredValue {
        let names = ["", "a", "A", "ab", "Äb", "a\u{308}b", "b*", "straße", "STRASSE", "zebra", "日本", "İx"]
        return names.randomElement(using: &random).map {
            Int.random(in: 0..<6, using: &random) == 0 ? .null : .string($0)
        } ?? .null
    }

    func witness(_ key: RowKey) -> PredicateValue? { witnesses[key].map { .object(PredicateObject($0)) } }

    func value(_ value: StoredValue) -> PredicateValue {
        switch value {
        case .null: .null
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .decimal(let value): .decimal(value)
        case .string(let value): .string(value)
        case .date(let value): .date(value)
        case .data(let value): .data(value)
        case .uuid(let value): .uuid(value)
        case .url(let value): .url(value)
        case .reference(let key): witness(key) ?? .null
        case .object: .null
        }
    }

    func inStore(_ predicate: PredicateKit.Predicate, _ entity: String) throws -> [Int64] {
        let query = StoreQuery(entity: model.index(entity), predicate: predicate)
        return try store.read { try $0.fetchKeys(query) }.map(\.primaryKey).sorted()
    }

    func inMemory(_ predicate: PredicateKit.Predicate, _ entity: String) throws -> [Int64] {
        let entities = Set(model.entity(named: entity)?.hierarchy ?? [])
        return try witnesses.values.filter { entities.contains($0.row.key.entityIndex) }.filter {
            try predicate.evaluate(on: .object(PredicateObject($0)), now: { 1000 })
        }.map(\.row.key.primaryKey).sorted()
    }
}

struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
