// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Common behaviour of all kinds of stores.
@Suite struct StoreKindTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
    private static let code = UUID()

    private func fill(_ context: NSManagedObjectContext) throws {
        let box = Depot.insert("Box", ["title": "left"], into: context)
        let other = Depot.insert("Box", ["title": "right"], into: context)
        for (name, count) in [("nail", 40), ("bolt", 7), ("screw", 12), ("nut", 7)] {
            let item = Depot.insert("Item", ["name": name, "count": count], into: context)
            item.setValue(name == "screw" ? other : box, forKey: "box")
        }
        let small = Depot.insert("Label", ["text": "small"], into: context)
        let metal = Depot.insert("Label", ["text": "metal"], into: context)
        box.setValue(NSSet(array: [small, metal]), forKey: "labels")
        other.setValue(NSSet(array: [metal]), forKey: "labels")
        try context.save()
    }

    /// Source: developer.apple.com/documentation/foundation/nspredicate/init(block:) (in-memory and atomic stores).
    @Test(arguments: [NSInMemoryStoreType, NSBinaryStoreType])
    func storesInMemoryFilterByBlocks(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let context = Depot.context(over: try Depot.coordinator(type, at: url))
        try context.performAndWait {
            try fill(context)
            let isSeven = NSPredicate { item, _ in (item as? NSManagedObject)?.value(forKey: "count") as? Int == 7 }
            let request = Depot.request("Item", sort: "name")
            request.predicate = NSCompoundPredicate(orPredicateWithSubpredicates: [isSeven, NSPredicate(format: "name == 'nail'")])
            #expect(Depot.names(try context.fetch(request)) == ["bolt", "nail", "nut"])
            #expect(try context.count(for: request) == 3)
            (request.fetchOffset, request.fetchLimit) = (1, 1)
            #expect(Depot.names(try context.fetch(request)) == ["nail"])
            (request.fetchOffset, request.fetchLimit) = (0, 0)
            Depot.insert("Item", ["name": "rivet", "count": 7], into: context)
            #expect(Depot.names(try context.fetch(request)) == ["bolt", "nail", "nut", "rivet"])
            let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Item")
            dictionaries.resultType = .dictionaryResultType
            dictionaries.predicate = isSeven
            #expect(Depot.code { _ = try context.fetch(dictionaries) } == 134_070)
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType])
    func aFetchFiltersSortsAndLimits(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let context = Depot.context(over: try Depot.coordinator(type, at: url))
        try context.performAndWait {
            try fill(context)
            let again = Depot.context(over: try #require(context.persistentStoreCoordinator))
            try again.performAndWait {
                func names(_ format: String?, sort: String = "name") throws -> [String] {
                    Depot.names(try again.fetch(Depot.request("Item", format, sort: sort)))
                }
                #expect(try names(nil) == ["bolt", "nail", "nut", "screw"])
                #expect(try names("count == 7") == ["bolt", "nut"])
                #expect(try names("count > 7") == ["nail", "screw"])
                #expect(try names("count BETWEEN {7, 12}") == ["bolt", "nut", "screw"])
                #expect(try names("name BEGINSWITH 'n'") == ["nail", "nut"])
                #expect(try names("name CONTAINS[c] 'OL'") == ["bolt"])
                #expect(try names("name LIKE '*t'") == ["bolt", "nut"])
                #expect(try names("name IN {'nut', 'bolt', 'gear'}") == ["bolt", "nut"])
                #expect(try names("NOT (name == 'nut') AND count == 7") == ["bolt"])
                #expect(try names("box.title == 'right'") == ["screw"])
                #expect(try names("ANY box.labels.text == 'small'") == ["bolt", "nail", "nut"])
                #expect(try names("weight == nil") == ["bolt", "nail", "nut", "screw"])
                #expect(try names("weight != nil") == [])
                #expect(Depot.names(try again.fetch(Depot.request("Box", "items.@count == 3")), "title") == ["left"])
                #expect(
                    Depot.names(try again.fetch(Depot.request("Box", "SUBQUERY(items, $i, $i.count > 20).@count == 1")), "title") == [
                        "left"
                    ])
                let request = Depot.request("Item", nil, sort: "name")
                request.sortDescriptors = [
                    NSSortDescriptor(key: "count", ascending: false), NSSortDescriptor(key: "name", ascending: true),
                ]
                #expect(Depot.names(try again.fetch(request)) == ["nail", "screw", "bolt", "nut"])
                request.fetchLimit = 2
                #expect(Depot.names(try again.fetch(request)) == ["nail", "screw"])
                request.fetchOffset = 1
                #expect(Depot.names(try again.fetch(request)) == ["screw", "bolt"])
                request.fetchLimit = 0
                request.fetchOffset = 3
                #expect(Depot.names(try again.fetch(request)) == ["nut"])
                #expect(try again.count(for: Depot.request("Item", "count == 7")) == 2)
                #expect(try again.count(for: Depot.request("Note")) == 0)
                let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
                ids.resultType = .managedObjectIDResultType
                ids.predicate = NSPredicate(format: "name == 'nut'")
                let id = try #require(try again.fetch(ids).first)
                #expect(again.object(with: id).value(forKey: "name") as? String == "nut")
            }
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType])
    func aFetchSortsByTheSelectorOfItsDescriptor(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let context = Depot.context(over: try Depot.coordinator(type, at: url))
        try context.performAndWait {
            for name in ["b", "A", "a10", "a9", "B2"] { Depot.insert("Item", ["name": name], into: context) }
            try context.save()
            func names(_ selector: Selector) throws -> [String] {
                let request = Depot.request("Item")
                request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true, selector: selector)]
                return Depot.names(try context.fetch(request))
            }
            #expect(try names(Selector(("compare:"))) == ["A", "B2", "a10", "a9", "b"])
            #expect(try names(Selector(("caseInsensitiveCompare:"))) == ["A", "a10", "a9", "b", "B2"])
            #expect(try names(Selector(("localizedStandardCompare:"))) == ["A", "a9", "a10", "b", "B2"])
        }
    }

    /// Only SQLite stores have history and earlier states: developer.apple.com/documentation/coredata/nsquerygenerationtoken
    @Test func aBinaryStoreIgnoresHistoryAndQueryGenerations() throws {
        let options: [AnyHashable: Any] = [
            NSPersistentHistoryTrackingKey: true, NSPersistentStoreRemoteChangeNotificationPostOptionKey: true,
        ]
        let url = try Depot.folder().appendingPathComponent("depot")
        let coordinator = try Depot.coordinator(NSBinaryStoreType, at: url, options: options)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            try context.setQueryGenerationFrom(.current)
            #expect(try context.count(for: Depot.request("Item")) == 0)
            #expect(context.queryGenerationToken == nil)
            Depot.insert("Item", ["name": "nut"], into: context)
            try context.save()
            #expect(Depot.names(try context.fetch(Depot.request("Item"))) == ["nut"])
            #expect(coordinator.currentPersistentHistoryToken(fromStores: nil) == nil)
            let history = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
            #expect(Depot.code { try context.execute(history) } == 134_091)
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType])
    func storedValuesRoundTrip(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let context = Depot.context(over: try Depot.coordinator(type, at: url))
        let id = try context.performAndWait {
            let item = Depot.insert(
                "Item",
                [
                    "name": "säge", "count": Int64.max, "weight": 0.1, "price": NSDecimalNumber(string: "12345678901234.56"),
                    "arrived": Self.date, "isFragile": true, "picture": Data([0, 1, 255]), "code": Self.code,
                    "page": URL(string: "https://example.com/a?b=c")!,
                ], into: context)
            try context.save()
            return item.objectID
        }
        let other = Depot.context(over: try #require(context.persistentStoreCoordinator))
        try other.performAndWait {
            let item = try other.existingObject(with: id)
            #expect(item.value(forKey: "name") as? String == "säge")
            #expect(item.value(forKey: "count") as? Int64 == .max)
            #expect(item.value(forKey: "weight") as? Double == 0.1)
            #expect(item.value(forKey: "price") as? NSDecimalNumber == NSDecimalNumber(string: "12345678901234.56"))
            #expect(item.value(forKey: "arrived") as? Date == Self.date)
            #expect(item.value(forKey: "isFragile") as? Bool == true)
            #expect(item.value(forKey: "picture") as? Data == Data([0, 1, 255]))
            #expect(item.value(forKey: "code") as? UUID == Self.code)
            #expect((item.value(forKey: "page") as? URL)?.absoluteString == "https://example.com/a?b=c")
            #expect(item.value(forKey: "box") == nil)
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType])
    func savedObjectsAreInTheFile(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let first = try Depot.coordinator(type, at: url)
        let context = Depot.context(over: first)
        let address = try context.performAndWait {
            try fill(context)
            let nut = try #require(try context.fetch(Depot.request("Item", "name == 'nut'")).first)
            let nail = try #require(try context.fetch(Depot.request("Item", "name == 'nail'")).first)
            nut.setValue(8, forKey: "count")
            context.delete(nail)
            try context.save()
            return nut.objectID.uriRepresentation()
        }
        let identifier = try #require(first.persistentStores.first).identifier
        try first.remove(try #require(first.persistentStores.first))
        let second = try Depot.coordinator(type, at: url)
        #expect(second.persistentStores.first?.identifier == identifier)
        let again = Depot.context(over: second)
        try again.performAndWait {
            #expect(Depot.names(try again.fetch(Depot.request("Item", nil, sort: "name"))) == ["bolt", "nut", "screw"])
            let id = try #require(second.managedObjectID(forURIRepresentation: address))
            let nut = try again.existingObject(with: id)
            #expect(nut.value(forKey: "count") as? Int64 == 8)
            #expect((nut.value(forKey: "box") as? NSManagedObject)?.value(forKey: "title") as? String == "left")
            let box = try #require(try again.fetch(Depot.request("Box", "title == 'left'")).first)
            #expect((box.value(forKey: "items") as? Set<NSManagedObject>)?.count == 2)
            #expect((box.value(forKey: "labels") as? Set<NSManagedObject>)?.count == 2)
            let metal = try #require(try again.fetch(Depot.request("Label", "text == 'metal'")).first)
            #expect((metal.value(forKey: "boxes") as? Set<NSManagedObject>)?.count == 2)
            let new = Depot.insert("Item", ["name": "washer"], into: again)
            try again.save()
            #expect(new.objectID != id)
            #expect(try again.count(for: Depot.request("Item")) == 4)
            // Delete rules apply to objects that were never read here.
            again.delete(box)
            try again.save()
            #expect(Depot.names(try again.fetch(Depot.request("Item", nil, sort: "name"))) == ["screw", "washer"])
            #expect((metal.value(forKey: "boxes") as? Set<NSManagedObject>)?.count == 1)
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType])
    func aConcurrentChangeIsReportedAsAConflict(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let coordinator = try Depot.coordinator(type, at: url)
        let one = Depot.context(over: coordinator), two = Depot.context(over: coordinator)
        let id = try one.performAndWait {
            let item = Depot.insert("Item", ["name": "nut", "count": 1], into: one)
            try one.save()
            return item.objectID
        }
        two.performAndWait { two.object(with: id).setValue("two", forKey: "name") }
        try one.performAndWait {
            one.object(with: id).setValue("one", forKey: "name")
            try one.save()
        }
        two.performAndWait {
            #expect(Depot.code { try two.save() } == 133_020)
            #expect(two.hasChanges)
            two.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            #expect(Depot.code { try two.save() } == nil)
            #expect(!two.hasChanges)
        }
        one.performAndWait {
            one.refresh(one.object(with: id), mergeChanges: false)
            #expect(one.object(with: id).value(forKey: "name") as? String == "two")
            #expect(one.object(with: id).value(forKey: "count") as? Int64 == 1)
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType])
    func aStoreReportsItsTypeAndUUID(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let coordinator = try Depot.coordinator(type, at: url)
        let store = try #require(coordinator.persistentStores.first)
        #expect(store.type == type)
        #expect(!store.isReadOnly)
        #expect(store.persistentStoreCoordinator === coordinator)
        #expect(UUID(uuidString: store.identifier) != nil)
        #expect(store.metadata[NSStoreUUIDKey] as? String == store.identifier)
        #expect(store.metadata[NSStoreTypeKey] as? String == type)
        #expect((store.metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.count == 4)
        #expect(coordinator.metadata(for: store)[NSStoreUUIDKey] as? String == store.identifier)
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType])
    func readOnlyStoresAreNotWritten(type: String) throws {
        let url = try Depot.folder().appendingPathComponent("depot")
        let first = try Depot.coordinator(type, at: url)
        let writer = Depot.context(over: first)
        try writer.performAndWait { try fill(writer) }
        try first.remove(try #require(first.persistentStores.first))
        let coordinator = try Depot.coordinator(type, at: url, options: [NSReadOnlyPersistentStoreOption: true])
        #expect(coordinator.persistentStores.first?.isReadOnly == true)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let nut = try #require(try context.fetch(Depot.request("Item", "name == 'nut'")).first)
            nut.setValue(99, forKey: "count")
            #expect(Depot.code { try context.save() } != nil)
            context.rollback()
            #expect(nut.value(forKey: "count") as? Int64 == 7)
        }
    }
}
