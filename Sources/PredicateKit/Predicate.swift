// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A condition on one object: the tree of a format string, a fetch request's predicate or `#Predicate`.
///
/// The tree is independent of its evaluation: the store translates it into SQL, ``evaluate(on:variables:now:)`` evaluates
/// it for an object in memory, and both must have the same result.
package indirect enum Predicate: Hashable, Sendable {
    case value(Bool)
    case comparison(Comparison)
    /// True when empty.
    case and([Predicate])
    /// False when empty.
    case or([Predicate])
    case not(Predicate)
    /// A block predicate: it can only be evaluated for objects in memory.
    case block(PredicateBlock)
}

/// A condition in code of an app; equal only to itself.
package struct PredicateBlock: Hashable, @unchecked Sendable {
    // @unchecked: the predicate is only passed on, and evaluated on the queue of the evaluated objects.
    package let reference: NSPredicate

    package init(_ reference: NSPredicate) { self.reference = reference }

    package static func == (a: PredicateBlock, b: PredicateBlock) -> Bool { a.reference === b.reference }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(reference)) }
}

/// A comparison of two expressions.
package struct Comparison: Hashable, Sendable {
    /// Raw values are those of `NSComparisonPredicate.Operator` on Apple's platforms.
    package enum Operator: Int, Hashable, Sendable, CaseIterable {
        case lessThan = 0
        case lessThanOrEqualTo = 1
        case greaterThan = 2
        case greaterThanOrEqualTo = 3
        case equalTo = 4
        case notEqualTo = 5
        case matches = 6
        case like = 7
        case beginsWith = 8
        case endsWith = 9
        case `in` = 10
        case contains = 99
        case between = 100
    }

    /// The combination of the members of a collection on the left. Raw values are those of
    /// `NSComparisonPredicate.Modifier`; NONE is NOT ANY.
    package enum Modifier: Int, Hashable, Sendable, CaseIterable {
        case direct = 0
        case all = 1
        case any = 2
    }

    /// Raw values are those of `NSComparisonPredicate.Options`.
    package struct Options: OptionSet, Hashable, Sendable {
        package let rawValue: UInt

        package init(rawValue: UInt) { self.rawValue = rawValue }

        package static let caseInsensitive = Options(rawValue: 1)
        package static let diacriticInsensitive = Options(rawValue: 2)
        /// Both sides are normalized: compared by their bytes, regardless of other options.
        package static let normalized = Options(rawValue: 4)
        /// Parsed and printed; strings are compared independently of a locale. Differs: Apple uses the locale.
        package static let localeSensitive = Options(rawValue: 8)
    }

    package var left: Expression
    package var `operator`: Operator
    package var right: Expression
    package var modifier: Modifier
    package var options: Options

    package init(
        _ left: Expression, _ operator: Operator, _ right: Expression, modifier: Modifier = .direct,
        options: Options = []
    ) {
        self.left = left
        self.operator = `operator`
        self.right = right
        self.modifier = modifier
        self.options = options
    }
}

/// An expression with a value: a constant, a key path from the evaluated object, a function of other expressions.
package indirect enum Expression: Hashable, Sendable {
    case constant(PredicateValue)
    /// Keys from the evaluated object, including collection operators (`@count`).
    case keyPath([String])
    /// Keys from the value of another expression: `$x.name`, `SUBQUERY(…).@count`.
    case path(of: Expression, [String])
    case selfObject
    /// A name without its `$`, bound at evaluation or by ``Predicate/substituting(_:)``.
    case variable(String)
    /// A function by its selector name: `add:to:`, `sum:`, `uppercase:`, `now`.
    case function(String, [Expression])
    case aggregate([Expression])
    /// The members of a collection that match a predicate on the variable.
    case subquery(Expression, variable: String, Predicate)
    case conditional(Predicate, Expression, Expression)
    case combination(SetOperation, Expression, Expression)
    /// A method of the value of the first expression: `FUNCTION(name, 'hasPrefix:', 'A')`.
    case message(Expression, String, [Expression])
    case anyKey
    case block(ExpressionBlock, [Expression])
}

package enum SetOperation: String, Hashable, Sendable, CaseIterable {
    case union = "UNION"
    case intersect = "INTERSECT"
    case minus = "MINUS"
}

/// A value computed by code of an app; equal only to itself.
package final class ExpressionBlock: Hashable, @unchecked Sendable {
    // @unchecked: the code is only called on the queue of its objects.
    package typealias Body = (Any?, [Any], NSMutableDictionary?) -> Any
    package let body: Body
    /// Whether the value is the same for every object.
    package let isConstant: Bool

    package init(_ body: @escaping Body, isConstant: Bool = false) {
        self.body = body
        self.isConstant = isConstant
    }

    package static func == (a: ExpressionBlock, b: ExpressionBlock) -> Bool { a === b }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// One criterion of a sort. Null sorts first when ascending, as in SQLite.
package struct SortKey: Hashable, Sendable {
    package var keyPath: [String]
    package var ascending: Bool
    package var options: Comparison.Options
    /// For texts, instead of the options.
    package var collation: TextCollation?

    package init(
        keyPath: [String], ascending: Bool = true, options: Comparison.Options = [], collation: TextCollation? = nil
    ) {
        self.keyPath = keyPath
        self.ascending = ascending
        self.options = options
        self.collation = collation
    }
}
