// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Merge policies for rows that one side deleted, and the snapshots of a conflict.
@Suite struct ConflictTableTests {
    private struct Pair {
        let mine: NSManagedObjectContext
        let theirs: NSManagedObjectContext
        let id: NSManagedObjectID
    }

    /// Two contexts that both read the same saved item.
    private func pair(_ type: NSMergePolicyType) throws -> Pair {
        let coordinator = try Depot.coordinator(NSInMemoryStoreType, at: nil)
        let (mine, theirs) = (Depot.context(over: coordinator), Depot.context(over: coordinator))
        let id = try theirs.performAndWait {
            let item = Depot.insert("Item", ["name": "base", "count": 1], into: theirs)
            try theirs.save()
            return item.objectID
        }
        try mine.performAndWait {
            mine.mergePolicy = NSMergePolicy(merge: type)
            // Unsaved changes retain the object.
            mine.retainsRegisteredObjects = true
            let item = try mine.existingObject(with: id)
            #expect(item.value(forKey: "name") as? String == "base")
        }
        return Pair(mine: mine, theirs: theirs, id: id)
    }

    private func stored(_ pair: Pair) throws -> [String] {
        let context = Depot.context(over: try #require(pair.mine.persistentStoreCoordinator))
        return try context.performAndWait { Depot.names(try context.fetch(Depot.request("Item"))) }
    }

    @Test(arguments: [
        (NSMergePolicyType.errorMergePolicyType, true), (.mergeByPropertyObjectTrumpMergePolicyType, true),
        (.overwriteMergePolicyType, true),
        (.mergeByPropertyStoreTrumpMergePolicyType, false), (.rollbackMergePolicyType, false),
    ])
    func anUpdateOfADeletedRow(_ type: NSMergePolicyType, fails: Bool) throws {
        let pair = try pair(type)
        try pair.theirs.performAndWait {
            pair.theirs.delete(try pair.theirs.existingObject(with: pair.id))
            try pair.theirs.save()
        }
        pair.mine.performAndWait {
            let item = pair.mine.object(with: pair.id)
            item.setValue("mine", forKey: "name")
            #expect(Depot.code { try pair.mine.save() } == (fails ? 133_020 : nil))
            #expect(pair.mine.hasChanges == fails)
            #expect((item.managedObjectContext == nil) == !fails)
        }
        #expect(try stored(pair) == [])
    }

    @Test(
        arguments: [
            (NSMergePolicyType.errorMergePolicyType, ["theirs"], 133_020), (.rollbackMergePolicyType, ["theirs"], nil),
            (.mergeByPropertyObjectTrumpMergePolicyType, [], nil), (.overwriteMergePolicyType, [], nil),
            (.mergeByPropertyStoreTrumpMergePolicyType, [], nil),
        ] as [(NSMergePolicyType, [String], Int?)])
    func aDeletionOfAChangedRow(_ type: NSMergePolicyType, names: [String], code: Int?) throws {
        let pair = try pair(type)
        try pair.theirs.performAndWait {
            try pair.theirs.existingObject(with: pair.id).setValue("theirs", forKey: "name")
            try pair.theirs.save()
        }
        pair.mine.performAndWait {
            let item = pair.mine.object(with: pair.id)
            pair.mine.delete(item)
            #expect(Depot.code { try pair.mine.save() } == code)
            #expect(pair.mine.hasChanges == (code != nil))
            if type == .rollbackMergePolicyType { #expect(item.value(forKey: "name") as? String == "theirs") }
        }
        #expect(try stored(pair) == names)
    }

    @Test(arguments: [
        NSMergePolicyType.errorMergePolicyType, .rollbackMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
        .overwriteMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType,
    ])
    func aDeletionOfADeletedRowIsNoConflict(_ type: NSMergePolicyType) throws {
        let pair = try pair(type)
        for context in [pair.theirs, pair.mine] {
            try context.performAndWait {
                context.delete(context.object(with: pair.id))
                try context.save()
                #expect(!context.hasChanges)
            }
        }
        #expect(try stored(pair) == [])
    }

    @Test func aConflictThatASubclassLeavesAloneKeepsTheObjectsChanges() throws {
        final class Silent: NSMergePolicy, @unchecked Sendable {
            // Unchecked: without state.
            override func resolve(mergeConflicts list: [Any]) throws {}
        }
        let pair = try pair(.errorMergePolicyType)
        try pair.theirs.performAndWait {
            try pair.theirs.existingObject(with: pair.id).setValuesForKeys(["name": "theirs", "count": 2])
            try pair.theirs.save()
        }
        try pair.mine.performAndWait {
            pair.mine.mergePolicy = Silent(merge: .errorMergePolicyType)
            pair.mine.object(with: pair.id).setValue("mine", forKey: "name")
            try pair.mine.save()
        }
        #expect(try stored(pair) == ["mine"])
    }

    /// A row that another coordinator wrote is persisted, and not cached.
    @Test func aConflictWithTheFileHasAPersistedSnapshot() throws {
        let place = try Depot.folder().appendingPathComponent("depot.sqlite")
        let coordinators = [try Depot.coordinator(NSSQLiteStoreType, at: place), try Depot.coordinator(NSSQLiteStoreType, at: place)]
        let (mine, theirs) = (Depot.context(over: coordinators[0]), Depot.context(over: coordinators[1]))
        let id = try mine.performAndWait {
            let item = Depot.insert("Item", ["name": "base"], into: mine)
            try mine.save()
            item.setValue("mine", forKey: "name")
            return item.objectID
        }
        try theirs.performAndWait {
            let counterpart = try #require(coordinators[1].managedObjectID(forURIRepresentation: id.uriRepresentation()))
            try theirs.existingObject(with: counterpart).setValue("theirs", forKey: "name")
            try theirs.save()
        }
        try mine.performAndWait {
            let error = #expect(throws: CocoaError.self) { try mine.save() }
            let conflict = try #require((error?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])?.first)
            #expect(conflict.persistedSnapshot?["name"] as? String == "theirs")
            #expect(conflict.cachedSnapshot?["name"] as? String == "base")
            #expect(conflict.objectSnapshot?["name"] as? String == "base")
            #expect(conflict.newVersionNumber == 2)
            #expect(conflict.oldVersionNumber == 1)
        }
    }
}
