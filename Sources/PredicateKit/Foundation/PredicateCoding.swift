// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Gives predicates, which Foundation on Linux cannot archive, an initializer for coders: a protocol may add one, an
/// extension of a class may not.
public protocol _PredicateCoding: NSSecureCoding {}

extension _PredicateCoding {
    /// Returns true: predicates archive securely.
    public static var supportsSecureCoding: Bool { true }

    /// Unarchives a predicate.
    ///
    /// - Returns: nil for another archive, or a predicate of another class.
    public init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "format") as String?,
            let tree = try? Predicate(format: text), let made = NSPredicate.made(tree) as? Self
        else { return nil }
        self = made
    }

    /// Archives the predicate as its format, not in Apple's layout.
    ///
    /// - Precondition: The predicate has neither objects nor blocks.
    ///
    /// Source: `NSPredicate`, "init(block:)": block predicates cannot be encoded.
    public func encode(with coder: NSCoder) {
        guard let predicate = self as? NSPredicate else { return }
        let tree = predicate.tree
        precondition(tree.isFormat, "a predicate with objects or blocks in it cannot be archived: \(tree.formatDescription)")
        coder.encode(tree.formatDescription as NSString, forKey: "format")
    }
}

extension NSPredicate: @retroactive NSCoding, @retroactive NSSecureCoding, _PredicateCoding {}

extension NSExpression: NSSecureCoding {
    /// Returns true: expressions archive securely.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the expression as its format.
    ///
    /// - Precondition: The expression has neither objects nor blocks.
    public func encode(with coder: NSCoder) {
        precondition(tree.isFormat, "an expression with objects or blocks in it cannot be archived: \(description)")
        coder.encode(tree.formatDescription as NSString, forKey: "format")
    }
}

extension Predicate {
    /// Whether the predicate's format represents all of it.
    var isFormat: Bool {
        switch self {
        case .value: true
        case .and(let parts), .or(let parts): parts.allSatisfy(\.isFormat)
        case .not(let part): part.isFormat
        case .comparison(let comparison): comparison.left.isFormat && comparison.right.isFormat
        case .block: false
        }
    }
}

extension Expression {
    var isFormat: Bool {
        switch self {
        case .constant(let value): value.isFormat
        case .keyPath, .selfObject, .variable, .anyKey: true
        case .path(let base, _): base.isFormat
        case .function(_, let arguments), .aggregate(let arguments): arguments.allSatisfy(\.isFormat)
        case .message(let target, _, let arguments): target.isFormat && arguments.allSatisfy(\.isFormat)
        case .subquery(let collection, _, let predicate): collection.isFormat && predicate.isFormat
        case .conditional(let predicate, let first, let second):
            predicate.isFormat && first.isFormat && second.isFormat
        case .combination(_, let first, let second): first.isFormat && second.isFormat
        case .block: false
        }
    }
}

extension PredicateValue {
    fileprivate var isFormat: Bool {
        switch self {
        case .object(let object): object.reference is NSNull
        case .list(let members): members.allSatisfy(\.isFormat)
        default: true
        }
    }
}
