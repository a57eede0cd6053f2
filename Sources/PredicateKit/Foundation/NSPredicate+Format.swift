// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Handed to a predicate's block in place of an object: a block of ours answers with its tree.
private final class TreeProbe {
    var predicate: Predicate?
}

extension NSPredicate {
    /// Makes a predicate from a format string.
    ///
    ///     NSPredicate(format: "title BEGINSWITH[cd] %@ AND tags.@count > %d", prefix, 2)
    ///
    /// A format that cannot be read ends the process with the format and the column: it is a mistake in the
    /// program. Formats that users type go through ``Predicate/init(format:_:)``, which throws.
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
            self.init(tree: try Predicate(format: format, arguments))
        } catch {
            preconditionFailure("Unable to parse the format string \"\(format)\": \(error)")
        }
    }

    /// A predicate that evaluates the tree, and from which ``parsed(_:)`` gets it back, copies included.
    package convenience init(tree: Predicate) {
        self.init(block: { object, bindings in
            if let probe = object as? TreeProbe {
                probe.predicate = tree
                return false
            }
            let variables = (bindings ?? [:]).mapValues { PredicateValue($0) }
            do throws(PredicateFailure) {
                return try tree.evaluate(
                    on: PredicateValue(object), variables: variables, now: { Date.now.timeIntervalSinceReferenceDate })
            } catch {
                preconditionFailure("Unable to evaluate \(tree.formatDescription): \(error)")
            }
        })
    }

    /// The same predicate with values for its variables; names that are not given stay variables.
    ///
    /// Source: `NSPredicate`, "withSubstitutionVariables(_:)". Traps for a predicate made from a block.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> Self {
        guard let tree = parsed(self) else {
            preconditionFailure("a predicate made from a block has no variables to substitute")
        }
        let substituted = NSPredicate(tree: tree.substituting(variables.mapValues { PredicateValue($0) }))
        guard let result = substituted as? Self else {
            preconditionFailure("variables of a compound predicate are substituted in its parts")
        }
        return result
    }
}

/// The tree of a predicate that was made from a format, or of a compound of such.
///
/// - Returns: nil for a predicate that was made from a block of an app. Such a block is called once, with an object of
///   a private class; blocks that test with `as?` return false for it, as for any object they do not know.
package func parsed(_ predicate: NSPredicate) -> Predicate? {
    guard let compound = predicate as? NSCompoundPredicate else {
        if isConstant(predicate) { return .value(predicate.evaluate(with: nil)) }
        let probe = TreeProbe()
        _ = predicate.evaluate(with: probe)
        return probe.predicate
    }
    var parts: [Predicate] = []
    for part in compound.subpredicates {
        guard let tree = parsed(part) else { return nil }
        parts.append(tree)
    }
    switch compound.compoundPredicateType {
    case .not: return parts.first.map { .not($0) }
    case .and: return .and(parts)
    case .or: return .or(parts)
    @unknown default: return nil
    }
}

/// `NSPredicate(value:)` and `NSPredicate(block:)` are one class, told apart by its only property.
private func isConstant(_ predicate: NSPredicate) -> Bool {
    Mirror(reflecting: predicate).children.contains { "\($0.value)".hasPrefix("boolean") }
}
