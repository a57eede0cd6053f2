// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// The functions of derived attributes, each kept through inserts, updates and deletions.
@Suite struct DerivedFunctionTests {
    private static func model(_ derived: [(entity: String, name: String, type: NSAttributeType, expression: String)])
        -> NSManagedObjectModel
    {
        let (list, entry) = (Versions.entity("List"), Versions.entity("Entry"))
        list.properties = [Library.attribute("name", .stringAttributeType)]
        entry.properties = [Library.attribute("name", .stringAttributeType), Library.attribute("size", .integer32AttributeType)]
        for definition in derived {
            let attribute = NSDerivedAttributeDescription()
            attribute.name = definition.name
            attribute.attributeType = definition.type
            attribute.derivationExpression = NSExpression(format: definition.expression)
            (definition.entity == "List" ? list : entry).properties.append(attribute)
        }
        Library.connect(list, "entries", toMany: true, with: entry, "list", toMany: false)
        return Versions.model([list, entry])
    }

    private func numbers(_ list: NSManagedObject, _ context: NSManagedObjectContext) throws -> [Double?] {
        try context.save()
        context.refresh(list, mergeChanges: false)
        return ["count", "sum", "avg", "min", "max"].map { (list.value(forKey: $0) as? NSNumber)?.doubleValue }
    }

    @Test func totalsFollowEachChangeOfAMember() throws {
        let model = Self.model([
            ("List", "count", .integer64AttributeType, "entries.@count"), ("List", "sum", .integer64AttributeType, "entries.@sum.size"),
            ("List", "avg", .doubleAttributeType, "entries.@avg.size"), ("List", "min", .integer32AttributeType, "entries.@min.size"),
            ("List", "max", .integer32AttributeType, "entries.@max.size"),
        ])
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), model) { context throws in
                let list = Versions.insert("List", ["name": "a"], context)
                #expect(try numbers(list, context).first == 0)
                let entries = [2, 6, 7].map { Versions.insert("Entry", ["size": $0, "list": list], context) }
                #expect(try numbers(list, context) == [3, 15, 5, 2, 7])
                entries[0].setValue(17, forKey: "size")
                #expect(try numbers(list, context) == [3, 30, 10, 6, 17])
                context.delete(entries[0])
                #expect(try numbers(list, context) == [2, 13, 6.5, 6, 7])
                entries[1].setValue(nil, forKey: "list")
                #expect(try numbers(list, context) == [1, 7, 7, 7, 7])
                entries[2].setValue(nil, forKey: "size")
                #expect(try numbers(list, context).first == 1)
                #expect(try numbers(list, context)[4] == nil)
            }
        }
    }

    @Test(arguments: ["length:(name)", "size + 1", "list.entries.@count", "nothing"])
    func anExpressionThatAStoreCannotComputeIsRefused(_ expression: String) throws {
        try Versions.withFolder { folder in
            let model = Self.model([("Entry", "form", .integer64AttributeType, expression)])
            let error = #expect(throws: CocoaError.self) { try Versions.open(folder.appendingPathComponent("a.sqlite"), model) { _ in } }
            #expect(error?.code.rawValue == 134_100)
            #expect(error?.localizedDescription.contains("Entry.form") == true)
        }
    }

    @Test(arguments: [
        ("lowercase:(name)", "ÉCLAIR x", "éclair x"), ("uppercase:(name)", "éclair x", "ÉCLAIR X"),
        ("canonical:(name)", "ÉClair", "eclair"),
    ])
    func textsAreConverted(_ expression: String, _ name: String, _ result: String) throws {
        try Versions.withFolder { folder in
            let model = Self.model([("Entry", "form", .stringAttributeType, expression)])
            try Versions.open(folder.appendingPathComponent("a.sqlite"), model) { context throws in
                let entry = Versions.insert("Entry", ["name": name], context)
                try context.save()
                context.refresh(entry, mergeChanges: false)
                #expect(entry.value(forKey: "form") as? String == result)
                let request = NSFetchRequest<NSManagedObject>(entityName: "Entry")
                request.predicate = NSPredicate(format: "form == %@", result)
                #expect(try context.count(for: request) == 1)
            }
        }
    }

    @Test(arguments: ["name + 'x'", "size * 2", "entries.@count + 1", "abs(size)", "nothing"])
    func otherExpressionsAreRefused(_ expression: String) throws {
        try Versions.withFolder { folder in
            let model = Self.model([("Entry", "form", .stringAttributeType, expression)])
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            let error = #expect(throws: CocoaError.self) {
                try coordinator.addPersistentStore(
                    ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("a.sqlite"))
            }
            #expect(error?.localizedDescription.contains("form") == true)
            #expect(coordinator.persistentStores.isEmpty)
        }
    }

    /// A fetched property's request may name its own description.
    @Test func aFetchedPropertyKnowsItsDescription() throws {
        let entry = Versions.entity("Entry")
        let property = NSFetchedPropertyDescription()
        property.name = "small"
        property.userInfo = ["limit": 3]
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Entry")
        request.predicate = NSPredicate(format: "size < $FETCHED_PROPERTY.userInfo.limit AND size != $FETCH_SOURCE.size")
        property.fetchRequest = request
        entry.properties = [Library.attribute("size", .integer32AttributeType), property]
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Versions.model([entry])) { context throws in
                let entries = [1, 2, 3].map { Versions.insert("Entry", ["size": $0], context) }
                try context.save()
                #expect(entries.map { ($0.value(forKey: "small") as? [Any])?.count } == [1, 1, 2])
            }
        }
    }

    /// The row of a member has one reference to an owner.
    @Test func aMemberWithoutInverseMovesToItsNewOwner() throws {
        try Market.withContext { context in
            let (first, second) = (Trader.inserted("first", context), Trader.inserted("second", context))
            let guest = Guest.inserted("a", context)
            first.mutableSetValue(forKey: "guests").add(guest)
            try context.save()
            second.mutableSetValue(forKey: "guests").add(guest)
            try context.save()
            context.refreshAllObjects()
            #expect(first.memberNames("guests") == [])
            #expect(second.memberNames("guests") == ["a"])
        }
    }
}
