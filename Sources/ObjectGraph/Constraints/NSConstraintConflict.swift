// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Objects that violate a uniqueness constraint of their entity.
///
/// Source: developer.apple.com/documentation/coredata/nsconstraintconflict
open class NSConstraintConflict: NSObject {
    /// Names of the properties that must be unique together.
    open private(set) var constraint: [String]
    /// The shared values, by property name.
    open private(set) var constraintValues: [String: Any]
    /// The object that the store has a row of; nil when only unsaved objects conflict.
    open private(set) var databaseObject: NSManagedObject?
    /// The store's values of that object.
    open private(set) var databaseSnapshot: [AnyHashable: Any]?
    /// The unsaved objects.
    open private(set) var conflictingObjects: [NSManagedObject]
    /// The unsaved objects' values, in the same order.
    open private(set) var conflictingSnapshots: [[AnyHashable: Any]]

    /// Creates a conflict, for merge policies and their tests.
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
