// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What a format with AND, OR or NOT makes: Foundation's class, with a text and equality by structure.
final class ParsedCompoundPredicate: NSCompoundPredicate {
    let parsed: Predicate

    /// - Parameter parsed: A conjunction, a disjunction or a negation.
    init(_ parsed: Predicate) {
        self.parsed = parsed
        switch parsed {
        case .and(let parts): super.init(type: .and, subpredicates: parts.map(NSPredicate.made))
        case .or(let parts): super.init(type: .or, subpredicates: parts.map(NSPredicate.made))
        case .not(let part): super.init(type: .not, subpredicates: [NSPredicate.made(part)])
        case .value, .comparison, .block: preconditionFailure("only AND, OR and NOT are compounds")
        }
    }

    override var predicateFormat: String { parsed.formatDescription }
    override var description: String { parsed.formatDescription }

    override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        parsed.holds(for: object, bindings)
    }

    override func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

    override func copy(with zone: NSZone? = nil) -> Any { self }
    override func copy() -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSCompoundPredicate else { return false }
        return parsed.canonical == other.tree.canonical
    }

    override var hash: Int { parsed.canonical.hashValue }
}

/// TRUEPREDICATE and FALSEPREDICATE of a format.
final class ParsedConstantPredicate: NSPredicate {
    let value: Bool

    override init(value: Bool) {
        self.value = value
        super.init(value: value)
    }

    override var predicateFormat: String { Predicate.value(value).formatDescription }
    override var description: String { Predicate.value(value).formatDescription }

    override func copy(with zone: NSZone? = nil) -> Any { self }
    override func copy() -> Any { self }

    override func isEqual(_ object: Any?) -> Bool { (object as? NSPredicate)?.tree == .value(value) }
    override var hash: Int { value.hashValue }
}
