// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// References that a save of the app and a concurrent import leave dangling: one sets a reference, the other deletes its target.
///
/// Each is based on rows from before the other, and Core Data compares versions of the rows that both write: the referring row and that of
/// the target are different ones.
///
///     history   … ── read ──┬── app: note.book = book ──┬── mirror: delete book
///                           └────── import is planned ──┘
extension MirroredStore {
    /// Reads history behind a save of the mirror, if the app saved during the import.
    func scanConcurrentSaves() throws {
        guard let token = try historyToken(), try mayHaveSaves(after: token) else { return }
        // The import's objects have their relationships from before the app's saves: links would be missed, or removed.
        context.reset()
        try scan()
    }

    /// Clears the references to missing objects, as the delete rule of the missing object would: in objects that the app or the mirror changed
    /// from the first save of the app on that an import did not know.
    ///
    /// - Parameter transactions: History since it was last read.
    func clearDanglingReferences(after transactions: [NSPersistentHistoryTransaction]) throws {
        guard let first = transactions.firstIndex(where: { !MirrorNames.isMirror($0.author) }),
            let last = transactions.lastIndex(where: { MirrorNames.isMirror($0.author) }), first < last
        else { return }
        let ids = transactions[first...last].flatMap { $0.changes ?? [] }.filter { $0.changeType != .delete }.map(\.changedObjectID)
        try keys.load(ids)
        let changed = try objects(Set(try ids.compactMap { try keys.key(of: $0) }))
        let targets = Set(changed.values.flatMap { Self.targets(of: $0).map(\.target.objectID) })
        let existing = try objects(targets.compactMap { try keys.key(of: $0) })
        for object in changed.values {
            for (relationship, target) in Self.targets(of: object) {
                guard let key = try keys.key(of: target.objectID), existing[key] == nil else { continue }
                if relationship.isToMany {
                    object.mutableSetValue(forKey: relationship.name).remove(target)
                } else {
                    object.setValue(nil, forKey: relationship.name)
                }
            }
        }
        guard context.hasChanges else { return }
        // Not a name that a journal looks for.
        context.name = nil
        try context.save()
    }

    private static func targets(of object: NSManagedObject) -> [(relationship: NSRelationshipDescription, target: NSManagedObject)] {
        object.entity.relationshipsByName.values.filter { !$0.isTransient }.flatMap { relationship in
            let value = object.value(forKey: relationship.name)
            let targets = relationship.isToMany ? members(value) : [value as? NSManagedObject].compactMap(\.self)
            return targets.map { (relationship, $0) }
        }
    }
}
