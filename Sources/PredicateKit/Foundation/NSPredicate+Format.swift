// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Lets an initialiser that is declared in an extension answer with an instance of a subclass, as Foundation does itself:
/// a format makes comparisons and compounds.
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
    /// Makes a predicate from a format string.
    ///
    ///     NSPredicate(format: "title BEGINSWITH[cd] %@ AND tags.@count > %d", prefix, 2)
    ///
    /// A format that can't be parsed ends the process with a sentence that names the format and the column, in release
    /// builds too: it is a programming error. Formats that people type go through ``init(parsing:argumentArray:)``.
    ///
    /// Source: `NSPredicate`, "init(format:_:)"; Apple raises `NSInvalidArgumentException` there.
    public convenience init(format: String, _ args: any CVarArg...) {
        self.init(format: format, argumentArray: args)
    }

    /// Makes a predicate from a format string and its arguments; traps like ``init(format:_:)``.
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

    /// Makes a predicate from a format string that may be wrong, such as one that a person typed.
    ///
    ///     let predicate = try NSPredicate(parsing: searchField.text)
    ///
    /// - Throws: ``PredicateFormatError`` with the column and what was expected there.
    public convenience init(parsing format: String, argumentArray arguments: [Any]? = nil) throws(PredicateFormatError) {
        let tree: Predicate
        do throws(PredicateFailure) {
            tree = try Predicate(format: format, (arguments ?? []).map { FormatArgument($0) })
        } catch {
            throw PredicateFormatError(error, format: format)
        }
        self.init(made: NSPredicate.made(tree))
    }

    /// For initialisers of other modules.
    package convenience init(meaning tree: Predicate) { self.init(made: NSPredicate.made(tree)) }

    /// The predicate that means the same as a tree.
    package static func made(_ tree: Predicate) -> NSPredicate {
        switch tree {
        case .value(let value): ParsedConstantPredicate(value: value)
        case .comparison(let comparison): NSComparisonPredicate(comparison)
        case .and, .or, .not: NSCompoundPredicate(tree)
        case .block(let block): block.reference
        }
    }

    /// The tree of a predicate; one that was made from a block is a leaf of it.
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

    /// `NSPredicate(value:)` and `NSPredicate(block:)` are one class, told apart by its only property.
    private static func isConstant(_ predicate: NSPredicate) -> Bool {
        type(of: predicate) == NSPredicate.self
            && Mirror(reflecting: predicate).children.contains { "\($0.value)".hasPrefix("boolean") }
    }

    /// The same predicate with values for its variables; names that are not given stay variables.
    ///
    /// Source: `NSPredicate`, "withSubstitutionVariables(_:)".
    public func withSubstitutionVariables(_ variables: [String: Any]) -> Self {
        let substituted = NSPredicate.made(tree.substituting(variables.mapValues { PredicateValue(constant: $0) }))
        guard let result = substituted as? Self else {
            preconditionFailure("a predicate of the class \(type(of: self)) substitutes its variables itself")
        }
        return result
    }

    /// Predicates decoded from an archive may be evaluated here without it.
    public func allowEvaluation() {}
}

extension Predicate {
    /// Evaluates for apps; what has no answer ends the process with a sentence.
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

/// The tree of a predicate that was made from a format, or of a compound of such.
///
/// - Returns: nil for a predicate that was made from a block of an app, or has such a part.
package func parsed(_ predicate: NSPredicate) -> Predicate? {
    let tree = predicate.tree
    return tree.hasBlock ? nil : tree
}
