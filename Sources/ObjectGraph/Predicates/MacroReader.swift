// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import PredicateKit

/// Translates predicates of the `#Predicate` macro: the macro's tree is public, and each kind of node has its translation
/// below.
struct MacroReader {
    /// A part without a counterpart in the predicate language.
    struct Unreadable: Error {}

    enum Node {
        case condition(PredicateKit.Predicate)
        case value(PredicateKit.Expression)
    }

    /// The values of closures' variables.
    private var variables: [PredicateExpressions.VariableID: PredicateKit.Expression] = [:]
    private var iteratorCount = 0

    static func predicate<Input>(_ predicate: Foundation.Predicate<Input>) throws -> PredicateKit.Predicate {
        var reader = MacroReader()
        reader.variables[predicate.variable.key] = .selfObject
        return try reader.condition(predicate.expression)
    }

    mutating func node(_ expression: any PredicateExpression) throws -> Node {
        guard let readable = expression as? any MacroNode else { throw Unreadable() }
        return try readable.read(&self)
    }

    mutating func condition(_ expression: any PredicateExpression) throws -> PredicateKit.Predicate {
        switch try node(expression) {
        case .condition(let predicate): return predicate
        case .value(.constant(.bool(let value))): return .value(value)
        case .value(let value): return .comparison(Comparison(value, .equalTo, .constant(.bool(true))))
        }
    }

    mutating func value(_ expression: any PredicateExpression) throws -> PredicateKit.Expression {
        switch try node(expression) {
        case .value(let value): return value
        case .condition(let predicate): return .conditional(predicate, .constant(.bool(true)), .constant(.bool(false)))
        }
    }

    func value(of variable: PredicateExpressions.VariableID) throws -> PredicateKit.Expression {
        guard let value = variables[variable] else { throw Unreadable() }
        return value
    }

    mutating func comparison(
        _ left: any PredicateExpression, _ comparison: Comparison.Operator, _ right: any PredicateExpression,
        _ options: Comparison.Options = []
    ) throws -> Node {
        .condition(.comparison(Comparison(try value(left), comparison, try value(right), options: options)))
    }

    mutating func function(_ name: String, _ arguments: any PredicateExpression...) throws -> Node {
        .value(.function(name, try arguments.map { try value($0) }))
    }

    /// The members of a sequence that pass a test.
    mutating func members(
        _ sequence: any PredicateExpression, _ variable: PredicateExpressions.VariableID, _ test: any PredicateExpression,
        negated: Bool = false
    ) throws -> PredicateKit.Expression {
        let collection = try value(sequence)
        iteratorCount += 1
        let name = "item\(iteratorCount)"
        variables[variable] = .variable(name)
        let condition = try condition(test)
        return .subquery(collection, variable: name, negated ? .not(condition) : condition)
    }

    /// Translates a part in which a variable has a value.
    mutating func node(
        _ expression: any PredicateExpression, where variable: PredicateExpressions.VariableID, is value: PredicateKit.Expression
    ) throws
        -> Node
    {
        variables[variable] = value
        return try node(expression)
    }
}

/// A translatable node of a macro's tree.
protocol MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node
}

extension NSPredicate {
    /// Creates the same condition as a Swift predicate, so that a store can evaluate it.
    ///
    /// Properties are those of a loaded model. Text is compared as by a format without options;
    /// `localizedStandardContains` ignores case and accents.
    ///
    /// - Returns: nil if a part has no counterpart, such as a regular expression or a computed property.
    ///
    /// Source: developer.apple.com/documentation/foundation/nspredicate/init(_:)
    public convenience init?<Input: NSObject>(_ predicate: Foundation.Predicate<Input>) {
        guard let tree = try? MacroReader.predicate(predicate) else { return nil }
        self.init(meaning: tree)
    }
}
