// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// Objects with the same values where the model demands unique ones: among the pending ones, or one of them and a row
/// of the store.
///
/// Source: developer.apple.com/documentation/coredata/nsconstraintconflict
open class NSConstraintConflict: NSObject {
    /// Names of the attributes that are unique together.
    public let constraint: [String]
    public let constraintValues: [String: Any]
    /// The object of the row that has the values; nil when the conflict is among pending objects only.
    public let databaseObject: NSManagedObject?
    public let databaseSnapshot: [String: Any]?
    public let conflictingObjects: [NSManagedObject]
    public let conflictingSnapshots: [[AnyHashable: Any]]

    public init(
        constraint: [String], database databaseObject: NSManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
        conflicting conflictingObjects: [NSManagedObject], conflictingSnapshots: [Any]
    ) {
        self.constraint = constraint
        self.databaseObject = databaseObject
        self.databaseSnapshot = databaseSnapshot.map { snapshot in
            snapshot.reduce(into: [:]) { result, entry in if let name = entry.key.base as? String { result[name] = entry.value } }
        }
        self.conflictingObjects = conflictingObjects
        self.conflictingSnapshots = conflictingSnapshots.compactMap { $0 as? [AnyHashable: Any] }
        let source = conflictingObjects.first ?? databaseObject
        constraintValues = constraint.reduce(into: [:]) { $0[$1] = source?.value(forKey: $1) ?? NSNull() }
    }

    /// Leaves one object with the values. Properties of the others are lost but for those of a new object that are
    /// put on the stored one (object trump).
    ///
    /// | policy | with a row of the store | among pending objects |
    /// |---|---|---|
    /// | object trump | the stored object takes the new one's changes; the new one goes | the last one stays |
    /// | store trump, rollback | the new ones go | the first one stays |
    /// | overwrite | the stored object goes | the last one stays |
    ///
    /// What each policy does is told by practice only (unverified).
    func settle(by policy: NSMergePolicyType) {
        switch policy {
        case .mergeByPropertyObjectTrumpMergePolicyType:
            guard let last = conflictingObjects.last else { return }
            if let databaseObject {
                databaseObject.takeAttributes(of: last)
                remove(conflictingObjects.filter { $0 !== databaseObject })
            } else {
                remove(conflictingObjects.filter { $0 !== last })
            }
        case .overwriteMergePolicyType:
            remove([databaseObject].compactMap(\.self).filter { !conflictingObjects.contains($0) })
            remove(Array(conflictingObjects.dropLast()))
        case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType:
            remove(databaseObject == nil ? Array(conflictingObjects.dropFirst()) : conflictingObjects.filter { $0 !== databaseObject })
        case .errorMergePolicyType: break
        }
    }

    private func remove(_ objects: [NSManagedObject]) {
        for object in objects { object.managedObjectContext?.delete(object) }
    }
}

extension NSManagedObject {
    /// Takes the values that a new object was given.
    fileprivate final func takeAttributes(of object: NSManagedObject) {
        guard willWrite(), object.layout.entity.slots.count == values.count else { return }
        willChangeAll()
        let given = object.committed ?? object.layout.entity.defaultValues
        for (slot, definition) in layout.entity.slots.enumerated() {
            guard case .attribute = definition, object.values[slot] != given[slot] else { continue }
            values[slot] = object.values[slot]
        }
    }
}
