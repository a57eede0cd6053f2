// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore
import Testing

@Suite struct PredicateTests {
    static let formats = [
        "title == 'a'", "title != 'a'", "NOT title == 'a'", "NOT title != 'a'", "title == nil", "title != nil",
        "title ==[c] 'A'", "title ==[cd] 'AB'", "title <[c] 'b'", "NOT title < 'b'", "title >= 'a' AND title <= 'b'",
        "title BEGINSWITH 'a'", "title BEGINSWITH[cd] 'A'", "NOT title BEGINSWITH 'a'", "title ENDSWITH 'b'",
        "title CONTAINS 'b'", "title CONTAINS[d] 'a'", "title CONTAINS ''", "title LIKE 'a*'", "title LIKE[cd] '?b'",
        "title LIKE 'b\\\\*'", "title MATCHES '[a-z]+'", "title MATCHES[c] 'strasse'", "title ==[c] 'straße'",
        "title IN {'a', 'b*'}", "title IN[cd] {'AB', nil}", "NOT title IN {'a'}", "title IN 'zebra crossing'",
        "'zebra' IN title", "title BETWEEN {'a', 'c'}", "pages == 3", "pages == 3.0", "pages != 3", "pages > 2.5",
        "NOT pages > 2", "pages BETWEEN {1, 3}", "NOT pages BETWEEN {1, 3}", "pages IN {1, 2, nil}", "pages IN {}",
        "pages == pages", "pages < weight", "NOT pages < weight", "pages == weight", "pages != weight", "isOpen == YES",
        "isOpen == FALSE", "weight > -0.5", "weight == CAST('0.5', 'NSDecimalNumber')", "price == 0.5", "price != 1",
        "price > CAST('0.5', 'NSDecimalNumber')", "NOT price <= 1", "price IN {0.5, 1, nil}", "price == nil",
        "price BETWEEN {0.5, 1.5}", "price == weight", "price < pages", "published == CAST(1, 'NSDate')",
        "published > CAST(0, 'NSDate')", "published < now()", "published + 1 == CAST(2, 'NSDate')",
        "number == CAST('01000000-0000-0000-0000-000000000000', 'NSUUID')",
        "number > CAST('00000000-0000-0000-0000-000000000000', 'NSUUID')", "author == nil", "author != nil",
        "author.name == 'a'", "author.name != 'a'", "author.name == nil", "NOT author.name CONTAINS[cd] 'a'",
        "author.born > CAST(100, 'NSDate')", "author.books.@count > 2", "tags.@count == 0", "tags.@count > 1",
        "ANY tags.label == 'a'", "ANY tags.label == nil", "NONE tags.label CONTAINS[cd] 'a'", "ALL tags.label != nil",
        "NOT ANY tags.label BEGINSWITH 'a'", "ALL tags.label > 'a'", "ANY tags.books.title == 'a'",
        "ANY author.books.pages > 4", "ALL author.books.tags.label != 'a'", "author.books.@max.pages > 3",
        "author.books.@min.title == ''", "author.books.@sum.pages > 6", "author.books.pages.@avg < 3",
        "SUBQUERY(tags, $t, $t.label CONTAINS[c] 'a').@count > 0",
        "SUBQUERY(tags, $t, SUBQUERY($t.books, $b, $b.pages > 3 AND $b.title != title).@count > 1).@count > 0",
        "pages + 1 == 4", "pages * 2 > weight * 4", "pages / 2 == 1", "pages / 0 == nil", "abs(weight) == 1",
        "length(title) > 1", "uppercase(title) == 'STRASSE'", "canonical:(title) == 'ab'", "modulus:by:(pages, 2) == 0",
        "TERNARY(pages > 2, title, author.name) == 'a'", "pages IN {1, weight}", "title == author.name",
        "title != author.name", "author == SELF.author", "TRUEPREDICATE", "NOT FALSEPREDICATE",
        "author.books.tags.@count > 3", "tags.label.@count > 1", "SUBQUERY(tags.books, $b, $b.pages > 3).@count > 1",
        "SUBQUERY(tags, $t, $t.label != nil).books.@count > 4", "SUBQUERY(author.books, $b, $b.pages > 1).@sum.pages > 3",
        "SUBQUERY(SUBQUERY(tags, $t, $t.label != nil), $u, $u.books.@count > 2).@count > 0",
        "ANY SUBQUERY(tags, $t, $t.books.@count > 3).label == 'a'", "'a' IN tags.@distinctUnionOfObjects.label",
        "ANY tags.@unionOfObjects.label == 'a'", "author.books.@sum.price > 1", "author.books.price.@max > 1",
        "author.books.@avg.price < 1", "stddev:(author.books.pages) > 1", "median:(author.books.pages) > 2",
        "count:(tags) > 1", "count:(SUBQUERY(tags, $t, $t.label == 'a')) == 0", "sum:(author.books.pages) > 5",
        "FUNCTION(title, 'hasPrefix:', 'a') == YES", "FUNCTION(title, 'localizedStandardContainsString:', 'Ä') == NO",
        "entity.name == 'Comic'", "entity.name != 'Comic'", "author.entity.name == 'Author'", "author.entity.name == nil",
        "indexed:by:(pages, 'x') > 2", "noindex:(pages) > 2", "TERNARY(pages > 2, price, pages) > 1",
        "number IN {CAST('01000000-0000-0000-0000-000000000000', 'NSUUID'), nil}",
        "pages > 1 AND (title == 'a' OR NOT author.name == 'a') AND NOT (isOpen == YES OR weight == nil)",
    ]

    @Test(arguments: [1, 2, 3] as [UInt64])
    func theStoreAndMemoryFindTheSameRows(seed: UInt64) throws {
        let world = try World(seed: seed)
        var telling = 0
        for format in Self.formats {
            let predicate = try PredicateKit.Predicate(format: format)
            let found = try world.inStore(predicate, "Book")
            #expect(try found == world.inMemory(predicate, "Book"), "\(format)")
            if (1..<24).contains(found.count) { telling += 1 }
            let opposite = PredicateKit.Predicate.not(predicate)
            #expect(try world.inStore(opposite, "Comic") == world.inMemory(opposite, "Comic"), "NOT \(format)")
        }
        // Equal results of no rows or all rows would prove little.
        #expect(telling > Self.formats.count * 3 / 4)
    }

    @Test func randomTreesFindTheSameRowsInBothPlaces() throws {
        let world = try World(seed: 4)
        var random = SeededRandom(seed: 99)
        let leaves = try Self.formats.map { try PredicateKit.Predicate(format: $0) }
        func tree(_ depth: Int) -> PredicateKit.Predicate {
            let leaf = leaves[Int.random(in: 0..<leaves.count, using: &random)]
            guard depth > 0 else { return leaf }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return .and((0..<2).map { _ in tree(depth - 1) })
            case 1: return .or((0..<2).map { _ in tree(depth - 1) })
            case 2: return .not(tree(depth - 1))
            default: return leaf
            }
        }
        for _ in 0..<150 {
            let predicate = tree(3)
            let (inStore, inMemory) = (try world.inStore(predicate, "Book"), try world.inMemory(predicate, "Book"))
            if inStore != inMemory { Issue.record("\(predicate.formatDescription): \(inStore) \(inMemory)") }
        }
    }

    @Test func objectsInAPredicateAreLookedUpByTheirKeys() throws {
        let world = try World(seed: 5)
        let author = try #require(
            world.witnesses.values.first { $0.row.key.entityIndex == world.model.index("Author") })
        let tag = try #require(world.witnesses.values.first { $0.row.key.entityIndex == world.model.index("Tag") })
        let book = try #require(world.witnesses.values.first { $0.row.key.entityIndex == world.model.index("Book") })
        func object(_ witness: Witness) -> FormatArgument { .value(.object(PredicateObject(witness))) }
        let list = FormatArgument.value(.list([book, author].map { .object(PredicateObject($0)) }))
        let predicates: [(String, [FormatArgument])] = [
            ("author == %@", [object(author)]), ("author != %@", [object(author)]), ("tags CONTAINS %@", [object(tag)]),
            ("NOT tags CONTAINS %@", [object(tag)]), ("%@ IN tags", [object(tag)]), ("ANY tags == %@", [object(tag)]),
            ("SELF == %@", [object(book)]), ("SELF IN %@", [list]), ("objectID == %@", [object(book)]),
            ("author IN %@", [list]), ("author == %@", [object(book)]), ("author.books CONTAINS %@", [object(book)]),
            ("SUBQUERY(tags, $t, $t == %@).@count > 0", [object(tag)]),
        ]
        for (format, arguments) in predicates {
            let predicate = try PredicateKit.Predicate(format: format, arguments)
            #expect(try world.inStore(predicate, "Book") == world.inMemory(predicate, "Book"), "\(format)")
        }
    }

    @Test func longListsAreOneArgument() throws {
        let world = try World(seed: 6)
        let numbers = PredicateValue.list((0..<100_000).map { .int($0 * 2) })
        let words = PredicateValue.list((0..<1_000).map { .string("w\($0)\"\\") } + [.string("a"), .string("Äb")])
        let ids = PredicateValue.list(
            (0..<50_000).map { index in
                .uuid(UUID(uuid: (UInt8(index % 2), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(index / 512), UInt8(index % 256), 0, 0)))
            })
        let fractions = PredicateValue.list((0..<40_000).map { .double(Double($0) - 0.5) } + [.int(1)])
        let dates = PredicateValue.list((0..<40_000).map { .date(Double($0) * 2 + 1) })
        let decimals = PredicateValue.list((0..<20_000).map { .decimal(Decimal($0 * 2 + 1) / 2) } + [.int(1), .double(2), .null])
        var matchCount = 0
        for (format, list) in [
            ("pages IN %@", numbers), ("title IN %@", words), ("title IN[cd] %@", words), ("number IN %@", ids),
            ("weight IN %@", fractions), ("NOT weight IN %@", fractions), ("published IN %@", dates), ("price IN %@", decimals),
            ("NOT price IN %@", decimals), ("weight IN %@", decimals), ("pages IN %@", decimals),
        ] {
            let predicate = try PredicateKit.Predicate(format: format, [.value(list)])
            let found = try world.inStore(predicate, "Book")
            #expect(try found == world.inMemory(predicate, "Book"), "\(format)")
            matchCount += found.count
        }
        #expect(matchCount > 20)
    }

    /// SQLite limits the depth of an expression to 1,000 levels, by default.
    @Test func longDisjunctionsAndConjunctionsRun() throws {
        let world = try World(seed: 8)
        let tests = try (0..<3_000).map { try PredicateKit.Predicate(format: "pages == \($0 * 2)") }
        let disjunction = PredicateKit.Predicate.or(tests)
        let conjunction = PredicateKit.Predicate.and(tests.map { .not($0) })
        // As apps add one condition after the other.
        let pairs = tests.prefix(500).reduce(PredicateKit.Predicate.or([])) { .or([$0, $1]) }
        for predicate in [disjunction, conjunction, .not(disjunction), .not(conjunction), pairs, .not(pairs)] {
            let found = try world.inStore(predicate, "Book")
            #expect(try found == world.inMemory(predicate, "Book"))
            #expect(!found.isEmpty)
        }
    }

    @Test(arguments: [
        "tags.label == 'a'", "tags == nil", "nothing == 1",
        "ANY title == 'a'", "tags.@count.x > 1", "author > nil AND author > author", "title MATCHES '['",
        "SUBQUERY(tags, $t, $t.label == 'a') == nil", "random() > 0", "title == $x",
        "tags.@distinctUnionOfObjects.label.@count > 1", "tags[0].label == 'a'", "entity.isAbstract == 1",
        "SUBQUERY(title, $t, $t == 'a').@count > 0", "tags.label UNION {'a'} == nil", "ANYKEY == 1",
        "FUNCTION(title, 'capitalizedString') == 'A'", "author < author", "tags.label.@sum > 1",
    ])
    func whatCannotBeSQLIsRefusedWithAReason(format: String) throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let query = StoreQuery(entity: model.index("Book"), predicate: try PredicateKit.Predicate(format: format))
        let error = #expect(throws: StoreError.self) { try store.read { try $0.count(query) } }
        #expect(error?.code == .unsupportedPredicate)
        #expect(error?.detail.isEmpty == false)
    }

    @Test func rowsAreSortedAndCut() throws {
        let world = try World(seed: 7)
        var query = StoreQuery(entity: world.model.index("Book"))
        query.sort = [
            SortKey(keyPath: ["author", "name"], ascending: false),
            SortKey(keyPath: ["title"], options: .caseInsensitive),
        ]
        let all = try world.store.read { try $0.fetchKeys(query) }
        func order(_ a: RowKey, _ b: RowKey) -> Int {
            let values = [a, b].map { world.witness($0) ?? .null }
            let names = values.map { $0.value(at: ["author", "name"]) }
            let titles = values.map { $0.value(at: ["title"]) }
            let byName = -PredicateValue.sortOrder(names[0], names[1])
            return byName != 0 ? byName : PredicateValue.sortOrder(titles[0], titles[1], .caseInsensitive)
        }
        #expect(all.count == 24)
        #expect(zip(all, all.dropFirst()).allSatisfy { order($0, $1) <= 0 })
        query.limit = 5
        query.offset = 3
        let (keys, rows, count) = try world.store.read {
            (try $0.fetchKeys(query), try $0.fetch(query), try $0.count(query))
        }
        #expect(keys == Array(all[3..<8]))
        #expect(rows.map(\.key) == keys)
        #expect(count == 5)
        query.includesSubentities = false
        query.limit = nil
        query.offset = 0
        let books = all.filter { $0.entityIndex == world.model.index("Book") }
        #expect(try world.store.read { try $0.fetchKeys(query) } == books)
        #expect(books.count < 24)
    }

    @Test(arguments: TextCollation.allCases) func textIsSortedByEachCollationAsInMemory(_ collation: TextCollation) throws {
        let world = try World(seed: 8)
        var query = StoreQuery(entity: world.model.index("Book"))
        query.sort = [SortKey(keyPath: ["title"], ascending: false, collation: collation)]
        let titles = try world.store.read { try $0.fetchKeys(query) }.map { world.witness($0)?.value(at: ["title"]) ?? .null }
        #expect(titles.count == 24)
        #expect(zip(titles, titles.dropFirst()).allSatisfy { query.sort[0].order($0, $1) >= 0 })
        #expect(Set(titles).count > 5)
    }

    @Test func aPrefixOfTextIsLookedUpInAnIndex() throws {
        let model = try Library.model()
        let store = try Library.store(model: model)
        let plan = try store.lines("EXPLAIN QUERY PLAN SELECT Z_PK FROM ZAUTHOR WHERE ZNAME >= 'a' AND ZNAME < 'b'")
        #expect(plan.joined().contains("Z_Author_byName"))
    }
}
