// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite @MainActor struct UndoTests {
    private func context() throws -> (NSManagedObjectContext, UndoManager) {
        let context = try Boards.mainContext()
        let manager = UndoManager()
        manager.groupsByEvent = false
        context.undoManager = manager
        return (context, manager)
    }

    /// Changes that form one undo group.
    private func step<T>(_ context: NSManagedObjectContext, _ body: () throws -> T) rethrows -> T {
        context.undoManager?.beginUndoGrouping()
        defer {
            context.processPendingChanges()
            context.undoManager?.endUndoGrouping()
        }
        return try body()
    }

    @Test func updatesAreUndoneAndRedone() throws {
        let (context, manager) = try context()
        let card = step(context) { Boards.card("one", in: context) }
        step(context) {
            card.setValue("two", forKey: "title")
            card.setValue(5, forKey: "points")
        }
        step(context) { card.setValue("three", forKey: "title") }
        context.undo()
        #expect(card.text("title") == "two")
        #expect(card.value(forKey: "points") as? Int32 == 5)
        context.undo()
        #expect(card.text("title") == "one")
        #expect(card.value(forKey: "points") as? Int32 == 1)
        #expect(card.isInserted)
        #expect(manager.canRedo)
        context.redo()
        context.redo()
        #expect(card.text("title") == "three")
        #expect(card.value(forKey: "points") as? Int32 == 5)
        #expect(!manager.canRedo)
        #expect(card.events == .undoUpdate)
    }

    @Test func insertionsAreUndoneAndRedone() throws {
        let (context, _) = try context()
        let card = step(context) { Boards.card("one", in: context) }
        context.undo()
        #expect(try context.titles() == [])
        #expect(context.insertedObjects.isEmpty)
        #expect(!context.hasChanges)
        context.redo()
        #expect(try context.titles() == ["one"])
        #expect(context.insertedObjects == [card])
        #expect(card.managedObjectContext === context)
        #expect(card.isInserted)
        #expect(!card.isDeleted)
        try context.save()
        #expect(try context.titles() == ["one"])
    }

    @Test func deletionsAreUndoneWithTheirRelationships() throws {
        let (context, _) = try context()
        let board = Board(context: context)
        let (a, b) = (Boards.card("a", in: context), Boards.card("b", in: context))
        let label = Label(context: context)
        for card in [a, b] {
            card.setValue(board, forKey: "board")
            card.mutableSetValue(forKey: "labels").add(label)
        }
        try context.save()
        context.undoManager?.removeAllActions()
        step(context) { context.delete(a) }
        #expect(board.many("cards") == [b])
        #expect(label.many("cards") == [b])
        context.undo()
        #expect(!a.isDeleted)
        #expect(board.many("cards") == [a, b])
        #expect(label.many("cards") == [a, b])
        #expect(a.one("board") === board)
        #expect(a.many("labels") == [label])
        #expect(a.events.contains(.undoDeletion))
        #expect(!context.hasChanges)
        context.redo()
        #expect(a.isDeleted)
        #expect(board.many("cards") == [b])
        try context.save()
        #expect(try context.titles() == ["b"])
    }

    @Test func cascadesAreUndoneAsAWhole() throws {
        let (context, _) = try context()
        let board = Board(context: context)
        let cards = ["a", "b", "c"].map { Boards.card($0, in: context) }
        for card in cards { card.setValue(board, forKey: "board") }
        try context.save()
        step(context) { context.delete(board) }
        #expect(context.deletedObjects.count == 4)
        context.undo()
        #expect(context.deletedObjects.isEmpty)
        #expect(board.many("cards") == Set(cards))
        #expect(try context.titles() == ["a", "b", "c"])
        context.redo()
        #expect(context.deletedObjects.count == 4)
        context.undo()
        try context.save()
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(context.persistentStoreCoordinator))
        #expect(try other.own(board).many("cards").count == 3)
    }

    @Test func savedDeletionsOfUnreadObjectsAreUndone() throws {
        let (context, manager) = try context()
        let board = Board(context: context)
        board.setValue("board", forKey: "name")
        let badge = Badge(context: context)
        for title in ["a", "b"] { Boards.card(title, in: context).setValue(board, forKey: "board") }
        try #require(board.many("cards").first).setValue(badge, forKey: "badge")
        try context.save()
        let id = board.objectID
        manager.removeAllActions()
        context.reset()
        step(context) { context.delete(context.object(with: id)) }
        try context.save()
        #expect(try context.titles() == [])
        context.undo()
        try context.save()
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(context.persistentStoreCoordinator))
        #expect(try other.titles() == ["a", "b"])
        let again = try #require(try other.fetch(NSFetchRequest<Board>(entityName: "Board")).first)
        #expect(again.text("name") == "board")
        #expect(again.many("cards").count == 2)
        #expect(again.many("cards").compactMap { $0.one("badge")?.objectID } == [badge.objectID])
    }

    @Test func relationshipsAreUndoneOnBothSides() throws {
        let (context, _) = try context()
        let (first, second) = (Board(context: context), Board(context: context))
        let card = Boards.card("card", in: context)
        let (badge, other) = (Badge(context: context), Badge(context: context))
        card.setValue(first, forKey: "board")
        card.setValue(badge, forKey: "badge")
        try context.save()
        step(context) {
            card.setValue(second, forKey: "board")
            card.setValue(other, forKey: "badge")
        }
        #expect(first.many("cards").isEmpty)
        #expect(badge.one("card") == nil)
        #expect(other.one("card") === card)
        context.undo()
        #expect(first.many("cards") == [card])
        #expect(second.many("cards").isEmpty)
        #expect(badge.one("card") === card)
        #expect(other.one("card") == nil)
        #expect(card.one("badge") === badge)
        context.redo()
        #expect(second.many("cards") == [card])
        #expect(other.one("card") === card)
        #expect(badge.one("card") == nil)
    }

    @Test func undoCrossesASave() throws {
        let (context, _) = try context()
        let card = step(context) { Boards.card("one", in: context) }
        try context.save()
        step(context) { card.setValue("two", forKey: "title") }
        try context.save()
        #expect(!context.hasChanges)
        context.undo()
        #expect(card.text("title") == "one")
        #expect(context.hasChanges)
        #expect(card.isUpdated)
        try context.save()
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(context.persistentStoreCoordinator))
        #expect(try other.titles() == ["one"])
        context.undo()
        #expect(card.isDeleted)
        try context.save()
        other.reset()
        #expect(try other.titles() == [])
    }

    @Test func aSavedDeletionIsUndoneByInsertingAgain() throws {
        let (context, _) = try context()
        let board = Board(context: context)
        let card = Boards.card("card", in: context)
        card.setValue(board, forKey: "board")
        try context.save()
        step(context) { context.delete(board) }
        try context.save()
        #expect(try context.titles() == [])
        context.undo()
        #expect(context.insertedObjects.count == 2)
        #expect(try context.titles() == ["card"])
        try context.save()
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(context.persistentStoreCoordinator))
        let request = NSFetchRequest<Board>(entityName: "Board")
        #expect(try other.fetch(request).first?.many("cards").count == 1)
        #expect(try other.titles() == ["card"])
    }

    @Test func rollbackAndResetRemoveUndoActions() throws {
        let (context, manager) = try context()
        step(context) { _ = Boards.card("one", in: context) }
        #expect(manager.canUndo)
        context.rollback()
        #expect(!manager.canUndo)
        #expect(!context.hasChanges)
        step(context) { _ = Boards.card("two", in: context) }
        context.reset()
        #expect(!manager.canUndo)
    }

    @Test func observersAreNotifiedOfUndoneChanges() throws {
        let (context, _) = try context()
        let card = step(context) { Boards.card("one", in: context) }
        let heard = Heard(NSManagedObjectContext.didChangeObjectsNotification, from: context)
        step(context) { card.setValue("two", forKey: "title") }
        #expect(heard.objects(NSUpdatedObjectsKey) == [card])
        _ = heard.take()
        context.undo()
        #expect(heard.objects(NSUpdatedObjectsKey) == [card])
        _ = heard.take()
        context.undo()
        #expect(heard.objects(NSDeletedObjectsKey) == [card])
        _ = heard.take()
        context.redo()
        #expect(heard.objects(NSInsertedObjectsKey) == [card])
    }

    @Test func theUndoManagerRegistersTheCurrentEvent() throws {
        let (context, manager) = try context()
        manager.groupsByEvent = true
        let card = Boards.card("one", in: context)
        context.processPendingChanges()
        manager.endUndoGrouping()
        card.setValue("two", forKey: "title")
        manager.undo()
        #expect(card.text("title") == "one")
        manager.redo()
        #expect(card.text("title") == "two")
    }

    @Test func withoutAnUndoManagerNothingIsUndone() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        context.undo()
        context.redo()
        #expect(context.undoManager == nil)
        #expect(card.isInserted)
        #expect(card.text("title") == "one")
    }

    @Test func aChildContextHasItsOwnUndo() throws {
        let (parent, manager) = try context()
        let card = Boards.card("one", in: parent)
        try parent.save()
        let child = Boards.child(of: parent)
        let childManager = UndoManager()
        childManager.groupsByEvent = false
        child.undoManager = childManager
        let twin = try child.own(card)
        step(child) { twin.setValue("two", forKey: "title") }
        manager.removeAllActions()
        manager.beginUndoGrouping()
        try child.save()
        manager.endUndoGrouping()
        #expect(card.text("title") == "two")
        child.undo()
        #expect(twin.text("title") == "one")
        #expect(card.text("title") == "two")
        parent.undo()
        #expect(card.text("title") == "one")
    }
}
