// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

/// Raw values are Apple's.
public enum NSMergePolicyType: UInt, Sendable {
    case errorMergePolicyType = 0
    case mergeByPropertyStoreTrumpMergePolicyType = 1
    case mergeByPropertyObjectTrumpMergePolicyType = 2
    case overwriteMergePolicyType = 3
    case rollbackMergePolicyType = 4
}

/// What a save does when somebody else changed the same row.
///
/// Source: developer.apple.com/documentation/coredata/nsmergepolicy
open class NSMergePolicy: NSObject, @unchecked Sendable {
    // Unchecked: never changed after init.
    public let mergeType: NSMergePolicyType

    public init(merge type: NSMergePolicyType) { mergeType = type }

    /// Settles that values are not unique which have to be; a policy of an app's own may do so in its own way.
    ///
    /// - Throws: ``CocoaError`` 133021 with the conflicts, for the error policy.
    open func resolve(constraintConflicts list: [NSConstraintConflict]) throws { try settle(list) }

    /// The save fails with 133020.
    public static let error = NSMergePolicy(merge: .errorMergePolicyType)
    /// Property by property; the store wins where both changed.
    public static let mergeByPropertyStoreTrump = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    /// Property by property; the object wins where both changed.
    public static let mergeByPropertyObjectTrump = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    /// The whole object replaces the row.
    public static let overwrite = NSMergePolicy(merge: .overwriteMergePolicyType)
    /// The row wins; the object's changes are dropped.
    public static let rollback = NSMergePolicy(merge: .rollbackMergePolicyType)
}

public let NSErrorMergePolicy: any Sendable = NSMergePolicy.error
public let NSMergeByPropertyStoreTrumpMergePolicy: any Sendable = NSMergePolicy.mergeByPropertyStoreTrump
public let NSMergeByPropertyObjectTrumpMergePolicy: any Sendable = NSMergePolicy.mergeByPropertyObjectTrump
public let NSOverwriteMergePolicy: any Sendable = NSMergePolicy.overwrite
public let NSRollbackMergePolicy: any Sendable = NSMergePolicy.rollback

/// An object and the row under it that somebody else changed.
open class NSMergeConflict: NSObject {
    public let sourceObject: NSManagedObject
    public let objectSnapshot: [String: Any]?
    public let cachedSnapshot: [String: Any]?
    /// nil when the row is gone.
    public let persistedSnapshot: [String: Any]?
    /// 0 when the row is gone.
    public let newVersionNumber: Int
    public let oldVersionNumber: Int

    init(_ object: NSManagedObject, _ conflict: RowConflict) {
        sourceObject = object
        objectSnapshot = object.changedValues()
        cachedSnapshot = object.committedValues(forKeys: nil)
        persistedSnapshot = conflict.persisted.map { object.snapshot(of: $0) }
        newVersionNumber = Int(conflict.persisted?.version ?? 0)
        oldVersionNumber = Int(conflict.expectedVersion)
    }
}

extension NSManagedObjectContext {
    /// Brings the pending objects of some conflicts to a state whose save can be tried again.
    ///
    /// - Throws: ``CocoaError`` 133020 with every conflict the policy does not resolve; nothing was changed then.
    func resolve(_ conflicts: [RowConflict], _ saved: inout Saved) throws {
        let policy = (mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
        let met = conflicts.compactMap { conflict in registry[conflict.key].map { ($0, conflict) } }
        let unresolvable = met.filter { object, conflict in
            // Who deletes what is gone already has nothing to settle.
            if object.isDeleted, conflict.persisted == nil { return false }
            return switch policy {
            case .errorMergePolicyType: true
            case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType: conflict.persisted == nil
            case .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType: false
            }
        }
        guard unresolvable.isEmpty, !met.isEmpty else {
            throw CocoaError(
                .managedObjectMerge, sentence: "Could not merge changes: somebody else changed the same objects.",
                userInfo: [NSPersistentStoreSaveConflictsErrorKey: unresolvable.map { NSMergeConflict($0, $1) }])
        }
        let gone = met.filter { $0.1.persisted == nil }.map(\.0)
        dropReferences(to: gone)
        for object in gone {
            if object.isDeleted {
                pending.remove(object)
                saved.deleted.append(object)
            } else {
                saved.gone.append(object)
                forget(object)
            }
        }
        for (object, conflict) in met {
            guard let persisted = conflict.persisted else { continue }
            resolve(object, persisted, by: policy)
            saved.merged.append(object)
        }
    }

    private func resolve(_ object: NSManagedObject, _ persisted: Row, by policy: NSMergePolicyType) {
        if policy == .rollbackMergePolicyType {
            let wasDeleted = object.isDeleted
            pending.remove(object)
            object.revertAlone()
            _ = object.merge(persisted)
            if wasDeleted { object.leaveDeleted() }
        } else if object.isDeleted {
            // Property by property there is nothing that a deletion could be merged with, and its delete rules were
            // applied already: it stands.
            object.version = persisted.version
        } else {
            object.rebase(onto: persisted, by: policy)
        }
    }
}

extension NSManagedObject {
    /// Measures the object's changes against a newer row.
    final func rebase(onto row: Row, by policy: NSMergePolicyType) {
        let base = committed ?? values
        var merged = row.values
        for slot in values.indices {
            let changedHere = values[slot] != base[slot]
            let changedThere = row.values[slot] != base[slot]
            let keepsMine =
                switch policy {
                case .overwriteMergePolicyType: true
                case .mergeByPropertyStoreTrumpMergePolicyType: changedHere && !changedThere
                default: changedHere
                }
            if keepsMine { merged[slot] = values[slot] }
            if merged[slot] != values[slot] { reloadOwners(slot, [values[slot], base[slot], merged[slot]]) }
        }
        committed = row.values
        values = merged
        version = row.version
    }

    final func snapshot(of row: Row) -> [String: Any] {
        var result: [String: Any] = [:]
        for (index, slot) in layout.entity.slots.enumerated() {
            guard case .attribute(let attribute) = slot else { continue }
            result[attribute.name] = AttributeCoding.value(row.values[index], of: attribute) ?? NSNull()
        }
        return result
    }
}
