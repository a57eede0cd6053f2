// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A conjunction, a disjunction or a negation of other predicates. Formats create it too.
///
/// Foundation on Linux has a class of this name that prints an address and equals only itself; see ``NSExpression``.
///
/// Source: developer.apple.com/documentation/foundation/nscompoundpredicate
open class NSCompoundPredicate: NSPredicate {
    /// The logical operator. Raw values are Apple's.
    public enum LogicalType: UInt, Sendable {
        /// The subpredicate is false.
        case not = 0
        /// All subpredicates are true.
        case and = 1
        /// Some subpredicate is true.
        case or = 2
    }

    /// The logical operator.
    public let compoundPredicateType: LogicalType
    /// The combined predicates.
    public let subpredicates: [NSPredicate]
    let parsed: Predicate

    /// Creates a compound predicate.
    ///
    /// - Parameter subpredicates: Exactly one for a negation.
    public init(type: LogicalType, subpredicates: [NSPredicate]) {
        compoundPredicateType = type
        self.subpredicates = subpredicates
        let parts = subpredicates.map(\.tree)
        parsed =
            switch type {
            case .not: parts.first.map { .not($0) } ?? .value(false)
            case .and: .and(parts)
            case .or: .or(parts)
            }
        super.init(value: true)
    }

    /// Creates a conjunction. True without subpredicates.
    public convenience init(andPredicateWithSubpredicates subpredicates: [NSPredicate]) {
        self.init(type: .and, subpredicates: subpredicates)
    }

    /// Creates a disjunction. False without subpredicates.
    public convenience init(orPredicateWithSubpredicates subpredicates: [NSPredicate]) {
        self.init(type: .or, subpredicates: subpredicates)
    }

    /// Creates a negation.
    public convenience init(notPredicateWithSubpredicate predicate: NSPredicate) {
        self.init(type: .not, subpredicates: [predicate])
    }

    /// - Parameter parsed: A conjunction, a disjunction or a negation.
    convenience init(_ parsed: Predicate) {
        switch parsed {
        case .and(let parts): self.init(type: .and, subpredicates: parts.map(NSPredicate.made))
        case .or(let parts): self.init(type: .or, subpredicates: parts.map(NSPredicate.made))
        case .not(let part): self.init(type: .not, subpredicates: [NSPredicate.made(part)])
        case .value, .comparison, .block: preconditionFailure("only AND, OR and NOT are compounds")
        }
    }

    // MARK: As a predicate

    open override var predicateFormat: String { parsed.formatDescription }
    open override var description: String { parsed.formatDescription }

    open override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        parsed.holds(for: object, bindings)
    }

    open override func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

    open override func copy(with zone: NSZone? = nil) -> Any { self }
    open override func copy() -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSPredicate else { return false }
        return parsed.canonical == other.tree.canonical
    }

    open override var hash: Int { parsed.canonical.hashValue }
}
