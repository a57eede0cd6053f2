// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct DictionaryTests {
    private func expression(_ name: String, _ expression: NSExpression, _ type: NSAttributeType) -> NSExpressionDescription {
        let description = NSExpressionDescription()
        description.name = name
        description.expression = expression
        description.expressionResultType = type
        return description
    }

    private func aggregate(_ function: String, _ keyPath: String, as name: String, _ type: NSAttributeType) -> NSExpressionDescription {
        expression(name, NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: keyPath)]), type)
    }

    private func fetch(
        _ context: NSManagedObjectContext, _ entity: String = "Item", _ properties: [Any]?,
        _ configure: (NSFetchRequest<NSDictionary>) -> Void = { _ in }
    ) throws -> [NSDictionary] {
        let request = NSFetchRequest<NSDictionary>(entityName: entity)
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = properties
        configure(request)
        return try context.fetch(request)
    }

    @Test func attributesAndKeyPathsAreColumns() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let rows = try fetch(context, ["name", "amount", "weight", "price", "isNew", "seen", "shelf.name", "shelf.room.name"]) {
                $0.sortDescriptors = [NSSortDescriptor(key: "amount", ascending: true)]
            }
            #expect(rows.count == 8)
            #expect(rows[0]["name"] as? String == "item 1")
            #expect(rows[0]["amount"] as? Int == 1)
            #expect(rows[0]["weight"] as? Double == 0.25)
            #expect(rows[0]["price"] as? NSDecimalNumber == NSDecimalNumber(string: "1.25"))
            #expect(rows[0]["isNew"] as? Bool == false)
            #expect(rows[1]["isNew"] as? Bool == true)
            #expect(rows[0]["seen"] as? Date == Date(timeIntervalSinceReferenceDate: 100))
            #expect(rows[0]["shelf.name"] as? String == "attic 2")
            #expect(rows[0]["shelf.room.name"] as? String == "attic")
            // A gadget without a shelf.
            #expect(rows[7]["shelf.name"] == nil)
            #expect(rows[7]["name"] as? String == "item 8")
        }
    }

    @Test func descriptionsNameTheirProperties() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
            let (name, shelf) = (try #require(entity.propertiesByName["name"]), try #require(entity.propertiesByName["shelf"]))
            let rows = try fetch(context, [name, shelf]) { $0.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)] }
            #expect(rows.map { $0["name"] as? String }.first == "item 8")
            let shelves = try Shelves.all("Shelf", by: "name", in: context)
            #expect(rows[1]["shelf"] as? NSManagedObjectID == shelves[3].objectID)
            #expect(rows[0]["shelf"] == nil)
            // All attributes for nil.
            let all = try fetch(context, nil) { $0.predicate = NSPredicate(format: "amount == 3") }
            #expect(all.first?["kind"] as? String == "tool" && all.first?["amount"] as? Int == 3)
            let ids = try fetch(context, [expression("id", NSExpression.expressionForEvaluatedObject(), .objectIDAttributeType), "name"]) {
                $0.predicate = NSPredicate(format: "volts == 5 AND amount == 8")
                $0.entity = NSEntityDescription.entity(forEntityName: "Gadget", in: context)
            }
            let id = try #require(ids.first?["id"] as? NSManagedObjectID)
            #expect(id.entity.name == "Gadget")
            #expect(try context.existingObject(with: id).value(forKey: "amount") as? Int32 == 8)
        }
    }

    @Test func functionsOverAllRowsGiveOneDictionary() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let totals: [Any] = [
                aggregate("sum:", "amount", as: "sum", .integer64AttributeType),
                aggregate("max:", "amount", as: "max", .integer32AttributeType),
                aggregate("min:", "weight", as: "min", .doubleAttributeType),
                aggregate("average:", "amount", as: "average", .doubleAttributeType),
                aggregate("count:", "name", as: "count", .integer32AttributeType),
                aggregate("sum:", "price", as: "worth", .decimalAttributeType),
                aggregate("max:", "seen", as: "last", .dateAttributeType),
                aggregate("max:", "name", as: "lastName", .stringAttributeType),
                expression("sumByOperator", NSExpression(forKeyPath: "@sum.amount"), .integer64AttributeType),
            ]
            let rows = try fetch(context, totals)
            #expect(rows.count == 1)
            let row = try #require(rows.first)
            #expect(row["sum"] as? Int == 36)
            #expect(row["max"] as? Int == 8)
            #expect(row["min"] as? Double == 0.25)
            #expect(row["average"] as? Double == 4.5)
            #expect(row["count"] as? Int == 8)
            #expect(row["worth"] as? NSDecimalNumber == NSDecimalNumber(string: "38"))
            #expect(row["last"] as? Date == Date(timeIntervalSinceReferenceDate: 800))
            #expect(row["lastName"] as? String == "item 8")
            #expect(row["sumByOperator"] as? Int == 36)
            let few = try fetch(context, totals) { $0.predicate = NSPredicate(format: "amount > 6") }
            #expect(few.first?["sum"] as? Int == 15 && few.first?["count"] as? Int == 2)
            let none = try fetch(context, [totals[0], totals[4]]) { $0.predicate = NSPredicate(format: "amount > 100") }
            #expect(none.first?["sum"] as? Int == 0 && none.first?["count"] as? Int == 0)
        }
    }

    @Test func rowsAreGroupedAndGroupsChosen() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let (count, sum) = (aggregate("count:", "name", as: "count", .integer32AttributeType), aggregate("sum:", "amount", as: "sum", .integer64AttributeType))
            let byKind = try fetch(context, ["kind", count, sum]) {
                $0.propertiesToGroupBy = ["kind"]
                $0.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true)]
            }
            #expect(byKind.map { $0["kind"] as? String } == ["book", "tool", "toy"])
            #expect(byKind.map { $0["count"] as? Int } == [3, 2, 3])
            #expect(byKind.map { $0["sum"] as? Int } == [15, 9, 12])
            let large = try fetch(context, ["kind", count]) {
                $0.propertiesToGroupBy = ["kind"]
                $0.havingPredicate = NSPredicate(format: "%@ > 2", NSExpression(forVariable: "count"))
                $0.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: false)]
            }
            #expect(large.map { $0["kind"] as? String } == ["toy", "book"])
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
            let byTwo = try fetch(context, ["kind", "isNew", count]) {
                $0.propertiesToGroupBy = [entity.propertiesByName["kind"] as Any, "isNew"]
                $0.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true), NSSortDescriptor(key: "isNew", ascending: true)]
            }
            #expect(byTwo.count == 6 && byTwo[0]["isNew"] as? Bool == false && byTwo[1]["isNew"] as? Bool == true)
            let byRoom = try fetch(context, ["shelf.room.name", sum]) {
                $0.predicate = NSPredicate(format: "shelf != nil")
                $0.propertiesToGroupBy = ["shelf.room.name"]
                $0.sortDescriptors = [NSSortDescriptor(key: "shelf.room.name", ascending: true)]
                $0.fetchLimit = 1
            }
            #expect(byRoom.map { $0["sum"] as? Int } == [13])
        }
    }

    @Test func equalDictionariesComeOnce() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let sorted = [NSSortDescriptor(key: "kind", ascending: true)]
            #expect(try fetch(context, ["kind"]) { $0.sortDescriptors = sorted }.count == 8)
            let distinct = try fetch(context, ["kind"]) {
                $0.returnsDistinctResults = true
                $0.sortDescriptors = sorted
            }
            #expect(distinct.map { $0["kind"] as? String } == ["book", "tool", "toy"])
            let window = try fetch(context, ["kind"]) {
                $0.returnsDistinctResults = true
                $0.sortDescriptors = sorted
                $0.fetchOffset = 1
                $0.fetchLimit = 1
            }
            #expect(window.map { $0["kind"] as? String } == ["tool"])
        }
    }

    @Test func unsavedChangesPlayNoPart() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            Shelves.insert("Item", ["name": "fresh"], into: context)
            try Shelves.all("Item", by: "amount", in: context).last?.setValue(800, forKey: "amount")
            let rows = try fetch(context, ["amount"]) {
                $0.includesPendingChanges = false
                $0.sortDescriptors = [NSSortDescriptor(key: "amount", ascending: true)]
            }
            #expect(rows.map { $0["amount"] as? Int } == [1, 2, 3, 4, 5, 6, 7, 8])
        }
    }

    @Test func resultsCastToSwiftDictionaries() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
            request.resultType = .dictionaryResultType
            request.propertiesToFetch = ["amount", expression("double", NSExpression(format: "amount * 2"), .integer32AttributeType)]
            request.sortDescriptors = [NSSortDescriptor(key: "amount", ascending: true)]
            let rows = try #require(try context.fetch(request) as? [[String: Any]])
            #expect(rows.count == 8)
            #expect(rows[2]["amount"] as? Int == 3)
            #expect(rows[2]["double"] as? Int == 6)
        }
    }
}
