// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct HistoryTests {
    let model: ResolvedModel
    let store: SQLiteStore

    init() throws {
        model = try Library.model()
        var options = Library.options(at: 42.5)
        options.bundleID = "org.example"
        options.processID = "posts"
        store = try Library.store(model: model, options: options)
    }

    private func dump(after number: Int64 = 0) throws -> String {
        try store.read { try $0.history(after: number) }.map { transaction in
            let changes = transaction.changes.map { change in
                let name = model.entities[change.key.entityIndex].name
                let tombstone = change.tombstone.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                return "\(change.kind) \(name)/\(change.key.primaryKey) "
                    + (change.changedProperties + tombstone).joined(separator: ",")
            }
            return (["#\(transaction.number) \(transaction.author ?? "-")"] + changes).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    @Test func aSaveIsOneTransactionWithAChangeForEachRow() throws {
        let author = try store.insert(model, "Author", ["name": .string("a")])
        let comic = try store.insert(
            model, "Comic", ["title": .string("t"), "pages": .int(9), "author": .reference(author)])
        var changes = StoreChanges()
        changes.author = "app"
        changes.contextName = "view"
        changes.updates = [
            RowUpdate(
                key: author, expectedVersion: 1, values: model.values("Author", ["name": .string("b")]),
                changedSlots: [model.slot("Author", "name")], changedToMany: [model.toMany("Author", "books")])
        ]
        changes.deletes = [RowDelete(key: comic, expectedVersion: nil)]
        #expect(try store.save(changes) == 3)
        #expect(
            try dump(after: 1) == """
                #2 -
                insert Comic/1 
                #3 app
                update Author/1 books,name
                delete Comic/1 pages=int(9),title=string("t")
                """)
        let last = try store.read { try $0.history(after: 2, limit: 5) }.first
        #expect(last?.timestamp == 42.5)
        #expect(last?.contextName == "view")
        #expect(last?.bundleID == "org.example")
        #expect(last?.processID == "posts")
    }

    @Test func joinedChangesAreOneTransactionThatListsEachRowOnce() throws {
        let author = try store.insert(model, "Author", ["name": .string("a")])
        let other = try store.insert(model, "Author", ["name": .string("o")])
        try store.write { writer in
            writer.joinHistory()
            func change(_ author: String?, _ body: (inout StoreChanges) throws -> Void) throws {
                var changes = StoreChanges()
                changes.author = author
                try body(&changes)
                try writer.apply(changes)
            }
            let made = try writer.allocateKeys(for: author.entityIndex, count: 2)
            try change("import") {
                $0.inserts = made.map { Row(key: $0, version: 1, values: model.values("Author", ["name": .string("new")])) }
            }
            for version in [1, 2] as [Int64] {
                try change("import") {
                    $0.updates = [
                        RowUpdate(
                            key: author, expectedVersion: version, values: model.values("Author", ["name": .string("b\(version)")]),
                            changedSlots: [model.slot("Author", "name")])
                    ]
                }
            }
            // A row inserted and deleted in one transaction is not recorded.
            try change("import") { $0.deletes = [made[0], other].map { RowDelete(key: $0, expectedVersion: nil) } }
            try change("other") { $0.deletes = [RowDelete(key: author, expectedVersion: nil)] }
        }
        #expect(
            try dump(after: 2) == """
                #3 import
                insert Author/4 
                update Author/1 name
                delete Author/2 
                #4 other
                delete Author/1 
                """)
    }

    @Test func columnBitsCountFromTheMostSignificantBitOverSortedNames() throws {
        let key = try store.insert(model, "Book", [:])
        var changes = StoreChanges()
        // author cover isOpen number page pages price published | tags title weight
        changes.updates = [
            RowUpdate(
                key: key, expectedVersion: 1, values: model.values("Book", [:]),
                changedSlots: [model.slot("Book", "author"), model.slot("Book", "weight")],
                changedToMany: [model.toMany("Book", "tags")])
        ]
        try store.save(changes)
        #expect(try store.lines("SELECT hex(ZCOLUMNS), ZCHANGETYPE FROM ACHANGE") == ["|0", "80A0|1"])
    }

    @Test func aLinkIsAnUpdateOfBothRowsOnceAndOnlyWhenItChangesSomething() throws {
        let book = try store.insert(model, "Book", [:])
        let tag = try store.insert(model, "Tag", [:])
        let link = LinkChange(
            owner: tag, relationship: model.toMany("Tag", "books"), destination: book, isAddition: true)
        var changes = StoreChanges()
        changes.links = [link]
        #expect(try store.save(changes) == 3)
        #expect(try store.save(changes) == nil)
        #expect(try dump(after: 2) == "#3 -\nupdate Tag/1 books\nupdate Book/1 tags")
        let tags = model.toMany("Book", "tags")
        let books = model.toMany("Tag", "books")
        #expect(try store.read { try $0.destinations(of: book, toMany: tags) } == [tag])
        #expect(try store.read { try $0.destinations(of: tag, toMany: books) } == [book])
        var undo = StoreChanges()
        undo.links = [LinkChange(owner: book, relationship: tags, destination: tag, isAddition: false)]
        try store.save(undo)
        #expect(try store.lines("SELECT COUNT(*) FROM Z_2TAGS") == ["0"])
    }

    @Test func purgingDeletesEarlierTransactionsAndNumbersContinue() throws {
        for _ in 0..<3 { try store.insert(model, "Tag", [:]) }
        #expect(try store.write { try $0.purgeHistory(before: 4) } == 3)
        #expect(try dump() == "")
        try store.insert(model, "Tag", [:])
        #expect(try dump() == "#4 -\ninsert Tag/4 ")
    }

    @Test func withoutTrackingThereIsNoHistory() throws {
        var options = Library.options()
        options.isHistoryEnabled = false
        let silent = try Library.store(model: model, options: options)
        try silent.insert(model, "Tag", [:])
        #expect(try silent.read { try $0.latestTransaction() } == 0)
    }
}
