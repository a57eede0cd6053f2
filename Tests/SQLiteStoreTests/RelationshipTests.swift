// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct RelationshipTests {
    @Test func membersOfManyOwnersAreReadTogether() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let authors = try (0..<3).map { _ in try store.insert(model, "Author", [:]) }
        let books = try [0, 1, 0].map {
            try store.insert(model, $0 == 1 ? "Comic" : "Book", ["author": .reference(authors[$0])])
        }
        let index = model.toMany("Author", "books")
        let members = try store.read { try $0.destinations(of: authors, toMany: index) }
        #expect(members == [authors[0]: [books[0], books[2]], authors[1]: [books[1]], authors[2]: []])
        #expect(try store.read { try $0.destinations(of: authors[0], toMany: index) } == [books[0], books[2]])
    }

    @Test func deletingARowRemovesItsJoinRecords() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let book = try store.insert(model, "Comic", [:])
        let tags = try (0..<2).map { _ in try store.insert(model, "Tag", [:]) }
        var changes = StoreChanges()
        let index = model.toMany("Comic", "tags")
        changes.links = tags.map { LinkChange(owner: book, relationship: index, destination: $0, isAddition: true) }
        try store.save(changes)
        var delete = StoreChanges()
        delete.deletes = [RowDelete(key: tags[0], expectedVersion: 1)]
        try store.save(delete)
        #expect(try store.lines("SELECT * FROM Z_2TAGS") == ["1|2"])
    }

    @Test func referencesToARowCanBeEmptied() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let author = try store.insert(model, "Author", [:])
        let books = try (0..<2).map { _ in try store.insert(model, "Book", ["author": .reference(author)]) }
        let tag = try store.insert(model, "Tag", [:])
        var changes = StoreChanges()
        changes.links = [
            LinkChange(owner: books[1], relationship: model.toMany("Book", "tags"), destination: tag, isAddition: true)
        ]
        try store.save(changes)
        let before = try store.read { try $0.latestTransaction() }
        let touched = try store.write { writer in
            let touched = try writer.nullifyReferences(to: [author, tag])
            var deletes = StoreChanges()
            deletes.author = "import"
            deletes.deletes = [author, tag].map { RowDelete(key: $0, expectedVersion: nil) }
            try writer.apply(deletes)
            return touched
        }
        #expect(touched == books)
        #expect(try store.lines("SELECT ZAUTHOR, Z_OPT FROM ZBOOK") == ["NULL|2", "NULL|3"])
        let history = try store.read { try $0.history(after: before) }
        #expect(history.count == 1)
        #expect(history.first?.author == "import")
        #expect(history[0].changes.map(\.changedProperties) == [["author"], ["author", "tags"], [], []])
    }

    @Test func anOrderedRelationshipKeepsItsOrder() throws {
        let model = try ResolvedModel(
            Model(entities: [
                Entity(
                    name: "List",
                    relationships: [
                        Relationship(
                            name: "items", destination: "Item", inverse: "list", isToMany: true, isOrdered: true),
                        Relationship(
                            name: "links", destination: "Item", inverse: "lists", isToMany: true, isOrdered: true),
                        Relationship(name: "loose", destination: "Item", isToMany: true, isOrdered: true),
                    ]),
                Entity(
                    name: "Item",
                    relationships: [
                        Relationship(name: "list", destination: "List", inverse: "items"),
                        Relationship(name: "lists", destination: "List", inverse: "links", isToMany: true),
                    ]),
            ]))
        let store = try Library.store(model: model)
        let list = try store.insert(model, "List", [:])
        let items = try (0..<3).map { _ in try store.insert(model, "Item", ["list": .reference(list)]) }
        var changes = StoreChanges()
        let indices = ["items", "links", "loose"].map { model.toMany("List", $0) }
        for index in indices[1...] {
            changes.links += [2, 0, 1].map {
                LinkChange(owner: list, relationship: index, destination: items[$0], isAddition: true)
            }
        }
        try store.save(changes)
        func orders() throws -> [[Int]] {
            try indices.map { index in
                try store.read { try $0.destinations(of: list, toMany: index) }.map { items.firstIndex(of: $0) ?? -1 }
            }
        }
        #expect(try orders() == [[0, 1, 2], [2, 0, 1], [2, 0, 1]])
        var reorder = StoreChanges()
        reorder.orders = indices.map {
            OrderChange(owner: list, relationship: $0, destinations: [items[1], items[2], items[0]])
        }
        try store.save(reorder)
        #expect(try orders() == [[1, 2, 0], [1, 2, 0], [1, 2, 0]])
    }

    @Test func aRelationshipThatIsItsOwnInverseIsReadFromBothSides() throws {
        let model = try ResolvedModel(
            Model(entities: [
                Entity(
                    name: "Person",
                    relationships: [
                        Relationship(name: "friends", destination: "Person", inverse: "friends", isToMany: true)
                    ])
            ]))
        let store = try Library.store(model: model)
        let people = try (0..<2).map { _ in try store.insert(model, "Person", [:]) }
        var changes = StoreChanges()
        changes.links = [LinkChange(owner: people[0], relationship: 0, destination: people[1], isAddition: true)]
        try store.save(changes)
        #expect(try store.read { try $0.destinations(of: people[1], toMany: 0) } == [people[0]])
        changes.links = [LinkChange(owner: people[1], relationship: 0, destination: people[0], isAddition: false)]
        try store.save(changes)
        #expect(try store.read { try $0.destinations(of: people, toMany: 0) } == [people[0]: [], people[1]: []])
    }
}
