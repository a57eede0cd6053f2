// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite("Required properties")
struct RequiredPropertyTests {
    private static func model(minimum: Int) -> NSManagedObjectModel {
        let (list, item) = (Versions.entity("List"), Versions.entity("Item"))
        let changed = NSDerivedAttributeDescription()
        changed.name = "changed"
        changed.type = .date
        changed.isOptional = false
        changed.derivationExpression = NSExpression(format: "now()")
        list.properties = [Library.attribute("name", .stringAttributeType), changed]
        item.properties = [Library.attribute("name", .stringAttributeType)]
        Library.connect(list, "items", toMany: true, with: item, "list", toMany: false)
        list.relationshipsByName["items"]?.isOptional = false
        list.relationshipsByName["items"]?.minCount = minimum
        return Versions.model([list, item])
    }

    @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType])
    func aRequiredToManyRelationshipWithoutMinimumMayBeEmpty(type: String) throws {
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Self.model(minimum: 0), type: type) { context throws in
                let list = Versions.insert("List", ["name": "a"], context)
                try context.save()
                let item = Versions.insert("Item", ["name": "b", "list": list], context)
                try context.save()
                item.setValue(nil, forKey: "list")
                try context.save()
                #expect((list.value(forKey: "items") as? NSSet)?.count == 0)
            }
        }
    }

    @Test func aRequiredToManyRelationshipObeysItsMinimum() throws {
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Self.model(minimum: 1)) { context throws in
                Versions.insert("List", ["name": "a"], context)
                #expect { try context.save() } throws: { ($0 as? CocoaError)?.code == .validationMissingMandatoryProperty }
                context.rollback()
            }
        }
    }

    @Test func aRequiredDerivedAttributeIsComputedByTheSave() throws {
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Self.model(minimum: 0)) { context throws in
                let list = Versions.insert("List", ["name": "a"], context)
                #expect(throws: Never.self) { try list.validateForInsert() }
                try context.save()
                context.refresh(list, mergeChanges: false)
                #expect(list.value(forKey: "changed") is Date)
            }
        }
    }
}
