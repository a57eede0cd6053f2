// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite @MainActor struct LifeCycleTests {
    @Test func stateFlagsFollowInsertUpdateAndDelete() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        #expect(card.isInserted)
        #expect(!card.isUpdated)
        #expect(!card.isDeleted)
        #expect(card.hasChanges)
        #expect(!card.isFault)
        #expect(card.hasPersistentChangedValues)
        #expect(card.objectID.isTemporaryID)
        #expect(card.faultingState == 0)
        try context.save()
        #expect(!card.isInserted)
        #expect(!card.hasChanges)
        #expect(!card.hasPersistentChangedValues)
        #expect(!card.objectID.isTemporaryID)
        card.setValue("two", forKey: "title")
        #expect(card.isUpdated)
        #expect(card.hasChanges)
        #expect(card.changedValues()["title"] as? String == "two")
        #expect(card.committedValues(forKeys: ["title"])["title"] as? String == "one")
        try context.save()
        context.refresh(card, mergeChanges: false)
        #expect(card.isFault)
        #expect(card.faultingState != 0)
        #expect(card.text("title") == "two")
        #expect(!card.isFault)
        context.delete(card)
        #expect(card.isDeleted)
        #expect(card.managedObjectContext === context)
        try context.save()
        #expect(!card.isDeleted)
        #expect(card.managedObjectContext == nil)
    }

    @Test func lifeCycleMethodsRunInApplesOrder() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        #expect(card.log == ["awakeFromInsert"])
        try context.save()
        context.refresh(card, mergeChanges: false)
        _ = card.text("title")
        #expect(card.log == ["awakeFromInsert", "awakeFromFetch"])
        context.delete(card)
        #expect(card.log.last == "prepareForDeletion")
        context.rollback()
        #expect(!card.isDeleted)
        #expect(card.events.contains(.rollback))
    }

    @Test func changesMadeInWillSaveAreSaved() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        card.onWillSave = { [unowned card] in if card.text("note") == nil { card.setValue("by hook", forKey: "note") } }
        try context.save()
        #expect(card.text("note") == "by hook")
        #expect(!context.hasChanges)
    }

    /// Source: developer.apple.com/documentation/coredata/nsmanagedobject/willsave() (a change invokes it again).
    @Test func willSaveIsCalledAgainForObjectsThatItChanged() throws {
        let context = try Boards.mainContext()
        let (first, second) = (Boards.card("one", in: context), Boards.card("two", in: context))
        try context.save()
        var calls: [String] = []
        first.onWillSave = { [unowned first] in
            calls.append("first \(first.changedValues().keys.sorted())")
            second.setValue("by the other", forKey: "note")
        }
        second.onWillSave = { [unowned second] in
            calls.append("second \(second.changedValues().keys.sorted())")
            if second.value(forKey: "due") == nil { second.setValue(Date(timeIntervalSinceReferenceDate: 1), forKey: "due") }
        }
        first.setValue("changed", forKey: "title")
        try context.save()
        #expect(calls == ["first [\"title\"]", "second [\"note\"]", "second [\"due\", \"note\"]"])
        #expect(!context.hasChanges)
    }

    @Test func endlessChangesInWillSaveFailTheSave() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        var count = 0
        card.onWillSave = { [unowned card] in
            count += 1
            card.setValue("\(count)", forKey: "note")
        }
        #expect(Depot.code { try context.save() } == 134_030)
        #expect(count == 1000)
        card.onWillSave = nil
        try context.save()
    }

    @Test func changedValuesForCurrentEventHasOldValues() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        let board = Board(context: context)
        try context.save()
        #expect(card.changedValuesForCurrentEvent().isEmpty)
        card.setValue("two", forKey: "title")
        #expect(card.changedValuesForCurrentEvent().keys.sorted() == ["title"])
        #expect(card.changedValuesForCurrentEvent()["title"] as? String == "one")
        context.processPendingChanges()
        #expect(card.changedValuesForCurrentEvent().isEmpty)
        #expect(card.changedValues().keys.sorted() == ["title"])
        card.setValue("three", forKey: "title")
        card.setValue(board, forKey: "board")
        #expect(card.changedValuesForCurrentEvent().keys.sorted() == ["board", "title"])
        #expect(card.changedValuesForCurrentEvent()["title"] as? String == "two")
        #expect(card.changedValues()["title"] as? String == "three")
        #expect(board.changedValuesForCurrentEvent().keys.sorted() == ["cards"])
    }

    @Test func validateValueChecksOneKey() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        var value: AnyObject? = NSString(string: "fine")
        try card.validateValue(&value, forKey: "title")
        value = nil
        try card.validateValue(&value, forKey: "note")
        #expect { try card.validateValue(&value, forKey: "title") } throws: {
            ($0 as? CocoaError)?.code == .validationMissingMandatoryProperty
        }
        #expect(card.text("title") == "one")
    }

    @Test func aNewContextHasApplesDefaults() throws {
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        #expect(context.concurrencyType == .privateQueueConcurrencyType)
        #expect(context.parent == nil)
        #expect(context.persistentStoreCoordinator == nil)
        #expect(context.propagatesDeletesAtEndOfEvent)
        #expect(context.shouldDeleteInaccessibleFaults)
        #expect(!context.retainsRegisteredObjects)
        #expect(!context.automaticallyMergesChangesFromParent)
        #expect(context.stalenessInterval < 0)
        #expect(context.name == nil)
        #expect(context.transactionAuthor == nil)
        #expect(!context.hasChanges)
        #expect(Card.contextShouldIgnoreUnmodeledPropertyChanges)
        context.userInfo["key"] = "value"
        context.name = "named"
        #expect(context.userInfo["key"] as? String == "value")
        #expect(context.name == "named")
    }

    @Test func deletionsPropagateAtSaveIfConfigured() throws {
        let context = try Boards.mainContext()
        let board = Board(context: context)
        let card = Boards.card("one", in: context)
        card.setValue(board, forKey: "board")
        try context.save()
        context.propagatesDeletesAtEndOfEvent = false
        context.delete(board)
        context.processPendingChanges()
        #expect(!card.isDeleted)
        try context.save()
        #expect(card.managedObjectContext == nil)
        #expect(try context.titles() == [])
    }

    @Test func aDeniedDeletionFailsTheSave() throws {
        let context = try Boards.mainContext()
        let badge = Badge(context: context)
        let card = Boards.card("one", in: context)
        badge.setValue(card, forKey: "card")
        try context.save()
        context.delete(badge)
        #expect { try context.save() } throws: { ($0 as? CocoaError)?.code == .validationRelationshipDeniedDelete }
        context.delete(card)
        try context.save()
        #expect(try context.count("Badge") == 0)
    }

    @Test func retainsRegisteredObjectsKeepsObjectsAlive() throws {
        let context = try Boards.mainContext()
        for title in ["a", "b"] { _ = Boards.card(title, in: context) }
        try context.save()
        context.reset()
        context.retainsRegisteredObjects = true
        #expect(try context.titles() == ["a", "b"])
        #expect(context.registeredObjects.count == 2)
        context.retainsRegisteredObjects = false
        #expect(context.registeredObjects.isEmpty)
    }

    @Test func aFaultWithoutARowBecomesADeletedObject() throws {
        let first = try Boards.mainContext()
        let second = Boards.context(.mainQueueConcurrencyType, over: try #require(first.persistentStoreCoordinator))
        let card = Boards.card("one", in: first)
        try first.save()
        let fault = second.object(with: card.objectID)
        #expect(fault.isFault)
        first.delete(card)
        try first.save()
        #expect(fault.text("title") == nil)
        #expect(fault.isDeleted)
    }

    @Test func aSubclassHandlesInaccessibleFaults() throws {
        final class Asking: NSManagedObjectContext, @unchecked Sendable {
            // Unchecked: on the main queue.
            var asked: [NSManagedObjectID] = []
            override func shouldHandleInaccessibleFault(
                _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
            ) -> Bool {
                asked.append(oid)
                return super.shouldHandleInaccessibleFault(fault, for: oid, triggeredByProperty: property)
            }
        }
        let first = try Boards.mainContext()
        let second = Asking(concurrencyType: .mainQueueConcurrencyType)
        second.persistentStoreCoordinator = first.persistentStoreCoordinator
        let card = Boards.card("one", in: first)
        try first.save()
        let fault = second.object(with: card.objectID)
        let id = card.objectID
        first.delete(card)
        try first.save()
        _ = fault.text("title")
        #expect(second.asked == [id])
    }

    @Test func objectsAreLookedUpByTheirIDs() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        #expect(context.registeredObject(for: card.objectID) === card)
        #expect(context.object(with: card.objectID) === card)
        try context.save()
        let id = card.objectID
        #expect(context.registeredObject(for: id) === card)
        #expect(try context.existingObject(with: id) === card)
        let other = Boards.context(.mainQueueConcurrencyType, over: try #require(context.persistentStoreCoordinator))
        #expect(other.registeredObject(for: id) == nil)
        let fault = other.object(with: id)
        #expect(fault.isFault)
        #expect(other.registeredObject(for: id) === fault)
        #expect(try other.existingObject(with: id) === fault)
        #expect(!fault.isFault)
    }

    @Test func objectSetsListPendingChanges() throws {
        let context = try Boards.mainContext()
        let (a, b) = (Boards.card("a", in: context), Boards.card("b", in: context))
        #expect(context.insertedObjects == [a, b])
        #expect(context.updatedObjects.isEmpty)
        #expect(context.deletedObjects.isEmpty)
        try context.save()
        a.setValue("c", forKey: "title")
        context.delete(b)
        #expect(context.insertedObjects.isEmpty)
        #expect(context.updatedObjects == [a])
        #expect(context.deletedObjects == [b])
        #expect(context.registeredObjects.isSuperset(of: [a, b]))
        context.refreshAllObjects()
        #expect(context.updatedObjects == [a])
        #expect(a.text("title") == "c")
    }
}
