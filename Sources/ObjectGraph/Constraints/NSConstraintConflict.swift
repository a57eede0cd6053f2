// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Objects whose values are the same where an entity's uniqueness constraint wants them to differ.
///
/// Source: developer.apple.com/documentation/coredata/nsconstraintconflict
open class NSConstraintConflict: NSObject {
    /// Names of the properties that together have to be unique.
    open private(set) var constraint: [String]
    /// The values that they share.
    open private(set) var constraintValues: [String: Any]
    /// The object whose row is in the store; nil when only unsaved objects are in conflict.
    open private(set) var databaseObject: NSManagedObject?
    /// What the store holds for that object.
    open private(set) var databaseSnapshot: [AnyHashable: Any]?
    /// The unsaved objects.
    open private(set) var conflictingObjects: [NSManagedObject]
    /// Their values, in the same order.
    open private(set) var conflictingSnapshots: [[AnyHashable: Any]]

    public init(
        constraint: [String], database databaseObject: NSManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
        conflicting conflictingObjects: [NSManagedObject], conflictingSnapshots: [Any]
    ) {
        self.constraint = constraint
        self.databaseObject = databaseObject
        self.databaseSnapshot = databaseSnapshot
        self.conflictingObjects = conflictingObjects
        self.conflictingSnapshots = conflictingSnapshots.compactMap { $0 as? [AnyHashable: Any] }
        let values = self.conflictingSnapshots.first ?? databaseSnapshot ?? [:]
        let source = conflictingObjects.first ?? databaseObject
        constraintValues = constraint.reduce(into: [:]) { $0[$1] = values[$1] ?? source?.value(forKey: $1) ?? NSNull() }
    }

    open override var description: String {
        let entity = conflictingObjects.first?.layout.name ?? "object"
        return "<NSConstraintConflict: \(entity) \(constraint.joined(separator: ", ")), \(conflictingObjects.count) unsaved>"
    }
}
