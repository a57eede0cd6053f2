// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite struct PredicateArgumentTests {
    private func expect(
        _ shop: Bookshop, _ predicate: NSPredicate, _ letters: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(shop.filtered(predicate) == letters, "\(predicate)", sourceLocation: location)
        #expect(try shop.fetched(predicate) == letters, "\(predicate)", sourceLocation: location)
    }

    @Test func formatArgumentsAreValuesAndKeyPaths() throws {
        let shop = try Bookshop(isSaved: true)
        try expect(shop, NSPredicate(format: "title == %@", "Alpha"), "A")
        try expect(shop, NSPredicate(format: "%K == %@", "title", "Alpha"), "A")
        try expect(shop, NSPredicate(format: "%K == %@", "author.name", "Ada"), "AB")
        try expect(shop, NSPredicate(format: "%K BEGINSWITH[c] %@ AND pages > %d", "title", "b", 100), "B")
        try expect(shop, NSPredicate(format: "pages == %d", 250), "BE")
        try expect(shop, NSPredicate(format: "pages == %i", Int32(250)), "BE")
        try expect(shop, NSPredicate(format: "sold == %lld", 5_000_000_000 as Int64), "E")
        try expect(shop, NSPredicate(format: "pages == %ld", 250), "BE")
        try expect(shop, NSPredicate(format: "rating == %f", -1.5), "D")
        try expect(shop, NSPredicate(format: "pages == %@", NSNumber(value: 250)), "BE")
        try expect(shop, NSPredicate(format: "isOut == %@", NSNumber(value: true)), "ACE")
        try expect(shop, NSPredicate(format: "price == %@", NSDecimalNumber(string: "99.99")), "D")
        try expect(shop, NSPredicate(format: "published >= %@", Bookshop.date(1500) as NSDate), "CD")
        try expect(shop, NSPredicate(format: "isbn == %@", Bookshop.number as any CVarArg), "A")
        try expect(shop, NSPredicate(format: "cover == %@", Data([1, 2]) as NSData), "B")
        try expect(shop, NSPredicate(format: "title IN %@", ["Alpha", "beta"]), "AB")
        try expect(shop, NSPredicate(format: "title IN %@", NSSet(array: ["Alpha", "beta"])), "AB")
        try expect(shop, NSPredicate(format: "NOT (pages IN %@)", [250, 300]), "AD")
        try expect(shop, NSPredicate(format: "pages BETWEEN %@", [100, 250]), "ABE")
        try expect(shop, NSPredicate(format: "pages BETWEEN {%d, %d}", 100, 250), "ABE")
        try expect(shop, NSPredicate(format: "title IN {%@, %@}", "beta", "Alpha"), "AB")
        try expect(shop, NSPredicate(format: "%K.@count > %d", "tags", 1), "AD")
        try expect(shop, NSPredicate(format: "ANY %K == %@", "tags.label", "old"), "AD")
        try expect(shop, NSPredicate(format: "SUBQUERY(%K, $t, $t.%K == %@).@count > 0", "tags", "label", "old"), "AD")
        try expect(shop, NSPredicate(format: "%K == nil", "price"), "C")
        try expect(shop, NSPredicate(format: "price == %@", NSNull()), "C")
        try expect(shop, NSPredicate(format: "%@ == title", "Alpha"), "A")
        try expect(shop, NSPredicate(format: "title == '%@'", "Alpha"), "")
        try expect(shop, NSPredicate(format: "title == %@ OR title == %@", argumentArray: ["Alpha", "beta"]), "AB")
        try expect(shop, NSPredicate(format: "pages == 0", argumentArray: nil), "D")
    }

    @Test func predicatesCompareObjectsAndObjectIDs() throws {
        let shop = try Bookshop(isSaved: true)
        let ada = try #require(shop.authors["Ada"])
        let (old, new) = (try #require(shop.tags["old"]), try #require(shop.tags["new"]))
        let (a, b) = (try #require(shop.books["A"]), try #require(shop.books["B"]))
        try expect(shop, NSPredicate(format: "author == %@", ada), "AB")
        try expect(shop, NSPredicate(format: "author != %@", ada), "CDE")
        try expect(shop, NSPredicate(format: "author == %@", ada.objectID), "AB")
        try expect(shop, NSPredicate(format: "author IN %@", [ada]), "AB")
        try expect(shop, NSPredicate(format: "NOT (author IN %@)", [ada]), "CDE")
        try expect(shop, NSPredicate(format: "SELF == %@", a), "A")
        try expect(shop, NSPredicate(format: "SELF IN %@", [a, b]), "AB")
        try expect(shop, NSPredicate(format: "NOT (SELF IN %@)", [a, b]), "CDE")
        try expect(shop, NSPredicate(format: "self == %@", a.objectID), "A")
        try expect(shop, NSPredicate(format: "SELF IN %@", [a.objectID, b.objectID]), "AB")
        try expect(shop, NSPredicate(format: "tags CONTAINS %@", old), "AD")
        try expect(shop, NSPredicate(format: "NOT tags CONTAINS %@", old), "BCE")
        try expect(shop, NSPredicate(format: "%@ IN tags", old), "AD")
        try expect(shop, NSPredicate(format: "ANY tags == %@", old), "AD")
        try expect(shop, NSPredicate(format: "ANY tags IN %@", [old, new]), "ADE")
        try expect(shop, NSPredicate(format: "NONE tags IN %@", [old, new]), "BC")
        try expect(shop, NSPredicate(format: "SUBQUERY(tags, $t, $t IN %@).@count == 2", [old, new]), "D")
        try expect(shop, NSPredicate(format: "author.books CONTAINS %@", b), "AB")
    }

    @Test func predicatesAreCombined() throws {
        let shop = try Bookshop(isSaved: true)
        let long = NSPredicate(format: "pages >= 250")
        let out = NSPredicate(format: "isOut == YES")
        try expect(shop, NSCompoundPredicate(andPredicateWithSubpredicates: [long, out]), "CE")
        try expect(shop, NSCompoundPredicate(orPredicateWithSubpredicates: [long, out]), "ABCE")
        try expect(shop, NSCompoundPredicate(notPredicateWithSubpredicate: long), "AD")
        try expect(shop, NSCompoundPredicate(type: .and, subpredicates: [long, out]), "CE")
        try expect(shop, NSCompoundPredicate(andPredicateWithSubpredicates: []), "ABCDE")
        try expect(shop, NSCompoundPredicate(orPredicateWithSubpredicates: []), "")
        try expect(shop, NSPredicate(value: true), "ABCDE")
        try expect(shop, NSPredicate(value: false), "")
        try expect(shop, NSCompoundPredicate(andPredicateWithSubpredicates: [out, NSPredicate(value: true)]), "ACE")
        let nested = NSCompoundPredicate(orPredicateWithSubpredicates: [
            NSCompoundPredicate(andPredicateWithSubpredicates: [long, out]), NSPredicate(format: "title == 'Alpha'"),
        ])
        try expect(shop, nested, "ACE")
        let comparison = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "author.name"), rightExpression: NSExpression(forConstantValue: "A"),
            modifier: .direct, type: .beginsWith, options: [.caseInsensitive])
        try expect(shop, comparison, "AB")
        let any = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "tags.label"), rightExpression: NSExpression(forConstantValue: ["new", "old"]),
            modifier: .any, type: .in, options: [])
        try expect(shop, any, "ADE")
        try expect(shop, NSCompoundPredicate(andPredicateWithSubpredicates: [comparison, any]), "A")
    }

    @Test func variablesAreSubstituted() throws {
        let shop = try Bookshop(isSaved: true)
        let template = NSPredicate(format: "pages >= $least AND author.name == $name")
        try expect(shop, template.withSubstitutionVariables(["least": 200, "name": "Ada"]), "B")
        try expect(shop, template.withSubstitutionVariables(["least": 0, "name": "zoe"]), "E")
        try expect(shop, NSPredicate(format: "price == $p").withSubstitutionVariables(["p": NSNull()]), "C")
        try expect(shop, NSPredicate(format: "title IN $list").withSubstitutionVariables(["list": ["Alpha", "beta"]]), "AB")
        let inner = NSPredicate(format: "SUBQUERY(tags, $t, $t.label == $label).@count > 0")
        try expect(shop, inner.withSubstitutionVariables(["label": "old"]), "AD")
        let a = try #require(shop.books["A"])
        let isShort = shop.context.performAndWait {
            NSPredicate(format: "pages < $most").evaluate(with: a, substitutionVariables: ["most": 101])
        }
        #expect(isShort)
    }

    @Test func predicatesFilterCollections() throws {
        let words = ["apple", "Banana", "cherry", "Äpfel"] as NSArray
        #expect(words.filtered(using: NSPredicate(format: "SELF BEGINSWITH[cd] 'a'")) as? [String] == ["apple", "Äpfel"])
        #expect(words.filtered(using: NSPredicate(format: "SELF CONTAINS 'an'")) as? [String] == ["Banana"])
        #expect(words.filtered(using: NSPredicate(format: "SELF.length > 5")) as? [String] == ["Banana", "cherry"])
        let numbers = NSSet(array: [1, 2, 3, 4])
        #expect(numbers.filtered(using: NSPredicate(format: "SELF > 2")) as? Set<Int> == [3, 4])
        let people = [["name": "Ada", "age": 36], ["name": "Bob", "age": 7]] as [NSDictionary]
        #expect(people.filter { NSPredicate(format: "age < 10").evaluate(with: $0) }.count == 1)
        #expect(NSPredicate { value, _ in value as? Int == 3 }.evaluate(with: 3))
    }

    @Test func predicatesAndExpressionsAreArchived() throws {
        let predicates = [
            NSPredicate(format: "a == 1 AND (b CONTAINS[cd] 'x\"y' OR NOT c IN {1, 2.5, nil})"),
            NSPredicate(format: "SUBQUERY(tags, $t, $t.label == $x).@count > 0"), NSPredicate(format: "ALL a.b > -3"),
            NSPredicate(format: "d == %@", Date(timeIntervalSinceReferenceDate: 123.25) as NSDate), NSPredicate(format: "TRUEPREDICATE"),
        ]
        for predicate in predicates {
            let data = try NSKeyedArchiver.archivedData(withRootObject: predicate, requiringSecureCoding: true)
            let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPredicate.self, from: data)
            again?.allowEvaluation()
            #expect(again?.description == predicate.description)
            #expect(again == predicate)
        }
        let expression = NSExpression(format: "max:(tags.rank) + 2 * (a - $b)")
        let data = try NSKeyedArchiver.archivedData(withRootObject: expression, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSExpression.self, from: data) == expression)
    }

    @Test func compoundsAndComparisonsBuiltInCodeAreArchived() throws {
        let comparison = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "a.b"), rightExpression: NSExpression(forConstantValue: "x"), modifier: .any,
            type: .contains, options: [.caseInsensitive])
        let not = NSCompoundPredicate(notPredicateWithSubpredicate: comparison)
        let compound = NSCompoundPredicate(orPredicateWithSubpredicates: [
            not, NSPredicate(value: false), NSPredicate(format: "c == %@", NSNull()),
        ])
        for predicate in [comparison, not, compound] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: predicate, requiringSecureCoding: true)
            let again = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPredicate.self, from: data))
            again.allowEvaluation()
            #expect(again == predicate)
            #expect(again.hash == predicate.hash)
            #expect(type(of: again) == type(of: predicate))
        }
    }

    @Test func nsNullIsPrintedAndComparedAsNil() throws {
        let predicate = NSPredicate(format: "author == %@ OR title IN %@", NSNull(), ["x"])
        #expect(predicate.description == "author == <null> OR title IN {\"x\"}")
        #expect(NSPredicate(format: predicate.description) == predicate)
        #expect(NSPredicate(format: "a == $x").withSubstitutionVariables(["x": NSNull()]).description == "a == <null>")
        #expect(NSExpression(forConstantValue: NSNull()).description == "<null>")
        #expect(NSExpression(forConstantValue: nil).description == "nil")
        #expect(NSExpression(format: "<null>").constantValue is NSNull)
        #expect(NSPredicate(format: "a == %@", NSNull()).evaluate(with: ["b": 1] as NSDictionary))
        #expect(!NSPredicate(format: "a != %@", NSNull()).evaluate(with: ["b": 1] as NSDictionary))
        let shop = try Bookshop(isSaved: true)
        for (format, same) in [
            ("author == %@", "author == nil"), ("price != %@", "price != nil"), ("%@ == author.born", "nil == author.born"),
        ] {
            let expected = try shop.fetched(NSPredicate(format: same))
            #expect(try shop.fetched(NSPredicate(format: format, NSNull())) == expected)
        }
        #expect(throws: PredicateFormatError.self) { try NSPredicate(parsing: "a == <nothing>") }
    }

    @Test func aStoreRejectsUnsupportedPredicates() throws {
        let shop = try Bookshop(isSaved: true)
        let block = NSPredicate { _, _ in true }
        for predicate in [
            block, NSCompoundPredicate(notPredicateWithSubpredicate: block), NSPredicate(format: "nothing == 1"),
            NSPredicate(format: "author.nothing == 1"), NSPredicate(format: "tags.label == 'x'"),
        ] {
            // Apple raises exceptions for these, which a Swift test could not catch.
            #expect(throws: CocoaError.self) { try shop.fetched(predicate) }
        }
    }
}
