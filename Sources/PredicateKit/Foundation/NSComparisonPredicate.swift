// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Two expressions and how they relate. Formats make it too: `NSPredicate(format: "a == 1") as? NSComparisonPredicate`.
///
/// Foundation on Linux has a class of this name that cannot be made; see ``NSExpression``.
///
/// Source: developer.apple.com/documentation/foundation/nscomparisonpredicate
open class NSComparisonPredicate: NSPredicate {
    /// Raw values are Apple's.
    public enum Operator: UInt, Sendable {
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
        case customSelector = 11
        case contains = 99
        case between = 100
    }

    /// Raw values are Apple's.
    public enum Modifier: UInt, Sendable {
        case direct = 0
        case all = 1
        case any = 2
    }

    /// Raw values are Apple's.
    public struct Options: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let caseInsensitive = Options(rawValue: 1)
        public static let diacriticInsensitive = Options(rawValue: 2)
        public static let normalized = Options(rawValue: 4)
    }

    let comparison: Comparison
    /// Set when the operator is a method of the left value.
    public let customSelector: Selector?

    init(_ comparison: Comparison, customSelector: Selector? = nil) {
        self.comparison = comparison
        self.customSelector = customSelector
        super.init(value: true)
    }

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

    /// Compares by a method of the left value that takes the right one, `hasPrefix:`; see
    /// ``NSExpression/init(forFunction:selectorName:arguments:)`` for those there are.
    public convenience init(
        leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, customSelector selector: Selector
    ) {
        precondition(PredicateMethods.isKnown(selector.name, 1), "there is no method \(selector.name) of 1 argument")
        let message = Expression.message(lhs.tree, selector.name, [rhs.tree])
        self.init(Comparison(message, .equalTo, .constant(.bool(true))), customSelector: selector)
    }

    open var leftExpression: NSExpression {
        if customSelector != nil, case .message(let target, _, _) = comparison.left { return NSExpression(tree: target) }
        return NSExpression(tree: comparison.left)
    }

    open var rightExpression: NSExpression {
        if customSelector != nil, case .message(_, _, let arguments) = comparison.left {
            return NSExpression(tree: arguments[0])
        }
        return NSExpression(tree: comparison.right)
    }

    open var predicateOperatorType: Operator {
        if customSelector != nil { return .customSelector }
        return Operator(rawValue: UInt(comparison.operator.rawValue)) ?? .equalTo
    }

    open var comparisonPredicateModifier: Modifier { Modifier(rawValue: UInt(comparison.modifier.rawValue)) ?? .direct }

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

    public init(_ name: String) { self.name = name }
    public init(stringLiteral name: String) { self.name = name }
    public var description: String { name }
}

/// Also off Apple's platforms.
///
/// Source: developer.apple.com/documentation/foundation/nsstringfromselector(_:)
public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }
