// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A value that a predicate compares: a constant in it, or an object's value for a key.
///
/// Two values are equal here when they are the same case with the same payload. The meaning of `==` in a predicate (1
/// equals 1.0) is defined by ``Predicate/evaluate(on:variables:now:)``.
package enum PredicateValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case decimal(Decimal)
    case string(String)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data(Data)
    case uuid(UUID)
    /// An absolute URL's text.
    case url(String)
    case object(PredicateObject)
    /// Members of an array, a set or a to-many relationship.
    case list([PredicateValue])
}

/// An object in a predicate: a managed object, an object identifier, or another object with identity.
package struct PredicateObject: Hashable, @unchecked Sendable {
    // @unchecked: the reference is only passed on and compared. An evaluator reads its properties on the object's own
    // queue.
    package let reference: AnyObject

    package init(_ reference: AnyObject) { self.reference = reference }

    private var identity: AnyHashable {
        (reference as? any PredicateIdentified)?.predicateIdentity ?? AnyHashable(ObjectIdentifier(reference))
    }

    package static func == (a: PredicateObject, b: PredicateObject) -> Bool {
        a.reference === b.reference || a.identity == b.identity
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

/// An object that predicates compare by a key instead of its address: a managed object and its identifier have the same
/// row key, so that they are equal.
package protocol PredicateIdentified: AnyObject {
    var predicateIdentity: AnyHashable { get }
}

/// An object for which a predicate can be evaluated.
package protocol PredicateSubject {
    /// - Returns: The value of one key, never of a path; to-many relationships are a `list` of objects, an unknown key is
    ///   `null`.
    func predicateValue(forKey key: String) -> PredicateValue
}
