// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite @MainActor struct NotificationTests {
    private typealias Context = NSManagedObjectContext

    @Test func notificationNamesAndKeysAreApples() {
        let names: [(Notification.Name, String)] = [
            (Context.willSaveObjectsNotification, "NSManagingContextWillSaveChangesNotification"),
            (Context.didSaveObjectsNotification, "NSManagingContextDidSaveChangesNotification"),
            (Context.didChangeObjectsNotification, "NSObjectsChangedInManagingContextNotification"),
            (Context.didSaveObjectIDsNotification, "NSManagedObjectContextDidSaveObjectIDsNotification"),
            (Context.didMergeChangesObjectIDsNotification, "NSManagedObjectContextDidMergeChangesObjectIDsNotification"),
            (.NSPersistentStoreRemoteChange, "NSPersistentStoreRemoteChangeNotification"),
        ]
        for (name, text) in names { #expect(name.rawValue == text) }
        #expect(Notification.Name.NSManagedObjectContextDidSave == Context.didSaveObjectsNotification)
        #expect(Notification.Name.NSManagedObjectContextWillSave == Context.willSaveObjectsNotification)
        #expect(Notification.Name.NSManagedObjectContextObjectsDidChange == Context.didChangeObjectsNotification)
        let keys: [(String, Context.NotificationKey)] = [
            (NSInsertedObjectsKey, .insertedObjects), (NSUpdatedObjectsKey, .updatedObjects), (NSDeletedObjectsKey, .deletedObjects),
            (NSRefreshedObjectsKey, .refreshedObjects), (NSInvalidatedObjectsKey, .invalidatedObjects),
            (NSInvalidatedAllObjectsKey, .invalidatedAllObjects),
        ]
        for (key, name) in keys { #expect(key == name.rawValue) }
    }

    @Test func objectsDidChangeIsPostedOncePerEvent() throws {
        let context = try Boards.mainContext()
        let heard = Heard(Context.didChangeObjectsNotification, from: context)
        let card = Boards.card("one", in: context)
        card.setValue("two", forKey: "title")
        #expect(heard.notes.isEmpty)
        context.processPendingChanges()
        #expect(heard.notes.count == 1)
        #expect(heard.objects(NSInsertedObjectsKey) == [card])
        #expect(heard.objects(NSUpdatedObjectsKey).isEmpty)
        context.processPendingChanges()
        #expect(heard.take().count == 1)
        card.setValue("three", forKey: "title")
        context.processPendingChanges()
        #expect(heard.objects(NSUpdatedObjectsKey) == [card])
        #expect(heard.take().count == 1)
        try context.save()
        _ = heard.take()
        context.delete(card)
        context.processPendingChanges()
        #expect(heard.objects(NSDeletedObjectsKey) == [card])
        #expect(heard.take().count == 1)
    }

    @Test func aSavePostsWillSaveAndDidSave() throws {
        let context = try Boards.mainContext()
        let kept = Boards.card("kept", in: context)
        let gone = Boards.card("gone", in: context)
        try context.save()
        let (will, did) = (
            Heard(Context.willSaveObjectsNotification, from: context), Heard(Context.didSaveObjectsNotification, from: context)
        )
        let ids = Heard(Context.didSaveObjectIDsNotification, from: context)
        let new = Boards.card("new", in: context)
        kept.setValue("changed", forKey: "title")
        context.delete(gone)
        let goneID = gone.objectID
        try context.save()
        #expect(will.notes.count == 1)
        #expect(did.notes.count == 1)
        #expect(ids.notes.count == 1)
        #expect(did.objects(NSInsertedObjectsKey) == [new])
        #expect(did.objects(NSUpdatedObjectsKey) == [kept])
        #expect(did.objects(NSDeletedObjectsKey) == [gone])
        #expect(ids.ids(.insertedObjectIDs) == [new.objectID])
        #expect(ids.ids(.updatedObjectIDs) == [kept.objectID])
        #expect(ids.ids(.deletedObjectIDs) == [goneID])
        #expect(!new.objectID.isTemporaryID)
        #expect(ids.notes.first?.object as AnyObject? === context)
        try context.save()
        #expect(will.notes.count == 1)
        #expect(did.notes.count == 1)
    }

    @Test func refreshResetAndRollbackPostObjectsDidChange() throws {
        let context = try Boards.mainContext()
        let card = Boards.card("one", in: context)
        try context.save()
        let heard = Heard(Context.didChangeObjectsNotification, from: context)
        context.refresh(card, mergeChanges: true)
        #expect(heard.objects(NSRefreshedObjectsKey) == [card])
        _ = heard.take()
        let new = Boards.card("new", in: context)
        context.processPendingChanges()
        _ = heard.take()
        context.rollback()
        #expect(heard.objects(NSDeletedObjectsKey) == [new])
        _ = heard.take()
        context.reset()
        #expect((heard.notes.last?.userInfo?[NSInvalidatedAllObjectsKey] as? [Any])?.isEmpty == false)
    }

    @Test func savesAreMergedFromObjectsAndFromObjectIDs() throws {
        let first = try Boards.mainContext()
        let second = Boards.context(.mainQueueConcurrencyType, over: try #require(first.persistentStoreCoordinator))
        let card = Boards.card("one", in: first)
        let gone = Boards.card("gone", in: first)
        try first.save()
        let (twin, goneTwin) = (try second.own(card), try second.own(gone))
        #expect(twin.text("title") == "one")
        #expect(goneTwin.text("title") == "gone")
        for name in [Context.didSaveObjectsNotification, Context.didSaveObjectIDsNotification] {
            let saves = Heard(name, from: first)
            card.setValue(name.rawValue, forKey: "title")
            let new = Boards.card("new", in: first)
            try first.save()
            let merges = Heard(Context.didMergeChangesObjectIDsNotification, from: second)
            let changes = Heard(Context.didChangeObjectsNotification, from: second)
            #expect(twin.text("title") != name.rawValue)
            second.mergeChanges(fromContextDidSave: try #require(saves.notes.first))
            #expect(twin.text("title") == name.rawValue)
            #expect(!second.hasChanges)
            #expect(merges.notes.count == 1)
            #expect(merges.ids(.insertedObjectIDs) == [new.objectID])
            #expect(changes.objects(NSInsertedObjectsKey).map(\.objectID) == [new.objectID])
            #expect(changes.objects(NSRefreshedObjectsKey) == [twin])
        }
        first.delete(gone)
        let saves = Heard(Context.didSaveObjectIDsNotification, from: first)
        try first.save()
        second.mergeChanges(fromContextDidSave: try #require(saves.notes.first))
        #expect(goneTwin.managedObjectContext == nil)
    }

    @Test func savesAreMergedFromUserInfoDictionaries() throws {
        let first = try Boards.mainContext()
        let coordinator = try #require(first.persistentStoreCoordinator)
        let (second, third) = (
            Boards.context(.mainQueueConcurrencyType, over: coordinator), Boards.context(.mainQueueConcurrencyType, over: coordinator)
        )
        let card = Boards.card("one", in: first)
        try first.save()
        let twins = [try second.own(card), try third.own(card)]
        #expect(twins.allSatisfy { $0.text("title") == "one" })
        card.setValue("two", forKey: "title")
        try first.save()
        Context.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: [card.objectID]], into: [second, third])
        #expect(twins.allSatisfy { $0.text("title") == "two" })
        card.setValue("three", forKey: "title")
        try first.save()
        Context.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: [card.objectID.uriRepresentation()]], into: [second, third])
        #expect(twins.allSatisfy { $0.text("title") == "three" })
    }

    @Test func addingAndRemovingStoresPostsNotifications() throws {
        let coordinator = try Boards.coordinator()
        let store = try #require(coordinator.persistentStores.first)
        let changes = Heard(.NSPersistentStoreCoordinatorStoresDidChange, from: coordinator)
        let removals = Heard(.NSPersistentStoreCoordinatorWillRemoveStore, from: nil)
        let added = try coordinator.addPersistentStore(
            ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        #expect((changes.take().first?.userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore]) == [added])
        try coordinator.remove(store)
        #expect((changes.take().first?.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore]) == [store])
        #expect(removals.notes.contains { $0.object as AnyObject? === store })
    }
}
