// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import Testing

import class PredicateKit.NSCompoundPredicate

@Suite struct FoundationTests {
    @Test func aPredicateMadeFromAFormatEvaluatesObjects() {
        let people: [[String: Any]] = [["name": "Ada", "age": 36], ["name": "Bob", "age": 7]]
        let predicate = NSPredicate(format: "name BEGINSWITH[c] %@ AND age > %d", "a", 10)
        #expect(people.map { predicate.evaluate(with: $0) } == [true, false])
        #expect(NSPredicate(format: "SELF CONTAINS 'b'").evaluate(with: "abc"))
        #expect(NSPredicate(format: "SELF > $limit").evaluate(with: 5, substitutionVariables: ["limit": 4]))
        #expect(NSPredicate(format: "age == %i", argumentArray: [7]).evaluate(with: people[1] as NSDictionary))
    }

    private class Person {
        let name = "Ada"
        var age = 36
    }

    private final class Pupil: Person {
        let grade = 3
    }

    /// Linux has no key-value coding.
    @Test func objectsAnswerWithTheirStoredProperties() {
        #expect(NSPredicate(format: "name == 'Ada' AND age > 30 AND grade == 3").evaluate(with: Pupil()))
        #expect(NSPredicate(format: "grade == nil").evaluate(with: Person()))
    }

    @Test func everyKindOfArgumentIsTaken() throws {
        let date = Date(timeIntervalSinceReferenceDate: 5)
        let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        let list: [any CVarArg] = [
            date, id, Data([1, 2]), ["a", "b"], NSNull(), true, Int32(3), 2.5 as Float, Decimal(4), NSNumber(value: 6),
            "s",
            NSSet(array: [1]), Set([2]), NSDecimalNumber(value: 1), NSNumber(value: 0.5), date as NSDate, id as NSUUID,
        ]
        let values = list.map { argument -> PredicateValue? in
            guard case .comparison(let comparison)? = parsed(NSPredicate(format: "a == %@", argument)),
                case .constant(let value) = comparison.right
            else { return nil }
            return value
        }
        #expect(
            values == [
                .date(5), .uuid(id), .data(Data([1, 2])), .list([.string("a"), .string("b")]), PredicateValue(constant: NSNull()),
                .bool(true),
                .int(3),
                .double(2.5), .decimal(4), .int(6), .string("s"), .list([.int(1)]), .list([.int(2)]), .decimal(1),
                .double(0.5),
                .date(5), .uuid(id),
            ])
        let url = try #require(URL(string: "https://example.org"))
        #expect(
            parsed(NSPredicate(format: "%K == %@", "link", url))
                == (try PredicateKit.Predicate(format: "link == CAST('https://example.org', 'NSURL')")))
    }

    @Test func theTreeComesBackFromCopiesAndCompounds() throws {
        let a = NSPredicate(format: "a == 1")
        let b = NSPredicate(format: "b == $x")
        let copy = try #require(a.copy() as? NSPredicate)
        let compound = NSCompoundPredicate(
            orPredicateWithSubpredicates: [
                NSCompoundPredicate(andPredicateWithSubpredicates: [copy, b]),
                NSCompoundPredicate(notPredicateWithSubpredicate: a),
                NSPredicate(value: false),
            ])
        #expect(parsed(compound)?.formatDescription == "(a == 1 AND b == $x) OR NOT a == 1 OR FALSEPREDICATE")
        #expect(parsed(b.withSubstitutionVariables(["x": 3]))?.formatDescription == "b == 3")
        #expect(parsed(NSPredicate(format: "%@ OR c == 2", a))?.formatDescription == "a == 1 OR c == 2")
        #expect(parsed(NSPredicate(value: true)) == .value(true))
        #expect(parsed(NSPredicate { object, _ in object is String }) == nil)
        #expect(parsed(NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate { _, _ in true })) == nil)
    }

    /// Predicates with equal parts are equal, regardless of their creation.
    @Test func compoundPredicatesPrintCompareAndArchiveByTheirParts() throws {
        let (a, b) = (NSPredicate(format: "a == 1"), NSPredicate(format: "b == 2 OR c == 3"))
        let made: [(NSCompoundPredicate, String)] = [
            (NSCompoundPredicate(andPredicateWithSubpredicates: [a, b]), "a == 1 AND (b == 2 OR c == 3)"),
            (
                NSCompoundPredicate(orPredicateWithSubpredicates: [a, NSCompoundPredicate(andPredicateWithSubpredicates: [b, a])]),
                "a == 1 OR ((b == 2 OR c == 3) AND a == 1)"
            ),
            (NSCompoundPredicate(notPredicateWithSubpredicate: b), "NOT (b == 2 OR c == 3)"),
            (NSCompoundPredicate(andPredicateWithSubpredicates: []), "TRUEPREDICATE"),
            (NSCompoundPredicate(type: .or, subpredicates: []), "FALSEPREDICATE"),
        ]
        for (predicate, format) in made {
            #expect(predicate.description == format)
            #expect(predicate.predicateFormat == format)
            #expect("\(predicate)" == format)
            #expect(predicate == (predicate.copy() as? NSPredicate))
            if predicate.subpredicates.isEmpty { continue }
            let parsed = NSPredicate(format: format)
            #expect(predicate == parsed)
            #expect(parsed == predicate)
            #expect(predicate.hash == parsed.hash)
            let data = try NSKeyedArchiver.archivedData(withRootObject: predicate, requiringSecureCoding: true)
            #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSCompoundPredicate.self, from: data) == predicate)
        }
        #expect(made[0].0 != made[1].0)
        #expect(made[0].0 != NSCompoundPredicate(andPredicateWithSubpredicates: [b, a]))
        #expect(made[0].0.compoundPredicateType == .and)
        #expect(made[0].0.subpredicates == [a, b])
        #expect(made[2].0.evaluate(with: ["b": 1]))
        #expect(!made[2].0.evaluate(with: ["b": 2]))
        let block = NSPredicate { object, _ in object is String }
        #expect(NSCompoundPredicate(andPredicateWithSubpredicates: [block]).evaluate(with: "x"))
        #expect(NSCompoundPredicate(andPredicateWithSubpredicates: [block]) == NSCompoundPredicate(andPredicateWithSubpredicates: [block]))
    }

    @Test func sortDescriptorsKnowTheirKeysAndOrderValues() {
        let descriptors = [
            NSSortDescriptor(key: "team.name", ascending: false), NSSortDescriptor(key: "age", ascending: true),
        ]
        #expect(descriptors.map(\.key) == ["team.name", "age"])
        #expect((descriptors[0].reversedSortDescriptor as? NSSortDescriptor)?.key == "team.name")
        #expect(NSSortDescriptor(keyPath: \NSString.length, ascending: true).key == nil)
        let people: [NSDictionary] = [
            ["team": ["name": "a"], "age": 2], ["team": ["name": "b"], "age": 5], ["age": 1], ["team": ["name": "a"]],
        ]
        let sorted = (people as NSArray).sortedArray(using: descriptors).compactMap { $0 as? NSDictionary }
        #expect(sorted.map { people.firstIndex(of: $0) } == [1, 3, 0, 2])
    }

    @Test func aFormatThatCannotBeReadEndsTheProcess() async {
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "name ==") }
    }
}
