// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Values that batch requests write without objects: encoded ones, and those that the store computes.
@Suite struct BatchValueTests {
    private func shades(_ context: NSManagedObjectContext) throws -> [Int?] {
        let request = NSFetchRequest<Picture>(entityName: "Picture")
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        context.refreshAllObjects()
        return try context.fetch(request).map { ($0.value(forKey: "shade") as? Shade)?.level }
    }

    @Test func insertedTransformableValuesAreEncoded() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let rows: [[String: Any]] = [["name": "a", "shade": Shade(1), "plain": ["x"], "words": ["p", "q"]], ["name": "b"]]
            try context.execute(NSBatchInsertRequest(entityName: "Picture", objects: rows))
            var level = 1
            let request = NSBatchInsertRequest(entityName: "Picture") { (object: NSManagedObject) in
                level += 1
                object.setValue("c\(level)", forKey: "name")
                object.setValue(Shade(level), forKey: "shade")
                return level > 3
            }
            try context.execute(request)
            #expect(try shades(context) == [1, nil, 2, 3])
            let first = try #require(try context.fetch(Depot.request("Picture", "name == 'a'")).first)
            #expect(first.value(forKey: "plain") as? [String] == ["x"])
            #expect(first.value(forKey: "words") as? [String] == ["p", "q"])
        }
    }

    @Test func updatedTransformableValuesAreEncoded() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            try context.execute(NSBatchInsertRequest(entityName: "Picture", objects: [["name": "a", "shade": Shade(1)], ["name": "b"]]))
            let request = NSBatchUpdateRequest(entityName: "Picture")
            request.propertiesToUpdate = ["shade": Shade(7)]
            try context.execute(request)
            #expect(try shades(context) == [7, 7])
            request.propertiesToUpdate = ["shade": NSNull()]
            try context.execute(request)
            #expect(try shades(context) == [nil, nil])
        }
    }

    @Test func valuesThatCannotBeEncodedAreRefused() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let insertion = NSBatchInsertRequest(entityName: "Picture", objects: [["name": "a", "words": 5]])
            #expect(Depot.code { try context.execute(insertion) } == 134_030)
            let update = NSBatchUpdateRequest(entityName: "Picture")
            update.propertiesToUpdate = ["words": 5]
            #expect(Depot.code { try context.execute(update) } == 134_030)
            let stored = try shades(context)
            #expect(stored.isEmpty)
        }
    }

    @Test func derivedValuesCannotBeUpdated() throws {
        try Market.withContext { context in
            _ = Trader.inserted("shop", context)
            try context.save()
            let request = NSBatchUpdateRequest(entityName: "Trader")
            request.propertiesToUpdate = ["count": 5]
            #expect(Depot.code { try context.execute(request) } == 134_070)
        }
    }

    /// The store increments counts, so a count that an upsert wrote would stay wrong.
    @Test func anUpsertLeavesDerivedValues() throws {
        let (list, entry) = (Versions.entity("List"), Versions.entity("Entry"))
        let count = NSDerivedAttributeDescription()
        count.name = "count"
        count.attributeType = .integer64AttributeType
        count.derivationExpression = NSExpression(format: "entries.@count")
        list.properties = [Library.attribute("name", .stringAttributeType), count]
        list.uniquenessConstraints = [["name"]]
        entry.properties = [Library.attribute("name", .stringAttributeType)]
        Library.connect(list, "entries", toMany: true, with: entry, "list", toMany: false)
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Versions.model([list, entry])) { context throws in
                let owner = Versions.insert("List", ["name": "a"], context)
                _ = Versions.insert("Entry", ["name": "b", "list": owner], context)
                try context.save()
                for policy in [NSMergePolicy.overwrite, .mergeByPropertyObjectTrump] {
                    context.mergePolicy = policy
                    try context.execute(NSBatchInsertRequest(entityName: "List", objects: [["name": "a", "count": 9]]))
                    context.refreshAllObjects()
                    #expect(owner.value(forKey: "count") as? Int == 1)
                }
            }
        }
    }
}
