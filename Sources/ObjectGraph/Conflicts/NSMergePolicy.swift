// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// Raw values are Apple's.
public enum NSMergePolicyType: UInt, Sendable {
    case errorMergePolicyType = 0
    case mergeByPropertyStoreTrumpMergePolicyType = 1
    case mergeByPropertyObjectTrumpMergePolicyType = 2
    case overwriteMergePolicyType = 3
    case rollbackMergePolicyType = 4
}

/// What a save does when somebody else changed the same row, or values that must be unique are not.
///
/// A subclass may settle conflicts itself, by changing the objects, and leave the rest to `super`. Whatever a policy
/// leaves alone without throwing is saved with the object's changes over what the store holds.
///
/// Source: developer.apple.com/documentation/coredata/nsmergepolicy
open class NSMergePolicy: NSObject, @unchecked Sendable {
    // Unchecked: never changed after init.
    open private(set) var mergeType: NSMergePolicyType

    public init(merge type: NSMergePolicyType) { mergeType = type }

    /// The save fails with 133020, or 133021 for values that are not unique.
    public static let error = NSMergePolicy(merge: .errorMergePolicyType)
    /// Property by property; the store wins where both changed.
    public static let mergeByPropertyStoreTrump = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    /// Property by property; the object wins where both changed.
    public static let mergeByPropertyObjectTrump = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    /// The whole object replaces the row.
    public static let overwrite = NSMergePolicy(merge: .overwriteMergePolicyType)
    /// The row wins; the object's changes are dropped.
    public static let rollback = NSMergePolicy(merge: .rollbackMergePolicyType)

    /// Settles the conflicts of one attempt to save: first those of rows that others changed, then those of values
    /// that must be unique.
    ///
    /// Called on the context's queue, during its save.
    ///
    /// - Parameter list: ``NSMergeConflict``s and `NSConstraintConflict`s.
    /// - Throws: What the save is to throw; nothing is written then.
    open func resolve(mergeConflicts list: [Any]) throws {
        let locking = list.compactMap { $0 as? NSMergeConflict }
        if !locking.isEmpty { try resolve(optimisticLockingConflicts: locking) }
        let constraints = list.compactMap { $0 as? NSConstraintConflict }
        if !constraints.isEmpty { try resolve(constraintConflicts: constraints) }
    }

    /// - Throws: ``CocoaError`` 133020 with every conflict that the policy does not settle; nothing was changed then.
    open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        let unresolvable = list.filter { conflict in
            // Who deletes what is gone already has nothing to settle.
            if conflict.sourceObject.isMarkedDeleted, conflict.newVersionNumber == 0 { return false }
            return switch mergeType {
            case .errorMergePolicyType: true
            case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType: conflict.newVersionNumber == 0
            case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: false
            }
        }
        guard unresolvable.isEmpty else {
            throw CocoaError(
                .managedObjectMerge, sentence: "Could not merge changes: somebody else changed the same objects.",
                userInfo: [NSPersistentStoreSaveConflictsErrorKey: unresolvable])
        }
        for conflict in list { conflict.sourceObject.contextReference?.settle(conflict, by: mergeType) }
    }

    /// - Throws: ``CocoaError`` 133021 with every conflict that the policy does not settle; nothing was changed then.
    open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        try settle(list)
    }
}

public let NSErrorMergePolicy: any Sendable = NSMergePolicy.error
public let NSMergeByPropertyStoreTrumpMergePolicy: any Sendable = NSMergePolicy.mergeByPropertyStoreTrump
public let NSMergeByPropertyObjectTrumpMergePolicy: any Sendable = NSMergePolicy.mergeByPropertyObjectTrump
public let NSOverwriteMergePolicy: any Sendable = NSMergePolicy.overwrite
public let NSRollbackMergePolicy: any Sendable = NSMergePolicy.rollback
