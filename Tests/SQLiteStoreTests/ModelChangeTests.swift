// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct ModelChangeTests {
    /// Opens a store of the library's model with a changed model.
    private func reopened<T>(
        _ change: (inout Model) -> Void, _ body: (SQLiteStore, ResolvedModel) throws -> T
    ) throws -> T {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let model = try Library.model()
            let store = try Library.store(url, model: model, options: Library.options(version: 1))
            let author = try store.insert(model, "Author", ["name": .string("a")])
            let book = try store.insert(
                model, "Book", ["title": .string("t"), "author": .reference(author), "pages": .int(40_000)])
            var changes = StoreChanges()
            changes.links = try ["l", "m"].map { label in
                let tag = try store.insert(model, "Tag", ["label": .string(label)])
                return LinkChange(owner: book, relationship: model.toMany("Book", "tags"), destination: tag, isAddition: true)
            }
            try store.save(changes)
            store.close()
            let changed = try Library.model(change)
            let opened = try Library.store(url, model: changed, options: Library.options(version: 2))
            let result = try body(opened, changed)
            // After the upgrade it opens without changes.
            opened.close()
            _ = try Library.store(url, model: changed, options: Library.options(version: 2))
            return result
        }
    }

    private func index(_ model: Model, _ name: String) -> Int { model.entities.firstIndex { $0.name == name } ?? 0 }

    @Test func newEntitiesPropertiesAndRelationshipsAreAdded() throws {
        try reopened { model in
            let author = index(model, "Author")
            var rank = Attribute(name: "rank", type: .integer16, isOptional: false, defaultValue: .int(7))
            rank.preservesValueInHistoryOnDeletion = true
            model.entities[author].attributes += [rank, Attribute(name: "motto", type: .string)]
            model.entities[author].relationships += [
                Relationship(name: "awards", destination: "Award", inverse: "winners", isToMany: true),
                Relationship(name: "main", destination: "Award"),
            ]
            model.entities.insert(
                Entity(
                    name: "Award", attributes: [Attribute(name: "name", type: .string)],
                    relationships: [
                        Relationship(name: "winners", destination: "Author", inverse: "awards", isToMany: true)
                    ]),
                at: 0)
        } _: { store, model in
            let query = StoreQuery(entity: model.index("Author"))
            let old = try store.read { try $0.fetch(query) }
            #expect(old.map(\.values) == [model.values("Author", ["name": .string("a"), "rank": .int(7)])])
            #expect(
                try store.lines("SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 100") == [
                    "1|Author", "2|Book", "3|Comic", "4|Tag", "5|Award",
                ])
            let award = try store.insert(model, "Award", ["name": .string("prize")])
            var changes = StoreChanges()
            changes.links = [
                LinkChange(
                    owner: old[0].key, relationship: model.toMany("Author", "awards"), destination: award,
                    isAddition: true)
            ]
            changes.updates = [
                RowUpdate(
                    key: old[0].key, expectedVersion: 1,
                    values: model.values("Author", ["main": .reference(award)]),
                    changedSlots: [model.slot("Author", "main")])
            ]
            try store.save(changes)
            let row = try store.read { try $0.row(old[0].key) }
            #expect(
                row?.values
                    == model.values("Author", ["name": .string("a"), "rank": .int(7), "main": .reference(award)]))
            let book = try store.read { try $0.fetch(StoreQuery(entity: model.index("Book"))) }
            let tags = try store.read { try $0.destinations(of: book[0].key, toMany: model.toMany("Book", "tags")) }
            #expect(book.count == 1)
            #expect(tags.count == 2)
        }
    }

    @Test func anAddedSiblingNeitherMovesColumnsNorNumbers() throws {
        try reopened { model in
            model.entities.append(
                Entity(name: "Atlas", superentity: "Book", attributes: [Attribute(name: "artist", type: .string)]))
        } _: { store, model in
            try store.insert(model, "Comic", ["artist": .string("comic")])
            try store.insert(model, "Atlas", ["artist": .string("atlas")])
            #expect(
                try store.lines("SELECT Z_ENT, ZARTIST, ZARTIST1 FROM ZBOOK WHERE Z_ENT > 2") == [
                    "3|comic|NULL", "5|NULL|atlas",
                ])
        }
    }

    @Test func aDestinationThatGetsSubentitiesGetsAnEntityColumn() throws {
        try reopened { model in
            model.entities.append(Entity(name: "Poet", superentity: "Author"))
        } _: { store, model in
            let book = try store.read { try $0.fetch(StoreQuery(entity: model.index("Book"))) }[0]
            #expect(
                book.values[model.slot("Book", "author")]
                    == .reference(RowKey(store: 7, entity: model.index("Author"), primaryKey: 1)))
            let poet = try store.insert(model, "Poet", [:])
            let key = try store.insert(model, "Book", ["author": .reference(poet)])
            #expect(try store.read { try $0.row(key) }?.values[model.slot("Book", "author")] == .reference(poet))
        }
    }

    /// `Book.topic` was `title`; the new `title` is another attribute, which the third version has as well.
    @Test func anAttributeWithTheFirstNameOfAnotherOneKeepsItsValues() throws {
        func second(_ model: inout Model) {
            model.entities[2].attributes[0].name = "topic"
            model.entities[2].attributes[0].renamingIdentifier = "title"
            model.entities[2].attributes.append(Attribute(name: "title", type: .string))
        }
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let first = try Library.model()
            let store = try Library.store(url, model: first, options: Library.options(version: 1))
            try store.insert(first, "Book", ["title": .string("first")])
            store.close()
            let model = try Library.model(second)
            let renamed = try Library.store(url, model: model, options: Library.options(version: 2))
            try renamed.insert(model, "Book", ["topic": .string("topic"), "title": .string("title")])
            renamed.close()
            let third = try Library.model { model in
                second(&model)
                model.entities[3].attributes.append(Attribute(name: "motto", type: .string))
            }
            let opened = try Library.store(url, model: third, options: Library.options(version: 3))
            let rows = try opened.read { try $0.fetch(StoreQuery(entity: third.index("Book"))) }
            let values = rows.sorted { $0.key.primaryKey < $1.key.primaryKey }.map { row in
                [row.values[third.slot("Book", "topic")], row.values[third.slot("Book", "title")]]
            }
            #expect(values == [[.string("first"), .null], [.string("topic"), .string("title")]])
        }
    }

    static let refused: [(what: String, code: StoreError.Code, detail: String)] = [
        ("other type", .notInferable, "Book.pages changed from integer32 to string"),
        ("required without default", .migration, "Author.must is required"),
        ("required now", .migration, "Author.born is required"),
        ("abstract", .migration, "Tag is abstract"),
        ("narrower", .migration, "Book.pages is integer16 now"),
        ("one of several", .migration, "Book.tags leads to one object"),
    ]

    @Test(arguments: refused.indices)
    func unmigratableChangesAreRejectedByName(_ index: Int) throws {
        let (what, code, detail) = Self.refused[index]
        let error = #expect(throws: StoreError.self) {
            try reopened { model in
                let (author, book) = (self.index(model, "Author"), self.index(model, "Book"))
                switch what {
                case "other type": model.entities[book].attributes[1].type = .string
                case "narrower": model.entities[book].attributes[1].type = .integer16
                case "required without default":
                    model.entities[author].attributes.append(Attribute(name: "must", type: .string, isOptional: false))
                case "required now": model.entities[author].attributes[1].isOptional = false
                case "abstract": model.entities[self.index(model, "Tag")].isAbstract = true
                default:
                    model.entities[book].relationships[1].isToMany = false
                    model.entities[book].relationships[1].maximumCount = 1
                }
            } _: { _, _ in
            }
        }
        #expect(error?.code == code, "\(error as Any)")
        #expect(error?.detail.contains(detail) == true, "\(error as Any)")
    }

    @Test func configurationsOfOneModelAreStoredApart() throws {
        let model = try Library.model { model in
            model.entities.append(Entity(name: "Note", attributes: [Attribute(name: "text", type: .string)]))
            model.configurations = ["Local": ["Note"], "Cloud": ["Author", "Book", "Comic", "Tag"]]
        }
        let store = try SQLiteStore(
            url: nil, model: model, configuration: "Local", number: 7, options: Library.options())
        try store.insert(model, "Note", ["text": .string("x")])
        #expect(
            try store.lines("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z_O%'") == ["ZNOTE"])
        let error = #expect(throws: StoreError.self) { try store.insert(model, "Author", [:]) }
        #expect(error?.code == .notFound)
        let unknown = #expect(throws: StoreError.self) {
            try SQLiteStore(url: nil, model: model, configuration: "Other", number: 7, options: Library.options())
        }
        #expect(unknown?.code == .notFound)
    }
}
