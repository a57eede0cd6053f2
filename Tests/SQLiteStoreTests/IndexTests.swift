// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct IndexTests {
    private func index(_ name: String, _ elements: [FetchIndex.Element], where format: String? = nil) -> FetchIndex {
        var index = FetchIndex(name: name, elements: elements)
        index.partialPredicateFormat = format
        return index
    }

    /// The statements of a file's fetch indexes, after it was opened with these indexes on `Book`.
    private func statements(_ url: URL, _ indexes: [FetchIndex], on entity: String = "Book") throws -> [String] {
        let store = try Library.store(
            url,
            model: Library.model { model in
                for place in model.entities.indices {
                    model.entities[place].indexes = model.entities[place].name == entity ? indexes : []
                }
            })
        defer { store.close() }
        return try store.lines(
            "SELECT sql FROM sqlite_master WHERE type = 'index' AND name LIKE 'Z\\_\(entity)\\_%' ESCAPE '\\' ORDER BY name")
    }

    @Test func indexesAreMadeChangedAndDroppedInPlace() throws {
        try Library.withFolder { (folder) throws in
            let url = folder.appending(path: "a.sqlite")
            let title = FetchIndex.Element(property: "title")
            #expect(try statements(url, []) == [])
            #expect(
                try statements(url, [index("byTitle", [title])]) == [
                    "CREATE INDEX Z_Book_byTitle ON ZBOOK (ZTITLE COLLATE BINARY ASC)"
                ])
            #expect(
                try statements(url, [index("byTitle", [.init(property: "title", isAscending: false), .init(property: "author")])]) == [
                    "CREATE INDEX Z_Book_byTitle ON ZBOOK (ZTITLE COLLATE BINARY DESC, ZAUTHOR COLLATE BINARY ASC)"
                ])
            #expect(try statements(url, [index("byTitle", [title]), index("two", [.init(property: "pages")])]).count == 2)
            #expect(try statements(url, [index("two", [.init(property: "pages")])]).count == 1)
            #expect(try statements(url, []) == [])
        }
    }

    private static let partials = [
        ("pages > 3", "ZPAGES > 3"), ("pages > 3 AND title != nil", "(ZPAGES > 3 AND ZTITLE IS NOT NULL)"),
        ("isOpen == YES OR weight <= 1.5", "(ZISOPEN = 1 OR ZWEIGHT <= 1.5)"), ("NOT title == \"it's\"", "NOT (ZTITLE = 'it''s')"),
        ("pages != 0", "(ZPAGES <> 0 OR ZPAGES IS NULL)"), ("author == nil", "ZAUTHOR IS NULL"),
    ]

    @Test(arguments: Self.partials) func partialPredicatesBecomeConditions(_ format: String, _ sql: String) throws {
        try Library.withFolder { folder in
            let made = try statements(folder.appending(path: "a.sqlite"), [index("part", [.init(property: "title")], where: format)])
            #expect(made == ["CREATE INDEX Z_Book_part ON ZBOOK (ZTITLE COLLATE BINARY ASC) WHERE \(sql)"])
        }
    }

    @Test(arguments: ["title BEGINSWITH 'a'", "author.name == 'a'", "title ==[c] 'a'", "tags.@count > 1"])
    func unsupportedIndexConditionsIndexAllRows(_ format: String) throws {
        try Library.withFolder { folder in
            let made = try statements(folder.appending(path: "a.sqlite"), [index("part", [.init(property: "title")], where: format)])
            #expect(made == ["CREATE INDEX Z_Book_part ON ZBOOK (ZTITLE COLLATE BINARY ASC)"])
        }
    }

    @Test func aSubentitysIndexHoldsItsRowsOnly() throws {
        try Library.withFolder { folder in
            let made = try statements(
                folder.appending(path: "a.sqlite"), [index("byArtist", [.init(property: "artist")], where: "pages > 3")], on: "Comic")
            #expect(made.count == 1)
            #expect(made.first?.contains("WHERE Z_ENT IN (3) AND ZPAGES > 3") == true)
        }
    }

    @Test func aReadOnlyStoreKeepsTheIndexesItHas() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            #expect(try statements(url, [index("byTitle", [.init(property: "title")])]).count == 1)
            var options = Library.options()
            options.isReadOnly = true
            let store = try Library.store(
                url, model: Library.model { for place in $0.entities.indices { $0.entities[place].indexes = [] } }, options: options)
            #expect(try store.lines("SELECT COUNT(*) FROM sqlite_master WHERE name = 'Z_Book_byTitle'") == ["1"])
        }
    }

    @Test func enablingHistoryCreatesItsTables() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let tables = "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING')"
            var options = Library.options()
            options.isHistoryEnabled = false
            let plain = try Library.store(url, options: options)
            try plain.insert(Library.model(), "Tag", [:])
            #expect(try plain.lines(tables) == ["0"])
            #expect(try plain.read { try $0.history(after: 0).count } == 0)
            #expect(try plain.read { try $0.problems() } == [])
            #expect(try plain.write { try $0.purgeHistory(before: 9) } == 0)
            plain.close()
            let tracking = try Library.store(url)
            try tracking.insert(Library.model(), "Tag", [:])
            #expect(try tracking.lines(tables) == ["3"])
            #expect(try tracking.read { try $0.history(after: 0).map(\.number) } == [1])
        }
    }
}
