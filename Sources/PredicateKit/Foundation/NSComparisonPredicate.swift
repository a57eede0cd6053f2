// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A comparison of two expressions. Formats create it too: `NSPredicate(format: "a == 1") as? NSComparisonPredicate`.
///
/// Foundation on Linux has a class of this name without initializers; see ``NSExpression``.
///
/// Source: developer.apple.com/documentation/foundation/nscomparisonpredicate
open class NSComparisonPredicate: NSPredicate {
    /// The operator of a comparison. Raw values are Apple's.
    public enum Operator: UInt, Sendable {
        /// Less than.
        case lessThan = 0
        /// Less than or equal to.
        case lessThanOrEqualTo = 1
        /// Greater than.
        case greaterThan = 2
        /// Greater than or equal to.
        case greaterThanOrEqualTo = 3
        /// Equal to.
        case equalTo = 4
        /// Not equal to.
        case notEqualTo = 5
        /// Matches a regular expression.
        case matches = 6
        /// Matches a pattern with the wildcards `?` and `*`.
        case like = 7
        /// Begins with a text.
        case beginsWith = 8
        /// Ends with a text.
        case endsWith = 9
        /// Is a member of a collection, or part of a text.
        case `in` = 10
        /// A method of the left value; see ``customSelector``.
        case customSelector = 11
        /// Has a member, or a text as its part.
        case contains = 99
        /// Lies between two bounds, both included.
        case between = 100
    }

    /// The combination of a collection's members on the left side. Raw values are Apple's.
    public enum Modifier: UInt, Sendable {
        /// The left side is one value.
        case direct = 0
        /// All members meet the comparison.
        case all = 1
        /// Some member meets the comparison.
        case any = 2
    }

    /// Options of text comparison. Raw values are Apple's.
    public struct Options: OptionSet, Sendable {
        /// Apple's raw value.
        public let rawValue: UInt
        /// Creates options from Apple's raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Ignores case.
        public static let caseInsensitive = Options(rawValue: 1)
        /// Ignores diacritics.
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// Compares bytes: both sides are normalized.
        public static let normalized = Options(rawValue: 4)
    }

    let comparison: Comparison
    /// The method of the left value, if the operator is one.
    public let customSelector: Selector?

    init(_ comparison: Comparison, customSelector: Selector? = nil) {
        self.comparison = comparison
        self.customSelector = customSelector
        super.init(value: true)
    }

    /// Creates a comparison by an operator.
    public convenience init(
        leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier, type: Operator,
        options: Options = []
    ) {
        guard let comparison = Comparison.Operator(rawValue: Int(type.rawValue)),
            let modifier = Comparison.Modifier(rawValue: Int(modifier.rawValue))
        else { preconditionFailure("a comparison by a selector is made with init(…customSelector:)") }
        self.init(
            Comparison(
                lhs.tree, comparison, rhs.tree, modifier: modifier,
                options: Comparison.Options(rawValue: options.rawValue)))
    }

    /// Creates a comparison by a method of the left value that takes the right one, such as `hasPrefix:`; see
    /// ``NSExpression/init(forFunction:selectorName:arguments:)`` for the supported ones.
    public convenience init(
        leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, customSelector selector: Selector
    ) {
        precondition(PredicateMethods.isKnown(selector.name, 1), "unknown method \(selector.name) of 1 argument")
        let message = Expression.message(lhs.tree, selector.name, [rhs.tree])
        self.init(Comparison(message, .equalTo, .constant(.bool(true))), customSelector: selector)
    }

    /// The left side.
    open var leftExpression: NSExpression {
        if customSelector != nil, case .message(let target, _, _) = comparison.left { return NSExpression(tree: target) }
        return NSExpression(tree: comparison.left)
    }

    /// The right side.
    open var rightExpression: NSExpression {
        if customSelector != nil, case .message(_, _, let arguments) = comparison.left {
            return NSExpression(tree: arguments[0])
        }
        return NSExpression(tree: comparison.right)
    }

    /// The operator.
    open var predicateOperatorType: Operator {
        if customSelector != nil { return .customSelector }
        return Operator(rawValue: UInt(comparison.operator.rawValue)) ?? .equalTo
    }

    /// The combination of the left side's members.
    open var comparisonPredicateModifier: Modifier { Modifier(rawValue: UInt(comparison.modifier.rawValue)) ?? .direct }

    /// The options of text comparison.
    open var options: Options { Options(rawValue: comparison.options.rawValue) }

    // MARK: As a predicate

    open override var predicateFormat: String { comparison.formatDescription }
    open override var description: String { comparison.formatDescription }

    open override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        Predicate.comparison(comparison).holds(for: object, bindings)
    }

    open override func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

    open override func copy(with zone: NSZone? = nil) -> Any { self }
    open override func copy() -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSComparisonPredicate else { return false }
        return comparison == other.comparison || tree.canonical == other.tree.canonical
    }

    open override var hash: Int { tree.canonical.hashValue }
}

/// The name of a method. Off Apple's platforms `#selector` does not exist; write `Selector("localizedCompare:")`.
public struct Selector: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let name: String

    /// Creates a selector from a method's name.
    public init(_ name: String) { self.name = name }
    /// Creates a selector from a method's name.
    public init(stringLiteral name: String) { self.name = name }
    /// The method's name.
    public var description: String { name }
}

/// Returns the selector's name, also off Apple's platforms.
///
/// Source: developer.apple.com/documentation/foundation/nsstringfromselector(_:)
public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }
/// Returns the selector of a name, also off Apple's platforms.
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }
