// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Life cycle, IDs and merges of objects that pass from a child to its parent.
@Suite @MainActor struct ParentLifeTests {
    @Test func hooksOfInsertionAndDeletionRunInTheChildOnly() throws {
        let root = try Boards.mainContext()
        let child = Boards.child(of: root)
        let card = Boards.card("card", in: child)
        #expect(card.log == ["awakeFromInsert"])
        try child.save()
        let above = try #require(root.insertedObjects.first as? Card)
        #expect(above.log == [])
        try root.save()
        #expect(above.log == [])
        child.delete(card)
        #expect(card.log.last == "prepareForDeletion")
        try child.save()
        #expect(above.isDeleted)
        #expect(above.log == [])
        try root.save()
        #expect(try root.titles() == [])
    }

    @Test func idsBecomePermanentByTheRootsSave() async throws {
        let root = try Boards.mainContext()
        let child = Boards.child(of: root)
        let grandchild = Boards.child(of: child)
        let card = Boards.card("card", in: grandchild)
        let temporary = card.objectID
        try grandchild.save()
        try child.save()
        #expect(card.objectID == temporary)
        try root.save()
        // Each level adopts the IDs at the end of its event.
        for context in [child, grandchild] { await context.perform(schedule: .enqueued) {} }
        let above = try #require(try root.fetch(NSFetchRequest<NSManagedObject>(entityName: "Card")).first)
        #expect(!card.objectID.isTemporaryID)
        #expect(card.objectID == above.objectID)
        #expect(try grandchild.existingObject(with: above.objectID) === card)
        // The next change leads to the same row.
        card.setValue("changed", forKey: "title")
        for context in [grandchild, child, root] { try context.save() }
        #expect(try Boards.context(.mainQueueConcurrencyType, over: #require(root.persistentStoreCoordinator)).titles() == ["changed"])
    }

    @Test func aChildThatMergesFollowsWhatItsParentMerges() async throws {
        let root = try Boards.mainContext()
        root.automaticallyMergesChangesFromParent = true
        let child = Boards.child(of: root)
        child.automaticallyMergesChangesFromParent = true
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(root.persistentStoreCoordinator))
        let card = Boards.card("card", in: other)
        try other.save()
        let twin = try child.own(card)
        #expect(twin.text("title") == "card")
        card.setValue("changed", forKey: "title")
        try other.save()
        await root.perform(schedule: .enqueued) {}
        await child.perform(schedule: .enqueued) {}
        #expect(twin.text("title") == "changed")
    }

    /// Source: *Accessing data when the store changes*: a child reads its parent's generation.
    @Test func aChildHasNoQueryGeneration() throws {
        let root = try Boards.mainContext()
        let child = Boards.child(of: root)
        try root.setQueryGenerationFrom(.current)
        #expect(child.queryGenerationToken == nil)
        #expect(throws: CocoaError.self) { try child.setQueryGenerationFrom(.current) }
        try child.setQueryGenerationFrom(nil)
    }

    @Test func theMergeOfADeletionLeavesUnsavedMembersOfACascade() throws {
        let first = try Boards.mainContext()
        let second = Boards.context(.mainQueueConcurrencyType, over: try #require(first.persistentStoreCoordinator))
        let board = Board(context: first)
        try first.save()
        let card = Boards.card("unsaved", in: second)
        card.setValue(try second.own(board), forKey: "board")
        let saves = Heard(NSManagedObjectContext.didSaveObjectsNotification, from: first)
        first.delete(board)
        try first.save()
        second.mergeChanges(fromContextDidSave: try #require(saves.notes.first))
        #expect(card.isInserted)
        #expect(!card.isDeleted)
        #expect(card.one("board") == nil)
        try second.save()
        #expect(try second.titles() == ["unsaved"])
    }

    /// Without the flag, Core Data raises an exception for a fault of a deleted row.
    @Test func faultsWithoutARowEndTheProcessIfTheyAreNotToBeDeleted() async {
        await #expect(processExitsWith: .failure) {
            try await MainActor.run {
                let first = try Boards.mainContext()
                let second = Boards.context(.mainQueueConcurrencyType, over: try #require(first.persistentStoreCoordinator))
                second.shouldDeleteInaccessibleFaults = false
                let card = Boards.card("one", in: first)
                try first.save()
                let fault = second.object(with: card.objectID)
                first.delete(card)
                try first.save()
                _ = fault.text("title")
            }
        }
    }

    @Test func assigningAStoreToASavedObjectEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            try await MainActor.run {
                let context = try Boards.mainContext()
                let card = Boards.card("one", in: context)
                try context.save()
                let other = try #require(context.persistentStoreCoordinator).addPersistentStore(
                    ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
                context.assign(card, to: other)
            }
        }
    }
}
