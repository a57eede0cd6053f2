// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Objects.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct ObjectsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSSnapshotEventType.undoInsertion", NSSnapshotEventType.undoInsertion, 2)
        expectDocumented("NSSnapshotEventType.undoDeletion", NSSnapshotEventType.undoDeletion, 4)
        expectDocumented("NSSnapshotEventType.undoUpdate", NSSnapshotEventType.undoUpdate, 8)
        expectDocumented("NSSnapshotEventType.rollback", NSSnapshotEventType.rollback, 16)
        expectDocumented("NSSnapshotEventType.refresh", NSSnapshotEventType.refresh, 32)
        expectDocumented("NSSnapshotEventType.mergePolicy", NSSnapshotEventType.mergePolicy, 64)
        expectDocumented("NSMergePolicyType.errorMergePolicyType", NSMergePolicyType.errorMergePolicyType, 0)
        expectDocumented("NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType", NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType, 1)
        expectDocumented("NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType", NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, 2)
        expectDocumented("NSMergePolicyType.overwriteMergePolicyType", NSMergePolicyType.overwriteMergePolicyType, 3)
        expectDocumented("NSMergePolicyType.rollbackMergePolicyType", NSMergePolicyType.rollbackMergePolicyType, 4)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSManagedObject()
        Self.usesNSManagedObjectID()
        Self.usesNSSnapshotEventType()
        Self.usesNSMergePolicy()
        Self.usesNSMergePolicyType()
        Self.usesNSMergeConflict()
        Self.usesNSConstraintConflict()
    }

    private static func usesNSManagedObject() {
        _ = { (x: NSManagedObject) -> NSObject in x }
        _ = { (a0: NSEntityDescription, a1: NSManagedObjectContext?) -> NSManagedObject in NSManagedObject(entity: a0, insertInto: a1) }
        _ = { (a0: NSManagedObjectContext) -> NSManagedObject in NSManagedObject(context: a0) }
        _ = { () -> NSEntityDescription in NSManagedObject.entity() }
        _ = { () -> NSFetchRequest<any NSFetchRequestResult> in NSManagedObject.fetchRequest() }
        _ = { () -> Bool in NSManagedObject.contextShouldIgnoreUnmodeledPropertyChanges }
        let _: KeyPath<NSManagedObject, NSManagedObjectContext?> = \.managedObjectContext
        let _: KeyPath<NSManagedObject, NSEntityDescription> = \.entity
        let _: KeyPath<NSManagedObject, NSManagedObjectID> = \.objectID
        let _: KeyPath<NSManagedObject, Bool> = \.isInserted
        let _: KeyPath<NSManagedObject, Bool> = \.isUpdated
        let _: KeyPath<NSManagedObject, Bool> = \.isDeleted
        let _: KeyPath<NSManagedObject, Bool> = \.hasChanges
        let _: KeyPath<NSManagedObject, Bool> = \.hasPersistentChangedValues
        let _: KeyPath<NSManagedObject, Bool> = \.isFault
        let _: KeyPath<NSManagedObject, Int> = \.faultingState
        _ = { (x: NSManagedObject, a0: String) -> Bool in x.hasFault(forRelationshipNamed: a0) }
        _ = { (x: NSManagedObject, a0: String) -> [NSManagedObjectID] in x.objectIDs(forRelationshipNamed: a0) }
        _ = { (x: NSManagedObject) -> Void in x.awakeFromFetch() }
        _ = { (x: NSManagedObject) -> Void in x.awakeFromInsert() }
        _ = { (x: NSManagedObject, a0: NSSnapshotEventType) -> Void in x.awake(fromSnapshotEvents: a0) }
        _ = { (x: NSManagedObject) -> Void in x.prepareForDeletion() }
        _ = { (x: NSManagedObject) -> Void in x.willSave() }
        _ = { (x: NSManagedObject) -> Void in x.didSave() }
        _ = { (x: NSManagedObject) -> Void in x.willTurnIntoFault() }
        _ = { (x: NSManagedObject) -> Void in x.didTurnIntoFault() }
        _ = { (x: NSManagedObject, a0: String?) -> Void in x.willAccessValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: String?) -> Void in x.didAccessValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: String) -> Void in x.willChangeValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: String) -> Void in x.didChangeValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: String) -> Any? in x.value(forKey: a0) }
        _ = { (x: NSManagedObject, a0: Any?, a1: String) -> Void in x.setValue(a0, forKey: a1) }
        _ = { (x: NSManagedObject, a0: String) -> Any? in x.value(forKeyPath: a0) }
        _ = { (x: NSManagedObject, a0: Any?, a1: String) -> Void in x.setValue(a0, forKeyPath: a1) }
        _ = { (x: NSManagedObject, a0: [String: Any]) -> Void in x.setValuesForKeys(a0) }
        _ = { (x: NSManagedObject, a0: [String]) -> [String: Any] in x.dictionaryWithValues(forKeys: a0) }
        _ = { (x: NSManagedObject, a0: String) -> Any? in x.primitiveValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: Any?, a1: String) -> Void in x.setPrimitiveValue(a0, forKey: a1) }
        _ = { (x: NSManagedObject, a0: String) -> NSMutableSet in x.mutableSetValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: String) -> NSMutableOrderedSet in x.mutableOrderedSetValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: [String]?) -> [String: Any] in x.committedValues(forKeys: a0) }
        _ = { (x: NSManagedObject) -> [String: Any] in x.changedValues() }
        _ = { (x: NSManagedObject) -> [String: Any] in x.changedValuesForCurrentEvent() }
        _ = { (x: NSManagedObject) throws -> Void in try x.validateForDelete() }
        _ = { (x: NSManagedObject) throws -> Void in try x.validateForInsert() }
        _ = { (x: NSManagedObject) throws -> Void in try x.validateForUpdate() }
    }

    private static func usesNSManagedObjectID() {
        _ = { (x: NSManagedObjectID) -> NSObject in x }
        _ = { (x: NSManagedObjectID) -> any NSCopying in x }
        _ = { (x: NSManagedObjectID) -> any NSFetchRequestResult in x }
        let _: KeyPath<NSManagedObjectID, NSEntityDescription> = \.entity
        let _: KeyPath<NSManagedObjectID, NSPersistentStore?> = \.persistentStore
        let _: KeyPath<NSManagedObjectID, Bool> = \.isTemporaryID
        _ = { (x: NSManagedObjectID) -> URL in x.uriRepresentation() }
    }

    private static func usesNSSnapshotEventType() {
        _ = { (x: NSSnapshotEventType) -> any OptionSet in x }
        _ = { () -> NSSnapshotEventType in .undoInsertion }
        _ = { () -> NSSnapshotEventType in .undoDeletion }
        _ = { () -> NSSnapshotEventType in .undoUpdate }
        _ = { () -> NSSnapshotEventType in .rollback }
        _ = { () -> NSSnapshotEventType in .refresh }
        _ = { () -> NSSnapshotEventType in .mergePolicy }
    }

    private static func usesNSMergePolicy() {
        _ = { (x: NSMergePolicy) -> NSObject in x }
        _ = { (a0: NSMergePolicyType) -> NSMergePolicy in NSMergePolicy(merge: a0) }
        _ = { () -> NSMergePolicy in NSMergePolicy.error }
        _ = { () -> NSMergePolicy in NSMergePolicy.rollback }
        _ = { () -> NSMergePolicy in NSMergePolicy.overwrite }
        _ = { () -> NSMergePolicy in NSMergePolicy.mergeByPropertyObjectTrump }
        _ = { () -> NSMergePolicy in NSMergePolicy.mergeByPropertyStoreTrump }
        let _: KeyPath<NSMergePolicy, NSMergePolicyType> = \.mergeType
        _ = { (x: NSMergePolicy, a0: [Any]) throws -> Void in try x.resolve(mergeConflicts: a0) }
        _ = { (x: NSMergePolicy, a0: [NSMergeConflict]) throws -> Void in try x.resolve(optimisticLockingConflicts: a0) }
        _ = { (x: NSMergePolicy, a0: [NSConstraintConflict]) throws -> Void in try x.resolve(constraintConflicts: a0) }
    }

    private static func usesNSMergePolicyType() {
        _ = NSMergePolicyType.self
        _ = { () -> NSMergePolicyType in .errorMergePolicyType }
        _ = { () -> NSMergePolicyType in .mergeByPropertyStoreTrumpMergePolicyType }
        _ = { () -> NSMergePolicyType in .mergeByPropertyObjectTrumpMergePolicyType }
        _ = { () -> NSMergePolicyType in .overwriteMergePolicyType }
        _ = { () -> NSMergePolicyType in .rollbackMergePolicyType }
    }

    private static func usesNSMergeConflict() {
        _ = { (x: NSMergeConflict) -> NSObject in x }
        let _: KeyPath<NSMergeConflict, NSManagedObject> = \.sourceObject
        let _: KeyPath<NSMergeConflict, [String: Any]?> = \.objectSnapshot
        let _: KeyPath<NSMergeConflict, [String: Any]?> = \.cachedSnapshot
        let _: KeyPath<NSMergeConflict, [String: Any]?> = \.persistedSnapshot
        let _: KeyPath<NSMergeConflict, Int> = \.newVersionNumber
        let _: KeyPath<NSMergeConflict, Int> = \.oldVersionNumber
    }

    private static func usesNSConstraintConflict() {
        _ = { (x: NSConstraintConflict) -> NSObject in x }
        let _: KeyPath<NSConstraintConflict, [String]> = \.constraint
        let _: KeyPath<NSConstraintConflict, [String: Any]> = \.constraintValues
        let _: KeyPath<NSConstraintConflict, NSManagedObject?> = \.databaseObject
        let _: KeyPath<NSConstraintConflict, [AnyHashable: Any]?> = \.databaseSnapshot
        let _: KeyPath<NSConstraintConflict, [NSManagedObject]> = \.conflictingObjects
        let _: KeyPath<NSConstraintConflict, [[AnyHashable: Any]]> = \.conflictingSnapshots
    }

    static var propertiesOfNSManagedObject: [(name: String, path: PartialKeyPath<NSManagedObject>)] {
        [
            ("managedObjectContext", \.managedObjectContext),
            ("entity", \.entity),
            ("objectID", \.objectID),
            ("isInserted", \.isInserted),
            ("isUpdated", \.isUpdated),
            ("isDeleted", \.isDeleted),
            ("hasChanges", \.hasChanges),
            ("hasPersistentChangedValues", \.hasPersistentChangedValues),
            ("isFault", \.isFault),
            ("faultingState", \.faultingState),
        ]
    }

    static var propertiesOfNSManagedObjectID: [(name: String, path: PartialKeyPath<NSManagedObjectID>)] {
        [
            ("entity", \.entity),
            ("persistentStore", \.persistentStore),
            ("isTemporaryID", \.isTemporaryID),
        ]
    }

    static var propertiesOfNSMergePolicy: [(name: String, path: PartialKeyPath<NSMergePolicy>)] {
        [
            ("mergeType", \.mergeType),
        ]
    }

    static var propertiesOfNSMergeConflict: [(name: String, path: PartialKeyPath<NSMergeConflict>)] {
        [
            ("sourceObject", \.sourceObject),
            ("objectSnapshot", \.objectSnapshot),
            ("cachedSnapshot", \.cachedSnapshot),
            ("persistedSnapshot", \.persistedSnapshot),
            ("newVersionNumber", \.newVersionNumber),
            ("oldVersionNumber", \.oldVersionNumber),
        ]
    }

    static var propertiesOfNSConstraintConflict: [(name: String, path: PartialKeyPath<NSConstraintConflict>)] {
        [
            ("constraint", \.constraint),
            ("constraintValues", \.constraintValues),
            ("databaseObject", \.databaseObject),
            ("databaseSnapshot", \.databaseSnapshot),
            ("conflictingObjects", \.conflictingObjects),
            ("conflictingSnapshots", \.conflictingSnapshots),
        ]
    }
}
