// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite struct ExpressionTests {
    private static var one: NSExpression { NSExpression(forConstantValue: 1) }
    private static var name: NSExpression { NSExpression(forKeyPath: "name") }

    private static var all: [(NSExpression, NSExpression.ExpressionType, String)] {
        let test = NSPredicate(format: "a > 1")
        return [
            (one, .constantValue, "1"), (NSExpression(forConstantValue: "x"), .constantValue, "\"x\""),
            (NSExpression.expressionForEvaluatedObject(), .evaluatedObject, "SELF"),
            (NSExpression(forVariable: "x"), .variable, "$x"), (name, .keyPath, "name"),
            (NSExpression(forKeyPath: "author.name"), .keyPath, "author.name"),
            (NSExpression(forFunction: "sum:", arguments: [name]), .function, "sum:(name)"),
            (NSExpression(forFunction: "now", arguments: []), .function, "now()"),
            (NSExpression(forFunction: "add:to:", arguments: [one, name]), .function, "1 + name"),
            (NSExpression(forAggregate: [one, name]), .aggregate, "{1, name}"),
            (NSExpression(forUnionSet: name, with: one), .unionSet, "name UNION 1"),
            (NSExpression(forIntersectSet: name, with: one), .intersectSet, "name INTERSECT 1"),
            (NSExpression(forMinusSet: name, with: one), .minusSet, "name MINUS 1"),
            (
                NSExpression(forSubquery: name, usingIteratorVariable: "x", predicate: test), .subquery,
                "SUBQUERY(name, $x, a > 1)"
            ),
            (
                NSExpression(forConditional: test, trueExpression: one, falseExpression: name), .conditional,
                "TERNARY(a > 1, 1, name)"
            ),
        ]
    }

    @Test func anExpressionHasItsTypeAndDescription() {
        for (expression, type, text) in Self.all {
            #expect(expression.expressionType == type)
            #expect(expression.description == text)
        }
        #expect(NSExpression.expressionForAnyKey().expressionType == .anyKey)
        #expect(NSExpression(block: { _, _, _ in 1 }, arguments: nil).expressionType == .block)
    }

    @Test func rawValuesAreApples() {
        let types: [NSExpression.ExpressionType] = [
            .constantValue, .evaluatedObject, .variable, .keyPath, .function, .unionSet, .intersectSet, .minusSet, .subquery,
            .aggregate, .anyKey, .block, .conditional,
        ]
        #expect(types.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 19, 20])
        let operators: [NSComparisonPredicate.Operator] = [
            .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo, .matches, .like,
            .beginsWith, .endsWith, .in, .customSelector, .contains, .between,
        ]
        #expect(operators.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99, 100])
        let modifiers: [NSComparisonPredicate.Modifier] = [.direct, .all, .any]
        #expect(modifiers.map(\.rawValue) == [0, 1, 2])
        let options: [NSComparisonPredicate.Options] = [.caseInsensitive, .diacriticInsensitive, .normalized]
        #expect(options.map(\.rawValue) == [1, 2, 4])
    }

    @Test func anExpressionReturnsItsComponents() throws {
        #expect(Self.one.constantValue as? Int == 1)
        #expect(NSExpression(forConstantValue: nil).constantValue == nil)
        #expect(Self.name.keyPath == "name")
        #expect(NSExpression(forVariable: "x").variable == "x")
        let sum = NSExpression(forFunction: "add:to:", arguments: [Self.one, Self.name])
        #expect(sum.function == "add:to:")
        #expect(sum.arguments == [Self.one, Self.name])
        let list = NSExpression(forAggregate: [Self.one, Self.name])
        #expect(list.collection as? [NSExpression] == [Self.one, Self.name])
        let union = NSExpression(forUnionSet: Self.name, with: Self.one)
        #expect(union.left == Self.name)
        #expect(union.right == Self.one)
        let test = NSPredicate(format: "a > 1")
        let subquery = NSExpression(forSubquery: Self.name, usingIteratorVariable: "x", predicate: test)
        #expect(subquery.variable == "x")
        #expect(subquery.predicate == test)
        #expect(subquery.collection as? NSExpression == Self.name)
        let choice = NSExpression(forConditional: test, trueExpression: Self.one, falseExpression: Self.name)
        #expect(choice.predicate == test)
        #expect(choice.true == Self.one)
        #expect(choice.false == Self.name)
        let block = NSExpression(block: { _, _, _ in "made" }, arguments: [Self.one])
        #expect(block.arguments == [Self.one])
        #expect(block.expressionBlock(nil, [], nil) as? String == "made")
    }

    @Test func expressionsAreEqualByStructure() throws {
        for (index, (expression, _, _)) in Self.all.enumerated() {
            let again = Self.all[index].0
            #expect(expression == again)
            #expect(expression.hash == again.hash)
            #expect(expression.copy() as? NSExpression == expression)
            #expect(Self.all.filter { $0.0 == expression }.count == 1)
        }
        #expect(NSExpression(forConstantValue: 1) == NSExpression(forConstantValue: 1.0))
        #expect(NSExpression(forConstantValue: 1) != NSExpression(forConstantValue: "1"))
    }

    @Test func anExpressionHasAValueForAnObject() {
        let object: NSDictionary = ["name": "Ada", "n": 4, "list": [3, 1, 2]]
        let context: NSMutableDictionary = ["x": 5]
        func value(_ expression: NSExpression) -> Any? { expression.expressionValue(with: object, context: context) }
        #expect(value(Self.name) as? String == "Ada")
        #expect(value(Self.one) as? Int == 1)
        #expect(value(NSExpression(forVariable: "x")) as? Int == 5)
        #expect(value(NSExpression(forConstantValue: nil)) == nil)
        #expect(value(NSExpression.expressionForEvaluatedObject()) as? NSDictionary === object)
        #expect(value(NSExpression(format: "n * 2 + $x")) as? Int == 13)
        #expect(value(NSExpression(format: "n / %f", 8.0)) as? Double == 0.5)
        #expect(value(NSExpression(format: "%K", "name")) as? String == "Ada")
        #expect(value(NSExpression(format: "lowercase(%@)", "AbC")) as? String == "abc")
        #expect(value(NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "list")])) as? Int == 3)
        #expect(value(NSExpression(forFunction: "average:", arguments: [NSExpression(forKeyPath: "list")])) as? Double == 2)
        #expect(value(NSExpression(forKeyPath: "list.@sum.self")) as? Int == 6)
        let choice = NSExpression(
            forConditional: NSPredicate(format: "n > 3"), trueExpression: NSExpression(forConstantValue: "big"),
            falseExpression: NSExpression(forConstantValue: "small"))
        #expect(value(choice) as? String == "big")
        let double = NSExpression(
            block: { object, _, context in ((object as? NSDictionary)?["n"] as? Int ?? 0) * (context?["x"] as? Int ?? 0) },
            arguments: nil)
        #expect(value(double) as? Int == 20)
    }

    @Test func setExpressionsCombineSets() {
        let object = ["a": Set([1, 2, 3]), "b": Set([3, 4])] as NSDictionary
        let (a, b) = (NSExpression(forKeyPath: "a"), NSExpression(forKeyPath: "b"))
        func numbers(_ expression: NSExpression) -> [Int] {
            let value = expression.expressionValue(with: object, context: nil)
            let members = (value as? Set<Int>).map { Array($0) } ?? value as? [Int] ?? []
            return members.sorted()
        }
        #expect(numbers(NSExpression(forUnionSet: a, with: b)) == [1, 2, 3, 4])
        #expect(numbers(NSExpression(forIntersectSet: a, with: b)) == [3])
        #expect(numbers(NSExpression(forMinusSet: a, with: b)) == [1, 2])
    }

    @Test func aComparisonReturnsItsComponents() throws {
        let predicate = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "name"), rightExpression: NSExpression(forConstantValue: "a"),
            modifier: .any, type: .beginsWith, options: [.caseInsensitive, .diacriticInsensitive])
        #expect(predicate.leftExpression == Self.name)
        #expect(predicate.rightExpression == NSExpression(forConstantValue: "a"))
        #expect(predicate.comparisonPredicateModifier == .any)
        #expect(predicate.predicateOperatorType == .beginsWith)
        #expect(predicate.options == [.caseInsensitive, .diacriticInsensitive])
        #expect(predicate.description == "ANY name BEGINSWITH[cd] \"a\"")
        #expect(predicate == NSPredicate(format: "ANY name BEGINSWITH[cd] 'a'"))
        #expect(predicate != NSPredicate(format: "ANY name BEGINSWITH[c] 'a'"))
        #expect(predicate.copy() as? NSPredicate == predicate)
        #expect(predicate.hash == NSPredicate(format: "ANY name BEGINSWITH[cd] 'a'").hash)
    }

    @Test func aFormatIsParsedIntoComparisonsAndCompounds() throws {
        let comparison = try #require(NSPredicate(format: "age >= %d", 3) as? NSComparisonPredicate)
        #expect(comparison.predicateOperatorType == .greaterThanOrEqualTo)
        #expect(comparison.leftExpression.keyPath == "age")
        #expect(comparison.rightExpression.constantValue as? Int == 3)
        #expect(comparison.comparisonPredicateModifier == .direct)
        let compound = try #require(NSPredicate(format: "a == 1 AND b == 2 AND NOT c == 3") as? NSCompoundPredicate)
        #expect(compound.compoundPredicateType == .and)
        #expect(compound.subpredicates.count == 3)
        let parts = compound.subpredicates as [Any]
        #expect(parts.first as? NSPredicate == NSPredicate(format: "a == 1"))
        let negation = try #require(parts.last as? NSCompoundPredicate)
        #expect(negation.compoundPredicateType == .not)
        let negated = negation.subpredicates as [Any]
        #expect((negated.first as? NSComparisonPredicate)?.leftExpression.keyPath == "c")
        #expect(NSPredicate(format: "a == 1 OR b == 2") == NSPredicate(format: "a = 1 || b = 2"))
    }

    @Test func comparisonsEvaluateValues() {
        func test(_ left: Any?, _ type: NSComparisonPredicate.Operator, _ right: Any?) -> Bool {
            NSComparisonPredicate(
                leftExpression: NSExpression(forKeyPath: "v"), rightExpression: NSExpression(forConstantValue: right),
                modifier: .direct, type: type, options: []
            ).evaluate(with: ["v": left ?? NSNull()] as NSDictionary)
        }
        #expect(test(1, .lessThan, 2))
        #expect(!test(2, .lessThan, 2))
        #expect(test(2, .lessThanOrEqualTo, 2))
        #expect(!test(3, .lessThanOrEqualTo, 2))
        #expect(test(3, .greaterThan, 2))
        #expect(!test(2, .greaterThan, 2))
        #expect(test(2, .greaterThanOrEqualTo, 2))
        #expect(!test(1, .greaterThanOrEqualTo, 2))
        #expect(test("a", .equalTo, "a"))
        #expect(!test("a", .equalTo, "b"))
        #expect(test("a", .notEqualTo, "b"))
        #expect(!test("a", .notEqualTo, "a"))
        #expect(test("abc", .matches, "[a-c]+"))
        #expect(!test("abcd", .matches, "[a-c]+"))
        #expect(test("abc", .like, "a*"))
        #expect(!test("abc", .like, "a?"))
        #expect(test("abc", .beginsWith, "ab"))
        #expect(!test("abc", .beginsWith, "bc"))
        #expect(test("abc", .endsWith, "bc"))
        #expect(!test("abc", .endsWith, "ab"))
        #expect(test(1, .in, [1, 2]))
        #expect(!test(3, .in, [1, 2]))
        #expect(test([1, 2], .contains, 2))
        #expect(!test([1, 2], .contains, 3))
        #expect(test(2, .between, [1, 2]))
        #expect(!test(3, .between, [1, 2]))
        #expect(test(nil, .equalTo, nil))
        #expect(!test(1, .equalTo, nil))
    }
}
