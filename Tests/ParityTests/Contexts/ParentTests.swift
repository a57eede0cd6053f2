// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite @MainActor struct ParentTests {
    /// A parent over a store, its child, and the child's child.
    private func chain() throws -> (root: NSManagedObjectContext, child: NSManagedObjectContext, grandchild: NSManagedObjectContext) {
        let root = try Boards.mainContext()
        let child = Boards.child(of: root)
        return (root, child, Boards.child(of: child))
    }

    @Test func aChildHasItsParentsCoordinator() throws {
        let (root, child, grandchild) = try chain()
        #expect(child.parent === root)
        #expect(grandchild.parent === child)
        #expect(root.parent == nil)
        #expect(child.persistentStoreCoordinator === root.persistentStoreCoordinator)
        #expect(grandchild.persistentStoreCoordinator === root.persistentStoreCoordinator)
        #expect(Card(context: grandchild).entity === Card(context: root).entity)
    }

    @Test func aChildReadsItsParentsUnsavedChanges() throws {
        let (root, child, grandchild) = try chain()
        let saved = Boards.card("saved", in: root)
        try root.save()
        saved.setValue("changed", forKey: "title")
        let new = Boards.card("new", in: root)
        let gone = Boards.card("gone", in: root)
        try root.save()
        saved.setValue("changed again", forKey: "title")
        root.delete(gone)
        _ = Boards.card("unsaved", in: root)
        for context in [child, grandchild] {
            #expect(try context.titles() == ["changed again", "new", "unsaved"])
            #expect(try context.count("Card") == 3)
            #expect(try context.own(new).text("title") == "new")
            #expect(throws: CocoaError.self) { try context.existingObject(with: gone.objectID) }
            #expect(!context.hasChanges)
        }
        let request = NSFetchRequest<Card>(entityName: "Card")
        request.predicate = NSPredicate(format: "title BEGINSWITH %@", "un")
        #expect(try grandchild.fetch(request).map { $0.text("title") } == ["unsaved"])
    }

    @Test func countsOfAChildReadNoObjects() throws {
        let (root, child, grandchild) = try chain()
        let card = Boards.card("one", in: root)
        _ = Boards.card("two", in: root)
        try root.save()
        root.refresh(card, mergeChanges: false)
        _ = Boards.card("three", in: root)
        #expect(try child.count("Card") == 3)
        #expect(try grandchild.count("Card") == 3)
        let request = NSFetchRequest<Card>(entityName: "Card")
        request.fetchLimit = 2
        request.fetchOffset = 2
        #expect(try grandchild.count(for: request) == 1)
        #expect(card.isFault)
        _ = Boards.card("four", in: child)
        #expect(try child.count("Card") == 4)
        #expect(try grandchild.count("Card") == 4)
    }

    @Test func aChildHasItsOwnInstancesOfObjects() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("one", in: root)
        try root.save()
        let twin = try child.own(card)
        #expect(twin !== card)
        #expect(twin.objectID == card.objectID)
        #expect(twin.managedObjectContext === child)
        twin.setValue("two", forKey: "title")
        #expect(card.text("title") == "one")
        #expect(!root.hasChanges)
        #expect(child.updatedObjects == [twin])
        card.setValue(5, forKey: "points")
        #expect(twin.value(forKey: "points") as? Int32 == 1)
    }

    @Test func aChildSavesIntoItsParentOnly() throws {
        let (root, child, grandchild) = try chain()
        let card = Boards.card("card", in: grandchild)
        try grandchild.save()
        #expect(!grandchild.hasChanges)
        #expect(child.hasChanges)
        #expect(!root.hasChanges)
        #expect(child.insertedObjects.map { $0.text("title") } == ["card"])
        #expect(try root.titles() == [])
        try child.save()
        #expect(root.hasChanges)
        #expect(card.text("title") == "card")
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(root.persistentStoreCoordinator))
        #expect(try other.titles() == [])
        try root.save()
        #expect(try other.titles() == ["card"])
        #expect(!root.hasChanges)
        #expect(!child.hasChanges)
        #expect(!grandchild.hasChanges)
    }

    @Test func updatesDeletionsAndRelationshipsReachTheParent() throws {
        let (root, child, _) = try chain()
        let board = Board(context: root)
        let (a, b, c) = (Boards.card("a", in: root), Boards.card("b", in: root), Boards.card("c", in: root))
        let label = Label(context: root)
        for card in [a, b, c] { card.setValue(board, forKey: "board") }
        a.mutableSetValue(forKey: "labels").add(label)
        try root.save()

        let board2 = Board(context: child)
        try child.own(a).setValue(board2, forKey: "board")
        try child.own(a).mutableSetValue(forKey: "labels").remove(try child.own(label))
        try child.own(b).mutableSetValue(forKey: "labels").add(try child.own(label))
        child.delete(try child.own(c))
        #expect(board.many("cards") == [a, b, c])
        try child.save()
        #expect(board.many("cards") == [b])
        #expect(c.isDeleted)
        #expect(label.many("cards") == [b])
        #expect(a.many("labels").isEmpty)
        #expect(a.one("board")?.many("cards") == [a])
        #expect(root.insertedObjects.count == 1)
        #expect(root.deletedObjects == [c])
        try root.save()
        #expect(try root.titles() == ["a", "b"])
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(root.persistentStoreCoordinator))
        #expect(try other.own(a).one("board")?.many("cards").count == 1)
        #expect(try other.own(board).many("cards").map(\.objectID) == [b.objectID])
    }

    @Test func cascadesOfAChildReachTheParent() throws {
        let (root, child, _) = try chain()
        let board = Board(context: root)
        Boards.card("a", in: root).setValue(board, forKey: "board")
        Boards.card("b", in: root).setValue(board, forKey: "board")
        try root.save()
        child.delete(try child.own(board))
        try child.save()
        #expect(root.deletedObjects.count == 3)
        #expect(try root.titles() == [])
        try root.save()
        #expect(try root.count("Board") == 0)
    }

    @Test func aChildsSaveMergesWithUnsavedChangesByProperty() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("base", in: root)
        try root.save()
        let twin = try child.own(card)
        twin.setValue("child", forKey: "title")
        card.setValue("parent", forKey: "title")
        card.setValue("parent", forKey: "note")
        try child.save()
        #expect(card.text("title") == "child")
        #expect(card.text("note") == "parent")
    }

    @Test func validationRunsWhenAChildIsSaved() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("card", in: child)
        card.setValue(nil, forKey: "title")
        #expect { try child.save() } throws: { ($0 as? CocoaError)?.code == .validationMissingMandatoryProperty }
        #expect(!root.hasChanges)
        #expect(child.insertedObjects == [card])
        card.setValue("named", forKey: "title")
        try child.save()
        #expect(root.insertedObjects.count == 1)
    }

    @Test func identifiersStayTemporaryUntilTheRootSaves() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("card", in: child)
        try child.save()
        #expect(card.objectID.isTemporaryID)
        #expect(!card.isInserted)
        let above = try #require(root.insertedObjects.first)
        #expect(above.objectID.isTemporaryID)
        #expect(above.isInserted)
        try root.save()
        #expect(!above.objectID.isTemporaryID)
        #expect(try child.titles() == ["card"])
    }

    @Test func permanentIdentifiersBeforeTheSaveAreKept() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("card", in: child)
        try child.obtainPermanentIDs(for: [card])
        let id = card.objectID
        #expect(!id.isTemporaryID)
        #expect(card.isInserted)
        try child.save()
        let above = try #require(root.registeredObject(for: id))
        #expect(above.isInserted)
        try root.save()
        #expect(card.objectID == id)
        #expect(above.objectID == id)
        #expect(!above.isInserted)
        #expect(try child.own(card) === card)
    }

    @Test func aChildsChangesCanBeDiscarded() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("card", in: root)
        try root.save()
        let twin = try child.own(card)
        twin.setValue("other", forKey: "title")
        _ = Boards.card("new", in: child)
        child.rollback()
        #expect(twin.text("title") == "card")
        #expect(!child.hasChanges)
        #expect(!root.hasChanges)
        child.delete(twin)
        child.reset()
        #expect(try child.titles() == ["card"])
        #expect(!card.isDeleted)
    }

    @Test func refreshingReadsFromTheParent() throws {
        let (root, child, _) = try chain()
        let card = Boards.card("card", in: root)
        try root.save()
        let twin = try child.own(card)
        #expect(twin.text("title") == "card")
        card.setValue("changed", forKey: "title")
        #expect(twin.text("title") == "card")
        child.refresh(twin, mergeChanges: false)
        #expect(twin.isFault)
        #expect(twin.text("title") == "changed")
        #expect(!twin.isFault)
        card.setValue("again", forKey: "title")
        twin.setValue(9, forKey: "points")
        child.refresh(twin, mergeChanges: true)
        #expect(twin.text("title") == "again")
        #expect(twin.value(forKey: "points") as? Int32 == 9)
        #expect(twin.hasChanges)
    }

    @Test func aSiblingReadsChangesSavedIntoTheParent() throws {
        let (root, child, _) = try chain()
        let sibling = Boards.child(of: root)
        let board = Board(context: child)
        Boards.card("card", in: child).setValue(board, forKey: "board")
        #expect(try sibling.titles() == [])
        try child.save()
        #expect(try sibling.titles() == ["card"])
        let seen = try #require(try sibling.fetch(NSFetchRequest<Card>(entityName: "Card")).first)
        #expect(seen.one("board")?.many("cards") == [seen])
        sibling.delete(seen)
        try sibling.save()
        #expect(try root.titles() == [])
        #expect(try child.titles() == [])
    }

    @Test func aPrivateChildSavesIntoItsMainQueueParent() async throws {
        let root = try Boards.mainContext()
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = root
        try await child.perform {
            _ = Boards.card("card", in: child)
            try child.save()
        }
        #expect(root.hasChanges)
        try child.performAndWait {
            // The main queue waits for this block, which waits for the main queue's context.
            #expect(try child.titles() == ["card"])
            _ = Boards.card("second", in: child)
            try child.save()
        }
        try root.save()
        #expect(try root.titles() == ["card", "second"])
    }

    @Test func aMergingChildFollowsSavesOfItsParent() async throws {
        let root = try Boards.mainContext()
        let child = Boards.child(of: root)
        child.automaticallyMergesChangesFromParent = true
        let card = Boards.card("card", in: root)
        let gone = Boards.card("gone", in: root)
        try root.save()
        let (twin, goneTwin) = (try child.own(card), try child.own(gone))
        #expect(twin.text("title") == "card")
        #expect(goneTwin.text("title") == "gone")
        twin.setValue(8, forKey: "points")
        card.setValue("changed", forKey: "title")
        root.delete(gone)
        try root.save()
        await child.perform(schedule: .enqueued) {}
        #expect(twin.text("title") == "changed")
        #expect(twin.value(forKey: "points") as? Int32 == 8)
        #expect(goneTwin.managedObjectContext == nil)
    }

    @Test func aResultsControllerFollowsAChild() throws {
        let (root, child, _) = try chain()
        _ = Boards.card("b", in: root)
        let request = NSFetchRequest<Card>(entityName: "Card")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        let (above, below) = (
            NSFetchedResultsController(fetchRequest: request, managedObjectContext: root, sectionNameKeyPath: nil, cacheName: nil),
            NSFetchedResultsController(fetchRequest: request, managedObjectContext: child, sectionNameKeyPath: nil, cacheName: nil)
        )
        final class Listener: NSObject, NSFetchedResultsControllerDelegate {
            func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
        }
        let listener = Listener()
        (above.delegate, below.delegate) = (listener, listener)
        try above.performFetch()
        try below.performFetch()
        #expect(below.fetchedObjects?.map { $0.text("title") } == ["b"])
        _ = Boards.card("a", in: child)
        child.processPendingChanges()
        #expect(below.fetchedObjects?.map { $0.text("title") } == ["a", "b"])
        #expect(above.fetchedObjects?.map { $0.text("title") } == ["b"])
        try child.save()
        #expect(above.fetchedObjects?.map { $0.text("title") } == ["a", "b"])
    }
}
