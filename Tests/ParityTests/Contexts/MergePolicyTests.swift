// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite @MainActor struct MergePolicyTests {
    /// Two contexts over one store that both hold the same saved card.
    private struct Pair {
        let first: NSManagedObjectContext
        let second: NSManagedObjectContext
        let mine: Card
        let theirs: Card

        @MainActor init(policy: NSMergePolicy) throws {
            first = try Boards.mainContext()
            second = Boards.context(.mainQueueConcurrencyType, over: try #require(first.persistentStoreCoordinator))
            second.mergePolicy = policy
            mine = Boards.card("base", in: first)
            mine.setValue("base", forKey: "note")
            try first.save()
            theirs = try second.own(mine)
            #expect(theirs.text("title") == "base")
        }

        /// The store's values of the card: title, points and note.
        @MainActor func stored() throws -> String {
            let context = Boards.context(.mainQueueConcurrencyType, over: try #require(first.persistentStoreCoordinator))
            return MergePolicyTests.line(try context.own(mine))
        }
    }

    private static func line(_ card: Card) -> String {
        "\(card.text("title") ?? "") \(card.value(forKey: "points") as? Int32 ?? 0) \(card.text("note") ?? "")"
    }

    /// Records its calls and passes them to `super`, or resolves the conflict itself.
    private final class Recording: NSMergePolicy, @unchecked Sendable {
        // Unchecked: used by one context.
        var asked: [String] = []
        var conflicts: [NSMergeConflict] = []
        var settles: ((NSMergeConflict) -> Void)?

        override func resolve(mergeConflicts list: [Any]) throws {
            asked.append("all")
            try super.resolve(mergeConflicts: list)
        }
        override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
            asked.append("locking")
            conflicts += list
            if let settles { list.forEach(settles) }
            try super.resolve(optimisticLockingConflicts: list)
        }
    }

    @Test func mergePoliciesHaveTheirTypes() {
        let expected: [(NSMergePolicy, UInt)] = [
            (.error, 0), (.mergeByPropertyStoreTrump, 1), (.mergeByPropertyObjectTrump, 2), (.overwrite, 3), (.rollback, 4),
        ]
        for (policy, type) in expected { #expect(policy.mergeType.rawValue == type) }
        #expect(NSMergePolicy(merge: .overwriteMergePolicyType).mergeType == .overwriteMergePolicyType)
        #expect((NSErrorMergePolicy as? NSMergePolicy)?.mergeType == .errorMergePolicyType)
        #expect((NSOverwriteMergePolicy as? NSMergePolicy)?.mergeType == .overwriteMergePolicyType)
        #expect((NSRollbackMergePolicy as? NSMergePolicy)?.mergeType == .rollbackMergePolicyType)
        #expect((NSMergeByPropertyObjectTrumpMergePolicy as? NSMergePolicy)?.mergeType == .mergeByPropertyObjectTrumpMergePolicyType)
        #expect((NSMergeByPropertyStoreTrumpMergePolicy as? NSMergePolicy)?.mergeType == .mergeByPropertyStoreTrumpMergePolicyType)
        #expect(
            (NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType).mergePolicy as? NSMergePolicy)?.mergeType
                == .errorMergePolicyType)
    }

    @Test(arguments: [
        (NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType, "mine", 9, "mine"),
        (.mergeByPropertyObjectTrumpMergePolicyType, "theirs", 9, "mine"),
        (.overwriteMergePolicyType, "theirs", 9, "base"), (.rollbackMergePolicyType, "mine", 1, "mine"),
    ])
    func propertiesAreMergedByTheMergePolicy(type: NSMergePolicyType, title: String, points: Int32, note: String) throws {
        let pair = try Pair(policy: NSMergePolicy(merge: type))
        pair.mine.setValue("mine", forKey: "title")
        pair.mine.setValue("mine", forKey: "note")
        try pair.first.save()
        pair.theirs.setValue("theirs", forKey: "title")
        pair.theirs.setValue(9, forKey: "points")
        try pair.second.save()
        #expect(!pair.second.hasChanges)
        #expect(Self.line(pair.theirs) == "\(title) \(points) \(note)")
        #expect(try pair.stored() == "\(title) \(points) \(note)")
    }

    @Test func theErrorPolicyFailsTheSaveAndKeepsPendingChanges() throws {
        let pair = try Pair(policy: .error)
        pair.mine.setValue("mine", forKey: "title")
        try pair.first.save()
        pair.theirs.setValue("theirs", forKey: "title")
        do {
            try pair.second.save()
            Issue.record("a conflict was saved")
        } catch let error as CocoaError {
            #expect(error.code == .managedObjectMerge)
            #expect(error.code.rawValue == 133020)
            let conflicts = try #require(error.userInfo["conflictList"] as? [NSMergeConflict])
            let conflict = try #require(conflicts.first)
            #expect(conflicts.count == 1)
            #expect(conflict.sourceObject === pair.theirs)
            #expect(conflict.oldVersionNumber == 1)
            #expect(conflict.newVersionNumber == 2)
            #expect(conflict.objectSnapshot?["title"] as? String == "base")
            #expect(conflict.cachedSnapshot?["title"] as? String == "mine")
            #expect(conflict.cachedSnapshot?["note"] as? String == "base")
            #expect(conflict.cachedSnapshot?["labels"] == nil)
            #expect(conflict.persistedSnapshot == nil)
        }
        #expect(pair.theirs.text("title") == "theirs")
        #expect(pair.second.hasChanges)
        #expect(try pair.stored() == "mine 1 base")
        pair.second.refresh(pair.theirs, mergeChanges: true)
        try pair.second.save()
        #expect(try pair.stored() == "theirs 1 base")
    }

    @Test func aDeletedRowHasNoNewVersion() throws {
        let pair = try Pair(policy: .error)
        pair.first.delete(pair.mine)
        try pair.first.save()
        pair.theirs.setValue("theirs", forKey: "title")
        do {
            try pair.second.save()
            Issue.record("a conflict was saved")
        } catch let error as CocoaError {
            let conflict = try #require((error.userInfo["conflictList"] as? [NSMergeConflict])?.first)
            #expect(conflict.newVersionNumber == 0)
            #expect(conflict.oldVersionNumber == 1)
        }
        pair.second.mergePolicy = NSMergePolicy.rollback
        try pair.second.save()
        #expect(!pair.second.hasChanges)
        #expect(try pair.second.titles() == [])
    }

    @Test func mergePolicySubclassesResolveConflicts() throws {
        let policy = Recording(merge: .mergeByPropertyObjectTrumpMergePolicyType)
        let pair = try Pair(policy: policy)
        policy.settles = { $0.sourceObject.setValue("settled", forKey: "note") }
        pair.mine.setValue("mine", forKey: "title")
        try pair.first.save()
        pair.theirs.setValue(4, forKey: "points")
        try pair.second.save()
        #expect(policy.asked == ["all", "locking"])
        #expect(policy.conflicts.map(\.sourceObject) == [pair.theirs])
        #expect(try pair.stored() == "mine 4 settled")
        pair.theirs.setValue(5, forKey: "points")
        try pair.second.save()
        #expect(policy.asked.count == 2)
    }

    @Test func mergePolicySubclassesMayThrow() throws {
        final class Refusing: NSMergePolicy, @unchecked Sendable {
            // Unchecked: without state.
            override func resolve(mergeConflicts list: [Any]) throws { throw CocoaError(.validationStringTooLong) }
        }
        let pair = try Pair(policy: Refusing(merge: .overwriteMergePolicyType))
        pair.mine.setValue("mine", forKey: "title")
        try pair.first.save()
        pair.theirs.setValue("theirs", forKey: "title")
        #expect { try pair.second.save() } throws: { ($0 as? CocoaError)?.code == .validationStringTooLong }
        #expect(pair.theirs.hasChanges)
    }

    @Test func mergePoliciesResolveConflictsPassedDirectly() throws {
        let pair = try Pair(policy: .error)
        pair.theirs.setValue("theirs", forKey: "title")
        let conflict = NSMergeConflict(
            source: pair.theirs, newVersion: 2, oldVersion: 1, cachedSnapshot: ["title": "cached", "note": "cached"], persistedSnapshot: nil
        )
        #expect(conflict.sourceObject === pair.theirs)
        #expect(conflict.newVersionNumber == 2)
        #expect(conflict.oldVersionNumber == 1)
        #expect(throws: CocoaError.self) { try NSMergePolicy.error.resolve(mergeConflicts: [conflict]) }
        #expect(pair.theirs.text("title") == "theirs")
        try NSMergePolicy.mergeByPropertyObjectTrump.resolve(optimisticLockingConflicts: [conflict])
        #expect(pair.theirs.text("title") == "theirs")
        #expect(pair.theirs.text("note") == "cached")
        try NSMergePolicy.overwrite.resolve(mergeConflicts: [])
    }

    @Test func detectingConflictsFindsChangesUnderUnchangedObjects() throws {
        let pair = try Pair(policy: .error)
        let other = Boards.card("other", in: pair.second)
        try pair.second.save()
        pair.mine.setValue("mine", forKey: "title")
        try pair.first.save()
        other.setValue(2, forKey: "points")
        try pair.second.save()
        other.setValue(3, forKey: "points")
        pair.second.detectConflicts(for: pair.theirs)
        #expect { try pair.second.save() } throws: { ($0 as? CocoaError)?.code == .managedObjectMerge }
        pair.second.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
        try pair.second.save()
        #expect(pair.theirs.text("title") == "mine")
        #expect(!pair.second.hasChanges)
    }

    @Test func constraintConflictsListTheSharedValues() throws {
        let context = try Boards.mainContext()
        let (a, b) = (Boards.card("same", in: context), Boards.card("same", in: context))
        let conflict = NSConstraintConflict(
            constraint: ["title"], database: nil, databaseSnapshot: nil, conflicting: [a, b], conflictingSnapshots: [])
        #expect(conflict.constraint == ["title"])
        #expect(conflict.constraintValues["title"] as? String == "same")
        #expect(conflict.conflictingObjects == [a, b])
        #expect(conflict.databaseObject == nil)
        #expect(conflict.databaseSnapshot == nil)
        #expect { try NSMergePolicy.error.resolve(mergeConflicts: [conflict]) } throws: {
            ($0 as? CocoaError)?.code.rawValue == 133021
        }
    }
}
