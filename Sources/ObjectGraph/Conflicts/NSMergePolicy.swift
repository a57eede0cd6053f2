// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// The predefined merge policies. Raw values are Apple's.
public enum NSMergePolicyType: UInt, Sendable {
    /// The save fails.
    case errorMergePolicyType = 0
    /// Merges property by property; the store wins where both changed.
    case mergeByPropertyStoreTrumpMergePolicyType = 1
    /// Merges property by property; the object wins where both changed.
    case mergeByPropertyObjectTrumpMergePolicyType = 2
    /// The object replaces the row.
    case overwriteMergePolicyType = 3
    /// The row replaces the object; its changes are discarded.
    case rollbackMergePolicyType = 4
}

/// The resolution of conflicts at a save: concurrently changed rows, and values that violate a uniqueness constraint.
///
/// A subclass may resolve conflicts itself, by changing the objects, and pass the others to `super`. Conflicts that a
/// policy leaves alone without throwing are resolved in favour of the object's changes.
///
/// Source: developer.apple.com/documentation/coredata/nsmergepolicy
open class NSMergePolicy: NSObject, @unchecked Sendable {
    // Unchecked: immutable after init.
    /// The predefined policy that this one resolves conflicts by.
    open private(set) var mergeType: NSMergePolicyType

    /// Creates a policy of a predefined type.
    public init(merge type: NSMergePolicyType) { mergeType = type }

    /// The save fails with 133020, or 133021 for values that are not unique.
    public static let error = NSMergePolicy(merge: .errorMergePolicyType)
    /// Merges property by property; the store wins where both changed.
    public static let mergeByPropertyStoreTrump = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    /// Merges property by property; the object wins where both changed.
    public static let mergeByPropertyObjectTrump = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    /// The whole object replaces the row.
    public static let overwrite = NSMergePolicy(merge: .overwriteMergePolicyType)
    /// The row replaces the object; its changes are discarded.
    public static let rollback = NSMergePolicy(merge: .rollbackMergePolicyType)

    /// Resolves the conflicts of one attempt to save: first those of concurrently changed rows, then those of uniqueness
    /// constraints.
    ///
    /// Called on the context's queue, during its save.
    ///
    /// - Parameter list: ``NSMergeConflict``s and `NSConstraintConflict`s.
    /// - Throws: The error that the save throws; nothing is written then.
    open func resolve(mergeConflicts list: [Any]) throws {
        let locking = list.compactMap { $0 as? NSMergeConflict }
        if !locking.isEmpty { try resolve(optimisticLockingConflicts: locking) }
        let constraints = list.compactMap { $0 as? NSConstraintConflict }
        if !constraints.isEmpty { try resolve(constraintConflicts: constraints) }
    }

    /// Resolves conflicts with concurrently changed rows.
    ///
    /// - Throws: `CocoaError` 133020 with the unresolved conflicts; nothing was changed then.
    open func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        let unresolvable = list.filter { conflict in
            // The object is deleted on both sides: no conflict.
            if conflict.sourceObject.isMarkedDeleted, conflict.newVersionNumber == 0 { return false }
            return switch mergeType {
            case .errorMergePolicyType: true
            case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType: conflict.newVersionNumber == 0
            case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: false
            }
        }
        guard unresolvable.isEmpty else {
            throw CocoaError(
                .managedObjectMerge, sentence: "Could not merge changes: the same objects were changed concurrently.",
                userInfo: [NSPersistentStoreSaveConflictsErrorKey: unresolvable])
        }
        for conflict in list { conflict.sourceObject.contextReference?.rebase(conflict, by: mergeType) }
    }

    /// Resolves conflicts of uniqueness constraints.
    ///
    /// - Throws: `CocoaError` 133021 with the unresolved conflicts; nothing was changed then.
    open func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        try resolveByType(list)
    }
}

/// ``NSMergePolicy/error``.
public let NSErrorMergePolicy: any Sendable = NSMergePolicy.error
/// ``NSMergePolicy/mergeByPropertyStoreTrump``.
public let NSMergeByPropertyStoreTrumpMergePolicy: any Sendable = NSMergePolicy.mergeByPropertyStoreTrump
/// ``NSMergePolicy/mergeByPropertyObjectTrump``.
public let NSMergeByPropertyObjectTrumpMergePolicy: any Sendable = NSMergePolicy.mergeByPropertyObjectTrump
/// ``NSMergePolicy/overwrite``.
public let NSOverwriteMergePolicy: any Sendable = NSMergePolicy.overwrite
/// ``NSMergePolicy/rollback``.
public let NSRollbackMergePolicy: any Sendable = NSMergePolicy.rollback
