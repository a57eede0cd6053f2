// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Lets an initializer in an extension return an instance of a subclass, as Foundation's own do: a format creates
/// comparisons and compounds.
public protocol _PredicateFactory {}

extension _PredicateFactory {
    fileprivate init(made object: Any) {
        guard let made = object as? Self else {
            preconditionFailure("a format makes an NSPredicate, not a \(Self.self)")
        }
        self = made
    }
}

extension NSPredicate: _PredicateFactory {}

extension NSPredicate {
    /// Parses a format string.
    ///
    ///     NSPredicate(format: "title BEGINSWITH[cd] %@ AND tags.@count > %d", prefix, 2)
    ///
    /// An invalid format ends the process with a message that names the format and the column, in release builds too: it is
    /// a programming error. Use ``init(parsing:argumentArray:)`` for user input.
    ///
    /// Source: `NSPredicate`, "init(format:_:)"; Apple raises `NSInvalidArgumentException`.
    public convenience init(format: String, _ args: any CVarArg...) {
        self.init(format: format, argumentArray: args)
    }

    /// Parses a format string with its arguments; traps like ``init(format:_:)``.
    public convenience init(format: String, argumentArray arguments: [Any]?) {
        self.init(trapping: format, (arguments ?? []).map { FormatArgument($0) })
    }

    private convenience init(trapping format: String, _ arguments: [FormatArgument]) {
        do throws(PredicateFailure) {
            self.init(made: NSPredicate.made(try Predicate(format: format, arguments)))
        } catch {
            fatalError(PredicateFormatError(error, format: format).description)
        }
    }

    /// Parses a format string that may be invalid, such as user input.
    ///
    ///     let predicate = try NSPredicate(parsing: searchField.text)
    ///
    /// - Throws: ``PredicateFormatError`` with the column and the expected token.
    public convenience init(parsing format: String, argumentArray arguments: [Any]? = nil) throws(PredicateFormatError) {
        let tree: Predicate
        do throws(PredicateFailure) {
            tree = try Predicate(format: format, (arguments ?? []).map { FormatArgument($0) })
        } catch {
            throw PredicateFormatError(error, format: format)
        }
        self.init(made: NSPredicate.made(tree))
    }

    /// For initializers of other modules.
    package convenience init(meaning tree: Predicate) { self.init(made: NSPredicate.made(tree)) }

    /// Returns the predicate of a tree.
    package static func made(_ tree: Predicate) -> NSPredicate {
        switch tree {
        case .value(let value): ParsedConstantPredicate(value: value)
        case .comparison(let comparison): NSComparisonPredicate(comparison)
        case .and, .or, .not: NSCompoundPredicate(tree)
        case .block(let block): block.reference
        }
    }

    /// The tree of a predicate; a block predicate is a leaf of it.
    package var tree: Predicate {
        switch self {
        case let comparison as NSComparisonPredicate: .comparison(comparison.comparison)
        case let compound as NSCompoundPredicate: compound.parsed
        case let constant as ParsedConstantPredicate: .value(constant.value)
        case let compound as Foundation.NSCompoundPredicate: Self.tree(of: compound)
        default: Self.isConstant(self) ? .value(evaluate(with: nil)) : .block(PredicateBlock(self))
        }
    }

    private static func tree(of compound: Foundation.NSCompoundPredicate) -> Predicate {
        let parts = compound.subpredicates.map(\.tree)
        switch compound.compoundPredicateType {
        case .not: return parts.first.map { .not($0) } ?? .value(false)
        case .and: return .and(parts)
        case .or: return .or(parts)
        @unknown default: return .block(PredicateBlock(compound))
        }
    }

    /// `NSPredicate(value:)` and `NSPredicate(block:)` are one class, distinguished by its only property.
    private static func isConstant(_ predicate: NSPredicate) -> Bool {
        type(of: predicate) == NSPredicate.self
            && Mirror(reflecting: predicate).children.contains { "\($0.value)".hasPrefix("boolean") }
    }

    /// Returns the predicate with values for its variables; variables without a value stay.
    ///
    /// Source: `NSPredicate`, "withSubstitutionVariables(_:)".
    public func withSubstitutionVariables(_ variables: [String: Any]) -> Self {
        let substituted = NSPredicate.made(tree.substituting(variables.mapValues { PredicateValue(constant: $0) }))
        guard let result = substituted as? Self else {
            preconditionFailure("a predicate of the class \(type(of: self)) substitutes its variables itself")
        }
        return result
    }

    /// Has no effect: predicates from an archive may always be evaluated here.
    public func allowEvaluation() {}
}

extension Predicate {
    /// Evaluates for apps; an evaluation error ends the process with a message.
    func holds(for object: Any?, _ bindings: [String: Any]?) -> Bool {
        let variables = (bindings ?? [:]).mapValues { PredicateValue($0) }
        do throws(PredicateFailure) {
            return try evaluate(
                on: PredicateValue(object), variables: variables, now: { Date.now.timeIntervalSinceReferenceDate })
        } catch {
            preconditionFailure("Unable to evaluate \(formatDescription): \(error)")
        }
    }
}

/// Returns the tree of a predicate from a format, or of a compound of such.
///
/// - Returns: nil for a block predicate, or a compound that has one.
package func parsed(_ predicate: NSPredicate) -> Predicate? {
    let tree = predicate.tree
    return tree.hasBlock ? nil : tree
}
