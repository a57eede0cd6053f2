// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// The books of ``Bookshop`` that formats match: in memory, in a store, and among unsaved objects.
@Suite struct PredicateTableTests {
    private static let rows: [(String, String)] = [
        // Comparisons and nil
        ("title == 'Alpha'", "A"), ("title = \"Alpha\"", "A"), ("title != 'Alpha'", "BCDE"), ("title <> 'Alpha'", "BCDE"),
        ("title == ''", "E"), ("title == 'alpha'", ""), ("title ==[c] 'ALPHA'", "A"), ("title ==[d] 'Gamma'", "C"),
        ("title ==[cd] 'gamma'", "C"), ("title ==[dc] 'GAMMA'", "C"), ("title !=[cd] 'gamma'", "ABDE"),
        ("pages == 250", "BE"), ("pages == 250.0", "BE"), ("pages != 250", "ACD"), ("pages > 100", "BCE"), ("pages >= 100", "ABCE"),
        ("pages => 100", "ABCE"), ("pages < 250", "AD"), ("pages <= 250", "ABDE"), ("pages =< 250", "ABDE"), ("250 == pages", "BE"),
        ("0xFA == pages", "BE"), ("pages == 2.5e2", "BE"), ("rating == -1.5", "D"), ("rating > 3.5", "AC"), ("rating < 0", "D"),
        ("sold == 5000000000", "E"), ("sold < 0", "D"), ("sold > pages", "AE"), ("rating == rating", "ABCDE"),
        ("price == 10.5", "A"), ("price == nil", "C"), ("price != nil", "ABDE"), ("price == NULL", "C"), ("price > 5", "AD"),
        ("price < 5", "E"), ("price != 5", "ACDE"), ("NOT price < 5", "ABCD"), ("published == nil", "B"), ("published != nil", "ACDE"),
        ("isOut == YES", "ACE"), ("isOut == NO", "BD"), ("isOut == TRUE", "ACE"), ("isOut == false", "BD"), ("isOut != YES", "BD"),
        ("isOut == 1", "ACE"), ("cover == nil", "ACDE"), ("cover != nil", "B"), ("isbn == nil", "BCDE"),
        // Logic
        ("pages == 250 AND isOut == YES", "E"), ("pages == 250 && isOut == YES", "E"), ("pages == 100 OR pages == 300", "AC"),
        ("pages == 100 || pages == 300", "AC"), ("NOT pages == 250", "ACD"), ("!(pages == 250)", "ACD"), ("NOT NOT pages == 250", "BE"),
        ("NOT (pages == 250 OR isOut == NO)", "AC"), ("pages == 250 OR pages == 100 AND isOut == NO", "BE"),
        ("(pages == 250 OR pages == 100) AND isOut == YES", "AE"), ("TRUEPREDICATE", "ABCDE"), ("FALSEPREDICATE", ""),
        ("TRUEPREDICATE AND pages == 0", "D"), ("not pages == 250 and title beginswith 'A'", "A"),
        // Text
        ("title BEGINSWITH 'A'", "A"), ("title BEGINSWITH 'a'", ""), ("title BEGINSWITH[c] 'a'", "A"), ("title BEGINSWITH[cd] 'ga'", "C"),
        ("NOT title BEGINSWITH 'A'", "BCDE"), ("title ENDSWITH 'a'", "ABC"), ("title ENDSWITH[c] 'MMA'", "C"),
        ("title CONTAINS 'a'", "ABCD"), ("title CONTAINS 'ä'", "C"), ("title CONTAINS[d] 'gam'", ""), ("title CONTAINS[cd] 'gam'", "C"),
        ("title CONTAINS '*?'", "D"), ("title LIKE 'Alpha'", "A"), ("title LIKE 'A*'", "A"), ("title LIKE '*a'", "ABC"),
        ("title LIKE '?????'", "AC"), ("title LIKE[c] 'alp*'", "A"), ("title LIKE[cd] 'g?mma'", "C"), ("title LIKE '*\\\\*\\\\?'", "D"),
        ("title LIKE '*'", "ABCDE"), ("title MATCHES '[A-Z].*'", "AC"), ("title MATCHES 'Alph'", ""), ("title MATCHES '.*et.*'", "B"),
        ("title MATCHES[c] 'ALPHA|BETA'", "AB"), ("title < 'a'", "ACE"), ("title >= 'beta' AND title <= 'c'", "B"),
        ("title IN {'Alpha', 'beta', 'x'}", "AB"), ("NOT title IN {'Alpha', 'beta'}", "CDE"), ("title IN[cd] {'ALPHA', 'gamma'}", "AC"),
        ("title IN 'Alphabet' AND title != ''", "A"), ("title IN {}", ""),
        // Ranges and lists
        ("pages BETWEEN {100, 250}", "ABE"), ("NOT pages BETWEEN {100, 250}", "CD"), ("price BETWEEN {0, 10.5}", "ABE"),
        ("pages IN {0, 100, 100}", "AD"), ("rating IN {4.5, -1.5}", "ACD"), ("sold IN {0x3E8, 7}", "AC"),
        // Arithmetic and functions
        ("pages + 50 == 300", "BE"), ("pages - 100 == 0", "A"), ("pages * 2 == 500", "BE"), ("pages + rating * 2 == 109", "A"),
        ("(pages + 1) * 2 == 202", "A"), ("-pages == -100", "A"), ("abs(rating) == 1.5", "D"), ("abs:(sold) == 3", "D"),
        ("uppercase(title) == 'ALPHA'", "A"), ("lowercase:(title) == 'alpha'", "A"), ("length(title) == 4", "B"),
        ("modulus:by:(pages, 100) == 50", "BE"), ("published < now()", "ACDE"),
        ("published < CAST(1000, 'NSDate')", "E"), ("published == CAST(1000, \"NSDate\")", "A"),
        // To-one
        ("author.name == 'Ada'", "AB"), ("author.name != 'Ada'", "CDE"), ("NOT author.name == 'Ada'", "CDE"), ("author == nil", "D"),
        ("author != nil", "ABCE"), ("author.born == nil", "CD"), ("author.rank > 1", "CE"), ("author.name CONTAINS[cd] 'e'", "CE"),
        ("author.name BEGINSWITH[cd] 'e'", "C"), ("author.name IN {'Ada', 'zoe'}", "ABE"), ("author.rank * 100 == pages", "A"),
        // To-many
        ("ANY tags.label == 'fiction'", "ACD"), ("SOME tags.label == 'fiction'", "ACD"), ("NONE tags.label == 'fiction'", "BE"),
        ("NOT ANY tags.label == 'fiction'", "BE"), ("ANY tags.label BEGINSWITH[c] 'O'", "AD"), ("ANY tags.label IN {'new', 'old'}", "ADE"),
        ("ANY author.books.pages > 200", "ABCE"), ("tags.@count == 0", "B"), ("tags.@count > 1", "AD"),
        ("tags.@count == tags.@count", "ABCDE"),
        ("author.books.@count == 2", "AB"), ("author.books.@sum.pages == 350", "AB"), ("author.books.@max.pages == 300", "C"),
        ("author.books.@min.pages < 250", "AB"), ("author.books.@avg.pages == 175", "AB"), ("tags.@unionOfObjects.label.@count == 2", "A"),
        ("CAST(published, 'NSString') BEGINSWITH '2001-01-01 00:16'", "A"),
        ("CAST(published, 'NSString') CONTAINS '1500'", ""), ("CAST(isbn, 'NSString') BEGINSWITH '0102'", "A"),
        ("CAST(rating, 'NSString') == '3'", "B"), ("CAST(title, 'NSDate') == nil", "ABCDE"), ("CAST(title, 'NSUUID') != nil", ""),
        ("SUBQUERY(tags, $t, $t.label == 'old').@count > 0", "AD"), ("SUBQUERY(tags, $t, $t.label == 'old').@count == 0", "BCE"),
        ("SUBQUERY(tags, $t, $t.label == 'old' OR $t.label == 'new').@count == 2", "D"),
        ("SUBQUERY(tags, $t, SUBQUERY($t.books, $b, $b.pages == 300).@count > 0).@count > 0", "ACD"),
        ("SUBQUERY(tags, $t, $t.books.@count == 2).@count > 0", "ADE"), ("'new' IN tags.label", "DE"),
        // Literals, names and layout
        ("title=='Alpha'", "A"), ("  title   ==\n 'Alpha' ", "A"), ("SELF.title == 'Alpha'", "A"), ("self.author.name == 'zoe'", "E"),
        ("#title == 'Alpha'", "A"), ("title == \"\\u0041lpha\"", "A"), ("title == 'beta' or title == 'Alpha'", "AB"),
        ("noindex:(title) == 'Alpha'", "A"), ("'a' == 'a'", "ABCDE"), ("1 > 2", ""),
    ]

    private static func predicates() -> [(NSPredicate, String, String)] { rows.map { (NSPredicate(format: $0.0), $0.1, $0.0) } }

    @Test func predicatesFilterInMemory() throws {
        let shop = try Bookshop(isSaved: true)
        for (predicate, expected, format) in Self.predicates() { #expect(shop.filtered(predicate) == expected, "\(format)") }
    }

    @Test func predicatesFetchFromAStore() throws {
        let shop = try Bookshop(isSaved: true)
        for (predicate, expected, format) in Self.predicates() { #expect(try shop.fetched(predicate) == expected, "\(format)") }
    }

    @Test func predicatesFetchUnsavedObjects() throws {
        let shop = try Bookshop(isSaved: false)
        for (predicate, expected, format) in Self.predicates() { #expect(try shop.fetched(predicate) == expected, "\(format)") }
    }

    @Test func aNegatedPredicateFindsTheOtherObjects() throws {
        let shop = try Bookshop(isSaved: true)
        for (predicate, expected, format) in Self.predicates() {
            let opposite = NSCompoundPredicate(notPredicateWithSubpredicate: predicate)
            let others = "ABCDE".filter { !expected.contains($0) }
            #expect(try shop.fetched(opposite) == others, "NOT \(format)")
            #expect(try shop.count(predicate) == expected.count, "\(format)")
        }
    }

    @Test func aPredicateIsParsedFromItsDescription() throws {
        let shop = try Bookshop(isSaved: true)
        for (predicate, expected, format) in Self.predicates() {
            let again = NSPredicate(format: predicate.description)
            #expect(shop.filtered(again) == expected, "\(format) as \(predicate.description)")
        }
    }
}
