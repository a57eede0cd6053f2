// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct DictionaryTests {
    private func request(_ properties: [Any]?, by key: String? = nil, _ format: String? = nil) -> NSFetchRequest<NSDictionary> {
        let request = NSFetchRequest<NSDictionary>(entityName: "Item")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = properties
        request.sortDescriptors = key.map { [NSSortDescriptor(key: $0, ascending: true)] }
        request.predicate = format.map { NSPredicate(format: $0) }
        return request
    }

    private func computed(_ name: String, _ function: String, of key: String, _ type: NSAttributeType) -> NSExpressionDescription {
        let description = NSExpressionDescription()
        description.name = name
        description.expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: key)])
        description.expressionResultType = type
        return description
    }

    @Test func dictionariesHoldTheRequestedProperties() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let results = try context.fetch(request(["name", "amount", "isNew", "weight", "price", "seen"], by: "amount"))
            #expect(results.count == 8)
            let second = results[1]
            #expect(second.count == 6)
            #expect(second["name"] as? String == "item 2")
            #expect(second["amount"] as? Int == 2)
            #expect(second["isNew"] as? Bool == true)
            #expect(second["weight"] as? Double == 0.5)
            #expect((second["price"] as? NSDecimalNumber)?.stringValue == "2.25")
            #expect(second["seen"] as? Date == Date(timeIntervalSinceReferenceDate: 200))
            #expect(context.registeredObjects.isEmpty)
        }
    }

    @Test func propertiesToFetchMayBeDescriptions() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let item = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
            let properties = ["name", "kind"].compactMap { item.propertiesByName[$0] }
            let results = try context.fetch(request(properties, by: "amount", "amount <= 2"))
            #expect(results.map { $0["kind"] as? String } == ["toy", "book"])
            #expect(results.map(\.count) == [2, 2])
        }
    }

    @Test func dictionariesHoldAllAttributesByDefault() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let first = try #require(try context.fetch(request(nil, by: "amount")).first)
            #expect(first["name"] as? String == "item 1")
            #expect(first["kind"] as? String == "toy")
            #expect(first["amount"] as? Int == 1)
            #expect(first["code"] == nil)
        }
    }

    @Test func dictionariesHoldObjectIDsOfToOneRelationships() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let results = try context.fetch(request(["name", "shelf", "shelf.name", "shelf.room.name"], by: "amount"))
            let id = try #require(results[0]["shelf"] as? NSManagedObjectID)
            #expect(id.entity.name == "Shelf")
            #expect(context.object(with: id).value(forKey: "name") as? String == "attic 2")
            #expect(results[0]["shelf.name"] as? String == "attic 2")
            #expect(results[1]["shelf.room.name"] as? String == "hall")
            #expect(results[7]["shelf"] == nil)
        }
    }

    @Test func dictionariesHoldTheObjectIDOfTheObject() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let own = NSExpressionDescription()
            own.name = "id"
            own.expression = NSExpression.expressionForEvaluatedObject()
            own.expressionResultType = .objectIDAttributeType
            let results = try context.fetch(request([own, "amount"], by: "amount"))
            let ids = results.compactMap { $0["id"] as? NSManagedObjectID }
            #expect(ids.count == 8)
            #expect(ids.map { $0.entity.name == "Gadget" } == [false, false, false, false, false, false, true, true])
            #expect(try ids == Shelves.all("Item", by: "amount", in: context).map(\.objectID))
        }
    }

    @Test(arguments: [
        ("sum:", "amount", 36.0), ("min:", "amount", 1), ("max:", "amount", 8), ("average:", "amount", 4.5), ("count:", "amount", 8),
        ("sum:", "weight", 9), ("max:", "weight", 2), ("min:", "weight", 0.25), ("average:", "weight", 1.125), ("sum:", "price", 38),
    ])
    func aggregateFunctionsReturnTotals(function: String, key: String, expected: Double) throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let results = try context.fetch(request([computed("total", function, of: key, .doubleAttributeType)]))
            #expect(results.count == 1)
            let total = try #require(results.first?["total"] as? NSNumber)
            #expect(total.doubleValue == expected)
            let some = try context.fetch(request([computed("total", function, of: key, .doubleAttributeType)], "amount == 4"))
            let one = function == "count:" ? 1 : key == "amount" ? 4 : key == "weight" ? 1 : 4.25
            #expect((some.first?["total"] as? NSNumber)?.doubleValue == one)
        }
    }

    @Test func minAndMaxApplyToDatesAndStrings() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let results = try context.fetch(
                request([
                    computed("last", "max:", of: "seen", .dateAttributeType), computed("first", "min:", of: "name", .stringAttributeType),
                ]))
            #expect(results.first?["last"] as? Date == Date(timeIntervalSinceReferenceDate: 800))
            #expect(results.first?["first"] as? String == "item 1")
        }
    }

    @Test func groupsHaveTheirOwnAggregates() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let grouped = request(
                [
                    "kind", computed("total", "sum:", of: "amount", .integer64AttributeType),
                    computed("number", "count:", of: "name", .integer64AttributeType),
                ], by: "kind")
            grouped.propertiesToGroupBy = ["kind"]
            let results = try context.fetch(grouped)
            #expect(results.map { $0["kind"] as? String } == ["book", "tool", "toy"])
            #expect(results.map { $0["total"] as? Int } == [15, 9, 12])
            #expect(results.map { $0["number"] as? Int } == [3, 2, 3])
            grouped.havingPredicate = NSPredicate(format: "$total > 10")
            #expect(try context.fetch(grouped).map { $0["kind"] as? String } == ["book", "toy"])
            grouped.predicate = NSPredicate(format: "amount < 7")
            #expect(try context.fetch(grouped).isEmpty)
            grouped.havingPredicate = NSPredicate(format: "$number == 2")
            #expect(try context.fetch(grouped).map { $0["total"] as? Int } == [7, 9, 5])
        }
    }

    @Test func resultsAreGroupedByPropertiesAndRelationships() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let grouped = request(["kind", "isNew", computed("number", "count:", of: "name", .integer32AttributeType)])
            grouped.propertiesToGroupBy = ["kind", "isNew"]
            grouped.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true), NSSortDescriptor(key: "isNew", ascending: true)]
            let results = try context.fetch(grouped)
            #expect(results.map { $0["number"] as? Int } == [1, 2, 1, 1, 2, 1])
            let byShelf = request(["shelf", computed("total", "sum:", of: "amount", .integer32AttributeType)], "shelf != nil")
            byShelf.propertiesToGroupBy = ["shelf"]
            let totals = try context.fetch(byShelf).reduce(into: [String: Int]()) { totals, result in
                guard let id = result["shelf"] as? NSManagedObjectID else { return }
                totals[context.object(with: id).value(forKey: "name") as? String ?? ""] = result["total"] as? Int
            }
            #expect(totals == ["attic 1": 4, "attic 2": 6, "hall 1": 8, "hall 2": 10])
        }
    }

    @Test func distinctResultsHaveNoDuplicates() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait { () throws in
            let kinds = request(["kind"], by: "kind")
            #expect(try context.fetch(kinds).count == 8)
            kinds.returnsDistinctResults = true
            #expect(try context.fetch(kinds).map { $0["kind"] as? String } == ["book", "tool", "toy"])
            kinds.fetchLimit = 2
            kinds.fetchOffset = 1
            #expect(try context.fetch(kinds).map { $0["kind"] as? String } == ["tool", "toy"])
            let pairs = request(["kind", "isNew"])
            pairs.returnsDistinctResults = true
            #expect(try context.fetch(pairs).count == 6)
        }
    }

    @Test func dictionaryFetchesObeyLimitAndOffset() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait { () throws in
            let some = request(["amount"], by: "amount", "kind != 'tool'")
            some.fetchLimit = 2
            some.fetchOffset = 1
            #expect(try context.fetch(some).map { $0["amount"] as? Int } == [2, 4])
            some.includesSubentities = false
            some.fetchLimit = 0
            #expect(try context.fetch(some).map { $0["amount"] as? Int } == [2, 4, 5])
        }
    }

    @Test func dictionariesShowSavedValues() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            Shelves.insert("Item", ["amount": 100], into: context)
            let item = try #require(
                try Shelves.all("Item", by: "name", in: context).first { $0.value(forKey: "name") as? String == "item 1" })
            item.setValue(1000, forKey: "amount")
            let total = request([computed("total", "sum:", of: "amount", .integer64AttributeType)])
            total.includesPendingChanges = false
            #expect(try context.fetch(total).first?["total"] as? Int == 36)
            try context.save()
            #expect(try context.fetch(total).first?["total"] as? Int == 36 + 100 + 999)
        }
    }

    @Test func requestsThatAStoreCannotAnswerThrow() throws {
        let context = try FetchRequestTests.filled()
        context.performAndWait {
            #expect(Depot.code { _ = try context.fetch(request(["marks"])) } == 134_070)
            #expect(Depot.code { _ = try context.fetch(request(["nothing"])) } == 134_070)
            let block = NSExpressionDescription()
            block.name = "block"
            block.expression = NSExpression(block: { value, _, _ in value ?? 0 }, arguments: [NSExpression(forKeyPath: "amount")])
            #expect(Depot.code { _ = try context.fetch(request([block])) } == 134_070)
            let ungrouped = request(["kind"])
            ungrouped.havingPredicate = NSPredicate(format: "kind != 'toy'")
            #expect(Depot.code { _ = try context.fetch(ungrouped) } == 134_070)
        }
    }

    /// Values of several stores are listed, and not added up.
    @Test func totalsOverSeveralStoresThrow() throws {
        let container = try Shelves.container()
        let file = try Depot.folder().appendingPathComponent("second.sqlite")
        let second = try container.persistentStoreCoordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: nil)
        let context = container.newBackgroundContext()
        try context.performAndWait {
            for number in 1...2 { Shelves.insert("Item", ["amount": number], into: context) }
            context.assign(Shelves.insert("Item", ["amount": 3], into: context), to: second)
            try context.save()
            #expect(try context.fetch(request(["amount"], by: "amount")).map { $0["amount"] as? Int } == [1, 2, 3])
            let total = request([computed("total", "sum:", of: "amount", .integer32AttributeType)])
            #expect(Depot.code { _ = try context.fetch(total) } == 134_070)
            total.affectedStores = [second]
            #expect(try context.fetch(total).map { $0["total"] as? Int } == [3])
        }
    }

    @Test func aStoreWithoutSQLHasNoDictionaries() throws {
        let context = Depot.context(over: try Depot.coordinator(NSBinaryStoreType, at: Depot.folder().appendingPathComponent("depot")))
        context.performAndWait {
            let request = NSFetchRequest<NSDictionary>(entityName: "Item")
            request.resultType = .dictionaryResultType
            request.propertiesToFetch = ["name"]
            #expect(Depot.code { _ = try context.fetch(request) } == 134_091)
        }
    }

    @Test func dictionariesHoldComputedValues() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait { () throws in
            let doubled = NSExpressionDescription()
            doubled.name = "doubled"
            doubled.expression = NSExpression(
                forFunction: "multiply:by:", arguments: [NSExpression(forKeyPath: "amount"), NSExpression(forConstantValue: 2)])
            doubled.expressionResultType = .integer32AttributeType
            #expect(try context.fetch(request([doubled], by: "amount")).map { $0["doubled"] as? Int } == [2, 4, 6, 8, 10, 12, 14, 16])
            let upper = NSExpressionDescription()
            upper.name = "upper"
            upper.expression = NSExpression(forFunction: "uppercase:", arguments: [NSExpression(forKeyPath: "kind")])
            upper.expressionResultType = .stringAttributeType
            #expect(try context.fetch(request([upper], by: "amount", "amount < 3")).map { $0["upper"] as? String } == ["TOY", "BOOK"])
            #expect(upper.resultType == .string)
            #expect(doubled.expression?.function == "multiply:by:")
        }
    }
}
