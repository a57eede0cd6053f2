// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Equality and archives of models and their parts, and members that are stored without effect.
@Suite struct ModelDetailTests {
    private static func item(_ model: NSManagedObjectModel) throws -> NSEntityDescription { try #require(model.entitiesByName["Item"]) }

    @Test func entitiesAndPropertiesAreEqualByTheirContent() throws {
        let (one, other) = (Depot.makeModel(), Depot.makeModel())
        for name in ["Item", "Box"] {
            let (first, second) = (try #require(one.entitiesByName[name]), try #require(other.entitiesByName[name]))
            #expect(first !== second)
            #expect(first.isEqual(second))
            #expect(first.hash == second.hash)
            for (key, property) in first.propertiesByName {
                #expect(property.isEqual(second.propertiesByName[key]), "\(name).\(key)")
                #expect(property.hash == second.propertiesByName[key]?.hash, "\(name).\(key)")
            }
        }
        #expect(try !Self.item(one).isEqual(one.entitiesByName["Box"]))
    }

    private typealias Change = @Sendable (NSEntityDescription) -> Void

    private static let changes: [(String, Change)] = [
        ("optionality", { $0.attributesByName["count"]?.isOptional = false }),
        ("type", { $0.attributesByName["count"]?.attributeType = .integer16AttributeType }),
        ("name", { $0.attributesByName["count"]?.name = "number" }),
        ("user info", { $0.attributesByName["count"]?.userInfo = ["a": "b"] }),
        ("renaming identifier", { $0.attributesByName["count"]?.renamingIdentifier = "number" }),
        ("modifier", { $0.attributesByName["count"]?.versionHashModifier = "2" }),
    ]

    @Test(arguments: changes.indices)
    func aChangedPropertyMakesItAndItsEntityUnequal(_ index: Int) throws {
        let (name, change) = Self.changes[index]
        let (one, other) = (try Self.item(Depot.makeModel()), try Self.item(Depot.makeModel()))
        let (count, counterpart) = (try #require(one.attributesByName["count"]), try #require(other.attributesByName["count"]))
        change(other)
        #expect(!count.isEqual(counterpart), "\(name)")
        #expect(!one.isEqual(other), "\(name)")
    }

    @Test func anArchiveHasTheContentOfAModelFile() throws {
        let model = Depot.makeModel { model in
            model.localizationDictionary = ["Property/count": "Amount"]
            guard let count = model.entitiesByName["Item"]?.attributesByName["count"] else { return }
            count.userInfo = ["unit": "kg", "step": 5]
            count.setValidationPredicates([NSPredicate(format: "SELF > 1")], withValidationWarnings: ["too small"])
            count.allowsCloudEncryption = true
            model.entitiesByName["Item"]?.userInfo = ["icon": "box"]
        }
        let data = try NSKeyedArchiver.archivedData(withRootObject: model, requiringSecureCoding: true)
        let archived = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSManagedObjectModel.self, from: data))
        let count = try #require(try Self.item(archived).attributesByName["count"])
        #expect(count.userInfo?["unit"] as? String == "kg")
        #expect(count.userInfo?["step"] == nil, "a model file has texts only")
        #expect(count.validationPredicates.isEmpty, "a model file has no predicates of its own")
        #expect(count.allowsCloudEncryption)
        #expect(try Self.item(archived).userInfo?["icon"] as? String == "box")
        #expect(archived.localizationDictionary == ["Property/count": "Amount"])
        let relationship = try #require(try Self.item(archived).relationshipsByName["box"])
        #expect(relationship.inverseRelationship === archived.entitiesByName["Box"]?.relationshipsByName["items"])
        #expect(archived.entities(forConfigurationName: "Notes")?.map(\.name) == ["Note"])
    }

    @Test func entitiesAreArchivedAlone() throws {
        let item = try Self.item(Depot.makeModel { $0.entitiesByName["Item"]?.renamingIdentifier = "Thing" })
        let data = try NSKeyedArchiver.archivedData(withRootObject: item, requiringSecureCoding: true)
        let archived = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSEntityDescription.self, from: data))
        #expect(archived.name == "Item")
        #expect(archived.renamingIdentifier == "Thing")
        #expect(Set(archived.attributesByName.keys) == Set(item.attributesByName.keys))
    }

    @Test func localizedTextsAreNotUsedInErrors() throws {
        let model = Depot.makeModel { model in
            model.entitiesByName["Note"]?.attributesByName["text"]?.isOptional = false
            model.localizationDictionary = ["Property/text": "Wording", "Entity/Note": "Memo"]
        }
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
        let context = Depot.context(over: coordinator)
        context.performAndWait {
            Depot.insert("Note", [:], into: context)
            let error = #expect(throws: CocoaError.self) { try context.save() }
            #expect(error?.localizedDescription.contains("text") == true)
            #expect(error?.localizedDescription.contains("Wording") == false)
        }
    }

    @available(*, deprecated, message: "tests a deprecated member")
    @Test func compoundIndexesAndSpotlightNamesAreStoredWithoutEffect() throws {
        let plain = Depot.makeModel()
        let model = Depot.makeModel { model in
            let item = model.entitiesByName["Item"]
            item?.compoundIndexes = [["name", "count"]]
            item?.coreSpotlightDisplayNameExpression = NSExpression(forKeyPath: "name")
        }
        let item = try Self.item(model)
        #expect(item.compoundIndexes as? [[String]] == [["name", "count"]])
        #expect(item.coreSpotlightDisplayNameExpression.keyPath == "name")
        #expect(item.indexes.isEmpty)
        #expect(model.entityVersionHashesByName == plain.entityVersionHashesByName)
        let copy = try #require(item.copy() as? NSEntityDescription)
        #expect(copy.compoundIndexes as? [[String]] == [["name", "count"]])
        #expect(copy.coreSpotlightDisplayNameExpression.keyPath == "name")
    }

    @Test func modelsThatDisagreeAboutAnEntityAreNotMerged() throws {
        let other = Depot.makeModel { model in
            model.entitiesByName["Note"]?.properties.append(Library.attribute("author", .stringAttributeType))
        }
        #expect(NSManagedObjectModel(byMerging: [Depot.makeModel(), other]) == nil)
        #expect(NSManagedObjectModel(byMerging: [Depot.makeModel(), Depot.makeModel()])?.entities.count == 4)
    }

    /// A compiled model of Apple's is a property list.
    @Test(arguments: ["bplist00", "", "{"]) func otherFilesAreNoModels(_ content: String) throws {
        let url = try Depot.folder().appendingPathComponent("Model.mom")
        try Data(content.utf8).write(to: url)
        #expect(NSManagedObjectModel(contentsOf: url) == nil)
        #expect(NSManagedObjectModel(contentsOf: url.appendingPathExtension("missing")) == nil)
    }

    @Test func indexesOfRangesAreOrdinaryIndexes() throws {
        func model(_ kind: NSFetchIndexElementType?) -> NSManagedObjectModel {
            Depot.makeModel { model in
                guard let kind, let item = model.entitiesByName["Item"], let weight = item.attributesByName["weight"],
                    let count = item.attributesByName["count"]
                else { return }
                let elements = [weight, count].map { NSFetchIndexElementDescription(property: $0, collationType: kind) }
                item.indexes = [NSFetchIndexDescription(name: "byRange", elements: elements)]
            }
        }
        let place = try Depot.folder().appendingPathComponent("depot.sqlite")
        for kind in [NSFetchIndexElementType.rTree, .binary, nil] {
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model(kind))
            let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place)
            let context = Depot.context(over: coordinator)
            try context.performAndWait {
                Depot.insert("Item", ["weight": 2.5, "count": 1], into: context)
                try context.save()
                #expect(try context.count(for: Depot.request("Item", "weight BETWEEN {2, 3} AND count < 9")) > 0)
            }
            try coordinator.remove(store)
        }
    }
}
