// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// One coordinator over several stores.
@Suite struct SeveralStoresTests {
    private struct Halves {
        let coordinator: NSPersistentStoreCoordinator
        let things: NSPersistentStore
        let notes: NSPersistentStore
    }

    private func halves() throws -> Halves {
        let folder = try Depot.folder()
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let things = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: "Things", at: folder.appendingPathComponent("things.sqlite"), options: nil)
        let notes = try coordinator.addPersistentStore(
            ofType: NSBinaryStoreType, configurationName: "Notes", at: folder.appendingPathComponent("notes.binary"), options: nil)
        return Halves(coordinator: coordinator, things: things, notes: notes)
    }

    /// Two stores for all entities.
    private func twins(_ types: (String, String) = (NSSQLiteStoreType, NSSQLiteStoreType)) throws -> (
        NSPersistentStoreCoordinator, NSPersistentStore, NSPersistentStore
    ) {
        let folder = try Depot.folder()
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let first = try coordinator.addPersistentStore(
            ofType: types.0, configurationName: nil, at: folder.appendingPathComponent("first"), options: nil)
        let second = try coordinator.addPersistentStore(
            ofType: types.1, configurationName: nil, at: folder.appendingPathComponent("second"), options: nil)
        return (coordinator, first, second)
    }

    @Test func configurationsSelectTheStoreOfAnObject() throws {
        let halves = try halves()
        let context = Depot.context(over: halves.coordinator)
        try context.performAndWait {
            let item = Depot.insert("Item", ["name": "nut"], into: context)
            let note = Depot.insert("Note", ["text": "count them"], into: context)
            try context.save()
            #expect(item.objectID.persistentStore === halves.things)
            #expect(note.objectID.persistentStore === halves.notes)
            #expect(item.objectID.uriRepresentation().host?.caseInsensitiveCompare(halves.things.identifier) == .orderedSame)
            #expect(try context.count(for: Depot.request("Item")) == 1)
            #expect(try context.count(for: Depot.request("Note")) == 1)
            try halves.coordinator.remove(halves.notes)
            #expect(context.registeredObjects.contains(item))
            #expect(!context.registeredObjects.contains(note))
            #expect(try context.count(for: Depot.request("Item")) == 1)
        }
    }

    @Test func anObjectWithoutAStoreCannotBeSaved() throws {
        let halves = try halves()
        try halves.coordinator.remove(halves.notes)
        let context = Depot.context(over: halves.coordinator)
        context.performAndWait {
            Depot.insert("Note", ["text": "lost"], into: context)
            #expect(Depot.code { try context.save() } != nil)
            #expect(context.hasChanges)
        }
    }

    @Test(arguments: [
        (NSSQLiteStoreType, NSSQLiteStoreType), (NSSQLiteStoreType, NSBinaryStoreType), (NSInMemoryStoreType, NSInMemoryStoreType),
    ])
    func aFetchReturnsObjectsOfAllStores(types: (String, String)) throws {
        let (coordinator, first, second) = try twins(types)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            for (name, store) in [("nut", first), ("bolt", second), ("nail", first), ("screw", second)] {
                context.assign(Depot.insert("Item", ["name": name], into: context), to: store)
            }
            try context.save()
            let again = Depot.context(over: coordinator)
            try again.performAndWait {
                let request = Depot.request("Item", nil, sort: "name")
                let all = try again.fetch(request)
                #expect(Depot.names(all) == ["bolt", "nail", "nut", "screw"])
                #expect(all.map { $0.objectID.persistentStore === first } == [false, true, true, false])
                request.fetchLimit = 2
                request.fetchOffset = 1
                #expect(Depot.names(try again.fetch(request)) == ["nail", "nut"])
                request.fetchLimit = 0
                request.fetchOffset = 0
                request.affectedStores = [second]
                #expect(Depot.names(try again.fetch(request)) == ["bolt", "screw"])
                #expect(try again.count(for: request) == 2)
                request.affectedStores = [first]
                #expect(Depot.names(try again.fetch(request)) == ["nail", "nut"])
                request.affectedStores = nil
                #expect(try again.count(for: request) == 4)
                all[0].setValue("anvil", forKey: "name")
                again.delete(all[3])
                #expect(Depot.names(try again.fetch(request)) == ["anvil", "nail", "nut"])
                try again.save()
                #expect(try again.count(for: request) == 3)
            }
        }
    }

    /// Source: developer.apple.com/documentation/coredata/nspersistentstorerequest/affectedstores
    @Test func unsavedChangesCountForTheStoresOfTheirObjects() throws {
        let (coordinator, first, second) = try twins()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let bolt = Depot.insert("Item", ["name": "bolt"], into: context)
            context.assign(Depot.insert("Item", ["name": "nut"], into: context), to: first)
            context.assign(bolt, to: second)
            try context.save()
            bolt.setValue("bolt 2", forKey: "name")
            context.assign(Depot.insert("Item", ["name": "nail"], into: context), to: second)
            // Without a store of its own, it will be saved to the first one.
            Depot.insert("Item", ["name": "screw"], into: context)
            let request = Depot.request("Item", nil, sort: "name")
            for isSaved in [false, true] {
                if isSaved { try context.save() }
                request.affectedStores = [first]
                #expect(Depot.names(try context.fetch(request)) == ["nut", "screw"])
                #expect(try context.count(for: request) == 2)
                request.affectedStores = [second]
                #expect(Depot.names(try context.fetch(request)) == ["bolt 2", "nail"])
                #expect(try context.count(for: request) == 2)
            }
        }
    }

    private final class Follower: NSObject, NSFetchedResultsControllerDelegate {}

    @Test func resultsFollowTheStoresOfTheirRequest() throws {
        let (coordinator, first, second) = try twins()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            context.assign(Depot.insert("Item", ["name": "nut"], into: context), to: first)
            try context.save()
            let request = Depot.request("Item", nil, sort: "name")
            request.affectedStores = [first]
            let results = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            let follower = Follower()
            results.delegate = follower
            try results.performFetch()
            for (name, store) in [("bolt", second), ("nail", first)] {
                context.assign(Depot.insert("Item", ["name": name], into: context), to: store)
            }
            context.processPendingChanges()
            #expect(Depot.names(results.fetchedObjects ?? []) == ["nail", "nut"])
            withExtendedLifetime(follower) {}
        }
    }

    @Test(arguments: [(0, 2), (1, 0), (1, 3), (4, 5), (9, 0), (9, 2), (1, Int.max)])
    func aCountHasOneWindowOverAllStores(offset: Int, limit: Int) throws {
        let (coordinator, first, second) = try twins()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            for (number, store) in [first, second, first, second, first].enumerated() {
                context.assign(Depot.insert("Item", ["name": "\(number)"], into: context), to: store)
            }
            try context.save()
            let request = Depot.request("Item", nil, sort: "name")
            request.fetchOffset = offset
            request.fetchLimit = limit
            let expected = limit > 0 ? min(limit, max(5 - offset, 0)) : max(5 - offset, 0)
            #expect(try context.fetch(request).count == expected)
            #expect(try context.count(for: request) == expected)
        }
    }

    @Test func dictionariesOfSeveralStoresAreSortedBySelector() throws {
        let (coordinator, first, second) = try twins()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            for (name, store) in [("c", first), ("B", second), ("a", first)] {
                context.assign(Depot.insert("Item", ["name": name], into: context), to: store)
            }
            try context.save()
            let request = NSFetchRequest<NSDictionary>(entityName: "Item")
            request.resultType = .dictionaryResultType
            request.propertiesToFetch = ["name"]
            request.sortDescriptors = [
                NSSortDescriptor(key: "name", ascending: true, selector: Selector(("caseInsensitiveCompare:")))
            ]
            #expect(try context.fetch(request).map { $0["name"] as? String } == ["a", "B", "c"])
        }
    }

    @Test func newObjectsAreAssignedToTheStoreOfRelatedObjects() throws {
        let (coordinator, first, second) = try twins()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let box = Depot.insert("Box", ["title": "left"], into: context)
            context.assign(box, to: second)
            try context.save()
            #expect(box.objectID.persistentStore === second)
            let item = Depot.insert("Item", ["name": "nut"], into: context)
            item.setValue(box, forKey: "box")
            let alone = Depot.insert("Item", ["name": "bolt"], into: context)
            try context.save()
            #expect(item.objectID.persistentStore === second)
            #expect(alone.objectID.persistentStore === first)
        }
    }

    @Test func relationshipsAcrossStoresAreRejected() throws {
        let (coordinator, first, second) = try twins()
        let context = Depot.context(over: coordinator)
        context.performAndWait {
            let box = Depot.insert("Box", ["title": "left"], into: context)
            let item = Depot.insert("Item", ["name": "nut"], into: context)
            context.assign(box, to: first)
            context.assign(item, to: second)
            item.setValue(box, forKey: "box")
            #expect(Depot.code { try context.save() } == 133_010)
            item.setValue(nil, forKey: "box")
            #expect(Depot.code { try context.save() } == nil)
            #expect(box.objectID.persistentStore === first)
            #expect(item.objectID.persistentStore === second)
        }
    }

    @Test func aReadOnlyStoreIsSkipped() throws {
        let folder = try Depot.folder()
        let place = folder.appendingPathComponent("old.sqlite")
        let maker = try Depot.coordinator(NSSQLiteStoreType, at: place)
        try maker.remove(try #require(maker.persistentStores.first))
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let old = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: place, options: [NSReadOnlyPersistentStoreOption: true])
        let new = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        #expect(old.isReadOnly)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let item = Depot.insert("Item", ["name": "nut"], into: context)
            try context.save()
            #expect(item.objectID.persistentStore === new)
        }
    }

    @Test func twoCoordinatorsShareAFile() throws {
        let place = try Depot.folder().appendingPathComponent("depot.sqlite")
        let (one, two) = (try Depot.coordinator(NSSQLiteStoreType, at: place), try Depot.coordinator(NSSQLiteStoreType, at: place))
        #expect(one.persistentStores.first?.identifier == two.persistentStores.first?.identifier)
        let writer = Depot.context(over: one), reader = Depot.context(over: two)
        let address = try writer.performAndWait {
            let item = Depot.insert("Item", ["name": "nut"], into: writer)
            try writer.save()
            return item.objectID.uriRepresentation()
        }
        try reader.performAndWait {
            #expect(Depot.names(try reader.fetch(Depot.request("Item"))) == ["nut"])
            let id = try #require(two.managedObjectID(forURIRepresentation: address))
            #expect(try reader.existingObject(with: id).value(forKey: "name") as? String == "nut")
        }
    }

    @Test func inMemoryStoresAreSeparate() throws {
        let (one, two) = (try Depot.coordinator(NSInMemoryStoreType, at: nil), try Depot.coordinator(NSInMemoryStoreType, at: nil))
        let writer = Depot.context(over: one), reader = Depot.context(over: two)
        try writer.performAndWait {
            Depot.insert("Item", ["name": "nut"], into: writer)
            try writer.save()
        }
        let found = try reader.performAndWait { try reader.fetch(Depot.request("Item")).count }
        #expect(found == 0)
        #expect(one.persistentStores.first?.identifier != two.persistentStores.first?.identifier)
    }
}
