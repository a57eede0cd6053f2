// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Attribute types that lightweight migration converts, and counts that it reduces.
@Suite struct TypeChangeTests {
    private func model(_ type: NSAttributeType) -> NSManagedObjectModel {
        let entry = Versions.entity("Entry")
        entry.properties = [Library.attribute("value", type), Library.attribute("number", .integer16AttributeType)]
        return Versions.model([entry])
    }

    @Test(arguments: [
        (NSAttributeType.integer16AttributeType, NSAttributeType.integer32AttributeType, 300.0),
        (.integer16AttributeType, .integer64AttributeType, -7), (.integer64AttributeType, .integer16AttributeType, 300),
        (.booleanAttributeType, .integer32AttributeType, 1), (.floatAttributeType, .doubleAttributeType, 2.5),
        (.doubleAttributeType, .floatAttributeType, 2.5),
    ])
    func numbersAreConverted(_ old: NSAttributeType, _ new: NSAttributeType, _ value: Double) throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.open(url, model(old)) { context throws in
                Versions.insert("Entry", ["value": value as NSNumber, "number": 1], context)
                Versions.insert("Entry", ["number": 2], context)
                try context.save()
            }
            try Versions.open(url, model(new)) { context throws in
                let entries = try Versions.fetch("Entry", context, sortedBy: "number")
                #expect((entries[0].value(forKey: "value") as? NSNumber)?.doubleValue == value)
                #expect(entries[0].value(forKey: "value") as? Float == Float(value))
                #expect(entries[1].value(forKey: "value") == nil)
                #expect(entries[0].entity.attributesByName["value"]?.attributeType == new)
            }
        }
    }

    /// A value that the smaller type does not hold must not be cut.
    @Test func aNumberThatDoesNotFitIsRefused() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.open(url, model(.integer64AttributeType)) { context throws in
                Versions.insert("Entry", ["value": Int64(1) << 40, "number": 1], context)
                try context.save()
            }
            #expect(Depot.code { try Versions.open(url, model(.integer16AttributeType)) { _ in } } == 134_110)
            try Versions.open(url, model(.integer64AttributeType)) { context throws in
                #expect(try Versions.values("Entry", "value", by: "number", context, as: Int64.self) == [1 << 40])
            }
        }
    }

    private func lists(_ isToMany: Bool) -> NSManagedObjectModel {
        let (list, entry) = (Versions.entity("List"), Versions.entity("Entry"))
        for entity in [list, entry] { entity.properties = [Library.attribute("name", .stringAttributeType)] }
        Library.connect(list, "entries", toMany: isToMany, with: entry, "list", toMany: false)
        return Versions.model([list, entry])
    }

    @Test(arguments: [1, 2]) func aToManyRelationshipBecomesToOneWhileNoObjectHasSeveral(_ count: Int) throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.open(url, lists(true)) { context throws in
                let list = Versions.insert("List", ["name": "a"], context)
                for number in 0..<count { Versions.insert("Entry", ["name": "\(number)", "list": list], context) }
                try context.save()
            }
            guard count == 1 else {
                #expect(Depot.code { try Versions.open(url, lists(false)) { _ in } } == 134_110)
                try Versions.open(url, lists(true), options: nil) { context throws in
                    #expect(try Versions.fetch("Entry", context).count == 2)
                }
                return
            }
            try Versions.open(url, lists(false)) { context throws in
                let list = try Versions.fetch("List", context)[0]
                #expect((list.value(forKey: "entries") as? NSManagedObject)?.value(forKey: "name") as? String == "0")
            }
        }
    }
}
