// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import PredicateKit

// MARK: Leaves

extension PredicateExpressions.Variable: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { .value(try reader.value(of: key)) }
}

extension PredicateExpressions.Value: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { .value(.constant(PredicateValue(value))) }
}

extension PredicateExpressions.NilLiteral: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { .value(.constant(.null)) }
}

extension PredicateExpressions.KeyPath: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        let base = try reader.value(root)
        let isText = Root.Output.self is any StringProtocol.Type
        func count() -> PredicateKit.Expression { isText ? .function("length:", [base]) : base.appending(["@count"]) }
        switch kind {
        case .collectionCount: return .value(count())
        case .collectionIsEmpty: return .condition(.comparison(Comparison(count(), .equalTo, .constant(.int(0)))))
        case .collectionFirst: return .value(.function("objectFrom:withIndex:", [base, .constant(.string("FIRST"))]))
        case .bidirectionalCollectionLast:
            return .value(.function("objectFrom:withIndex:", [base, .constant(.string("LAST"))]))
        default: break
        }
        let keyPath: AnyKeyPath = keyPath
        if keyPath == \NSSet.count || keyPath == \NSOrderedSet.count { return .value(base.appending(["@count"])) }
        guard let name = KeyPathProbe.nameInLoadedModel(of: keyPath) else { throw MacroReader.Unreadable() }
        return .value(base.appending(PredicateKit.Expression.keys(name)))
    }
}

// MARK: Logic

extension PredicateExpressions.Conjunction: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        .condition(.and([try reader.condition(lhs), try reader.condition(rhs)]))
    }
}

extension PredicateExpressions.Disjunction: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        .condition(.or([try reader.condition(lhs), try reader.condition(rhs)]))
    }
}

extension PredicateExpressions.Negation: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { .condition(.not(try reader.condition(wrapped))) }
}

extension PredicateExpressions.Conditional: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        .value(.conditional(try reader.condition(test), try reader.value(trueBranch), try reader.value(falseBranch)))
    }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.comparison(lhs, .equalTo, rhs) }
}

extension PredicateExpressions.NotEqual: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.comparison(lhs, .notEqualTo, rhs) }
}

extension PredicateExpressions.Comparison: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        switch op {
        case .lessThan: return try reader.comparison(lhs, .lessThan, rhs)
        case .lessThanOrEqual: return try reader.comparison(lhs, .lessThanOrEqualTo, rhs)
        case .greaterThan: return try reader.comparison(lhs, .greaterThan, rhs)
        case .greaterThanOrEqual: return try reader.comparison(lhs, .greaterThanOrEqualTo, rhs)
        @unknown default: throw MacroReader.Unreadable()
        }
    }
}

extension PredicateExpressions.SequenceStartsWith: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.comparison(base, .beginsWith, prefix) }
}

extension PredicateExpressions.CollectionContainsCollection: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.comparison(base, .contains, other) }
}

// MARK: Numbers

extension PredicateExpressions.Arithmetic: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        switch op {
        case .add: return try reader.function("add:to:", lhs, rhs)
        case .subtract: return try reader.function("from:subtract:", lhs, rhs)
        case .multiply: return try reader.function("multiply:by:", lhs, rhs)
        @unknown default: throw MacroReader.Unreadable()
        }
    }
}

extension PredicateExpressions.IntDivision: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.function("divide:by:", lhs, rhs) }
}

extension PredicateExpressions.FloatDivision: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.function("divide:by:", lhs, rhs) }
}

extension PredicateExpressions.IntRemainder: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.function("modulus:by:", lhs, rhs) }
}

extension PredicateExpressions.UnaryMinus: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.function("chs:", wrapped) }
}

extension PredicateExpressions.SequenceMaximum: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.function("max:", elements) }
}

extension PredicateExpressions.SequenceMinimum: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.function("min:", elements) }
}

// MARK: Optionals and types

extension PredicateExpressions.OptionalFlatMap: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        // Keys of nil are nil in the predicate language, too.
        let value = try reader.value(wrapped)
        return try reader.node(transform, where: variable.key, is: value)
    }
}

extension PredicateExpressions.NilCoalesce: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        let first = try reader.value(lhs)
        let isThere = PredicateKit.Predicate.comparison(Comparison(first, .notEqualTo, .constant(.null)))
        return .value(.conditional(isThere, first, try reader.value(rhs)))
    }
}

extension PredicateExpressions.ForcedUnwrap: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.node(inner) }
}

extension PredicateExpressions.ConditionalCast: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.node(input) }
}

extension PredicateExpressions.ForceCast: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.node(input) }
}

// MARK: Collections

extension PredicateExpressions.SequenceContains: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node { try reader.comparison(element, .in, sequence) }
}

extension PredicateExpressions.SequenceContainsWhere: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        let count = try reader.members(sequence, variable.key, test).appending(["@count"])
        return .condition(.comparison(Comparison(count, .greaterThan, .constant(.int(0)))))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        let count = try reader.members(sequence, variable.key, test, negated: true).appending(["@count"])
        return .condition(.comparison(Comparison(count, .equalTo, .constant(.int(0)))))
    }
}

extension PredicateExpressions.Filter: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        .value(try reader.members(sequence, variable.key, filter))
    }
}

extension PredicateExpressions.CollectionIndexSubscript: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        try reader.function("objectFrom:withIndex:", wrapped, index)
    }
}

// MARK: Text

extension PredicateExpressions {
    /// `text.localizedStandardContains(part)`, which Foundation on Linux lacks: ignores case and accents.
    ///
    /// Source: developer.apple.com/documentation/foundation/predicateexpressions/stringlocalizedstandardcontains
    public struct StringLocalizedStandardContains<Root: PredicateExpression, Other: PredicateExpression>: PredicateExpression
    where Root.Output: StringProtocol, Other.Output: StringProtocol {
        /// A Boolean.
        public typealias Output = Bool
        /// The text.
        public let root: Root
        /// The part to search for.
        public let other: Other

        /// Creates the expression.
        public init(root: Root, other: Other) {
            self.root = root
            self.other = other
        }

        /// Whether the text contains the part, regardless of case and accents.
        ///
        /// - Throws: The errors of evaluating either side.
        public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
            let (text, part) = (String(try root.evaluate(bindings)), String(try other.evaluate(bindings)))
            return try StringMatching.matches(text, .contains, part, [.caseInsensitive, .diacriticInsensitive])
        }
    }

    /// Called by the `#Predicate` macro.
    public static func build_localizedStandardContains<Root, Other>(
        _ root: Root, _ other: Other
    ) -> StringLocalizedStandardContains<Root, Other> {
        StringLocalizedStandardContains(root: root, other: other)
    }
}

extension PredicateExpressions.StringLocalizedStandardContains: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}

extension PredicateExpressions.StringLocalizedStandardContains: Codable where Root: Codable, Other: Codable {}

extension PredicateExpressions.StringLocalizedStandardContains: Sendable where Root: Sendable, Other: Sendable {}

extension PredicateExpressions.StringLocalizedStandardContains: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        try reader.comparison(root, .contains, other, [.caseInsensitive, .diacriticInsensitive])
    }
}
