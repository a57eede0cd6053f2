// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// A to-one relationship to a row that a plan deletes or withholds, of an object with its record in another zone than the plan's.
package struct ClearedReference: Hashable, Sendable {
    /// The object with the relationship.
    package let key: RowKey
    let relationship: String
    /// Record name of the target.
    let destination: String

    /// Returns the deferred reference that the object gets, as an object of the plan's zone does: the empty slot is no change of this
    /// device, and takes the target when that returns.
    ///
    /// - Parameter state: The object's current record.
    /// - Returns: nil if the server's record does not name the target.
    package func deferred(of state: RecordState, mapping: RecordMapping) -> ParkedRelationship? {
        guard let property = mapping.entities[state.key.entityIndex]?.property(named: relationship),
            property.content(in: state.ancestor.fields) == .inline(.string(destination))
        else { return nil }
        return ParkedRelationship(source: state.recordName, relationship: relationship, destination: destination)
    }
}
