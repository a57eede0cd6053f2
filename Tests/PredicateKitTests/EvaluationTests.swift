// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import Testing

@Suite struct EvaluationTests {
    static let object = PredicateValue(
        [
            "name": "Ärger", "count": 3, "half": 0.5, "flag": true, "price": Decimal(2), "nothing": NSNull(),
            "day": Date(timeIntervalSinceReferenceDate: 100),
            "tags": [["label": "a", "n": 1], ["label": "b", "n": 4]],
            "empty": [Int](), "words": ["x", "yy"], "groups": [["members": [1, 2, 3]], ["members": [4]]],
        ] as [String: Any])

    @Test func numbersBeyondTheRangeOfDecimalsAreOrdered() {
        let half = PredicateValue.decimal(Decimal(1) / 2)
        #expect(PredicateValue.order(.double(1e300), half) == 1)
        #expect(PredicateValue.order(half, .double(.infinity)) == -1)
        #expect(!PredicateValue.areEqual(.double(-1e300), half))
        #expect(PredicateValue.double(1e300).canonical != PredicateValue.double(1e299).canonical)
    }

    static let truths = [
        "name ==[cd] 'arger'", "name BEGINSWITH[c] 'är'", "NOT name CONTAINS 'X'", "count == 3.0", "flag == 1",
        "count > half",
        "price == count - 1", "nothing == nil", "nothing != 5", "missing.key == nil", "NOT nothing < 5", "day < now()",
        "day == CAST(100, 'NSDate')", "ANY tags.label == 'a'", "ALL tags.n > 0", "NONE tags.n > 9",
        "NOT ANY empty == 1",
        "ALL empty == 1", "NONE empty == 1", "NOT ANY nothing == 1", "tags.@count == 2", "nothing.@count == 0",
        "tags.@sum.n == 5",
        "tags.n.@avg == 2.5", "tags.@max.label == 'b'", "empty.@sum.self == 0", "empty.@min.self == nil",
        "words CONTAINS 'yy'",
        "'x' IN words", "SUBQUERY(tags, $t, $t.n > 1).@count == 1", "words[1] == 'yy'", "words[LAST] == 'yy'",
        "words[9] == nil",
        "count IN {1, 2, 3}", "name IN 'der Ärger'", "count BETWEEN {3, 4}", "NOT count BETWEEN {'a', 'b'}",
        "count / 2 == 1",
        "half / 2 == 0.25", "count / 0 == nil", "modulus:by:(count, 2) == 1", "length(name) == 5",
        "uppercase(name) == 'ÄRGER'",
        "9223372036854775807 + 1 > 9223372036854775807", "9007199254740993 != 9007199254740992.0",
        "median({3, 1, 2}) == 2",
        "TERNARY(flag == YES, 'y', 'n') == 'y'", "'A' < 'a'", "name LIKE '?rg*'", "'a*b' LIKE 'a\\\\*b'",
        "NOT 'axb' LIKE 'a\\\\*b'",
        "'ab' MATCHES 'a.'", "NOT 'abc' MATCHES 'a.'", "'σς' ==[c] 'ΣΣ'", "$v == 7", "NOT count == 'three'",
        "NOT count < 'three'",
        "CAST('0.1', 'NSDecimalNumber') == 0.1", "price ** 2 == 4.0", "name == name AND TRUEPREDICATE",
        "SELF.count == 3", "groups.@max.members.@count == 3", "groups.@sum.members.@count == 4",
        "groups.members.@count == 4", "tags.@unionOfObjects.n.@sum == 5", "tags.@distinctUnionOfObjects.label.@count == 2",
        // Options of a locale have no effect: in Turkish 'I' is the capital of another letter.
        "'a' ==[l] 'a'", "'I' ==[cl] 'i'", "'ä' ==[cdl] 'A'",
        // Values of different kinds have no order.
        "NOT name > 1", "NOT name <= 1", "NOT flag > 'a'", "NOT day < 'a'", "day != 'a'",
        "CAST(day, 'NSString') == '2001-01-01 00:01:40 +0000'", "CAST(half, 'NSString') == '0.5'", "CAST(price, 'NSString') == '2'",
        "CAST(4.0, 'NSString') == '4'", "CAST(day, 'NSUUID') == nil", "CAST(name, 'NSDate') == nil", "CAST(name, 'NSData') == nil",
    ]

    @Test(arguments: truths) func predicatesEvaluateInMemory(_ format: String) throws {
        let tree = try PredicateKit.Predicate(format: format)
        #expect(try tree.evaluate(on: Self.object, variables: ["v": .int(7)], now: { 1e9 }))
    }

    @Test(arguments: [("a == $x", PredicateFailure.Code.unboundVariable), ("'a' MATCHES '('", .invalidPattern)])
    func unevaluatablePredicatesThrow(format: String, code: PredicateFailure.Code) throws {
        let tree = try PredicateKit.Predicate(format: format)
        let error = #expect(throws: PredicateFailure.self) { try tree.evaluate(on: Self.object, now: { 0 }) }
        #expect(error?.code == code)
    }

    @Test func anUnreadablePatternOfLikeTakesNoMoreThanTextTimesPattern() throws {
        let text = PredicateValue.string(String(repeating: "a", count: 2_000))
        let tree = try PredicateKit.Predicate(format: "SELF LIKE 'a*a*a*a*a*a*a*a*a*a*b'")
        #expect(try !tree.evaluate(on: text, now: { 0 }))
    }
}
