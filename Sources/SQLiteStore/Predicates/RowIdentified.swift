// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
package import PredicateKit

/// An object that represents a row: a managed object, or its identifier. As a constant of a predicate it becomes the
/// row's key.
package protocol RowIdentified: PredicateIdentified {
    /// nil for an object that has no row and never had one.
    var rowKey: RowKey? { get }
}

extension RowIdentified {
    package var predicateIdentity: AnyHashable { rowKey.map(AnyHashable.init) ?? AnyHashable(ObjectIdentifier(self)) }
}

/// A description of an entity as a constant of a predicate.
package protocol EntityIdentified: AnyObject {
    var identifiedEntityName: String? { get }
}
