// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct VersionTests {
    private typealias Change = @Sendable (NSManagedObjectModel) -> Void

    private static func item(_ model: NSManagedObjectModel) -> NSEntityDescription? { model.entitiesByName["Item"] }

    /// Changes that create another version of `Item`.
    private static let changes: [(String, Change)] = [
        ("modifier", { item($0)?.versionHashModifier = "2" }),
        ("abstract", { item($0)?.isAbstract = true }),
        ("uniqueness", { item($0)?.uniquenessConstraints = [["name"]] }),
        ("new attribute", { item($0)?.properties.append(Library.attribute("color", .stringAttributeType)) }),
        ("no attribute", { item($0)?.properties.removeAll { $0.name == "weight" } }),
        ("optional", { item($0)?.attributesByName["name"]?.isOptional = false }),
        ("transient", { item($0)?.attributesByName["name"]?.isTransient = true }),
        ("type", { item($0)?.attributesByName["count"]?.attributeType = .integer32AttributeType }),
        ("attribute modifier", { item($0)?.attributesByName["count"]?.versionHashModifier = "2" }),
        ("counts", { item($0)?.relationshipsByName["box"]?.minCount = 1 }),
        ("name", { item($0)?.attributesByName["count"]?.name = "number" }),
    ]

    /// Changes that keep the version.
    private static let details: [(String, Change)] = [
        ("class", { item($0)?.managedObjectClassName = "Thing" }),
        ("user info", { item($0)?.userInfo = ["a": "b"] }),
        ("default", { item($0)?.attributesByName["count"]?.defaultValue = 5 }),
        ("delete rule", { item($0)?.relationshipsByName["box"]?.deleteRule = .denyDeleteRule }),
        ("attribute user info", { item($0)?.attributesByName["count"]?.userInfo = ["a": "b"] }),
        ("renaming", { item($0)?.renamingIdentifier = "Thing" }),
        (
            "validation",
            {
                item($0)?.attributesByName["count"]?.setValidationPredicates(
                    [NSPredicate(format: "SELF > 1")], withValidationWarnings: ["small"])
            }
        ),
        (
            "index",
            {
                item($0)?.indexes = [
                    NSFetchIndexDescription(
                        name: "byName",
                        elements: [NSFetchIndexElementDescription(property: item($0)!.attributesByName["name"]!, collationType: .binary)])
                ]
            }
        ),
        ("identifiers", { $0.versionIdentifiers = ["2"] }),
        ("configuration", { $0.setEntities([], forConfigurationName: "More") }),
    ]

    @Test func versionHashesDependOnStoredProperties() throws {
        let plain = Depot.makeModel()
        let hash = try #require(Self.item(plain)).versionHash
        #expect(hash.count == 32)
        #expect(plain.entityVersionHashesByName["Item"] == hash)
        #expect(plain.entityVersionHashesByName.count == 4)
        #expect(Set(plain.entityVersionHashesByName.values).count == 4)
        #expect(Depot.makeModel().entityVersionHashesByName == plain.entityVersionHashesByName)
        #expect(Depot.makeModel().versionChecksum == plain.versionChecksum)
        #expect(Data(base64Encoded: plain.versionChecksum)?.count == 32)
        for (name, change) in Self.changes {
            let other = Depot.makeModel(change)
            #expect(Self.item(other)?.versionHash != hash, "\(name)")
            #expect(other.entitiesByName["Note"]?.versionHash == plain.entitiesByName["Note"]?.versionHash, "\(name)")
            #expect(other.versionChecksum != plain.versionChecksum, "\(name)")
        }
        for (name, change) in Self.details { #expect(Self.item(Depot.makeModel(change))?.versionHash == hash, "\(name)") }
    }

    @Test func versionHashesOfSubentitiesDependOnTheirSuperentities() throws {
        func model(_ modifier: String?) -> NSManagedObjectModel {
            let (parent, heir) = (NSEntityDescription(), NSEntityDescription())
            (parent.name, heir.name) = ("Parent", "Heir")
            parent.subentities = [heir]
            parent.versionHashModifier = modifier
            let model = NSManagedObjectModel()
            model.entities = [parent, heir]
            return model
        }
        #expect(model(nil).entityVersionHashesByName["Heir"] != model("2").entityVersionHashesByName["Heir"])
    }

    /// Observed in hashes of Apple's framework: no store has a transient property.
    @Test func transientPropertiesDoNotChangeTheVersion() throws {
        let plain = Depot.makeModel()
        let more = Depot.makeModel {
            let cached = Library.attribute("cached", .undefinedAttributeType)
            cached.isTransient = true
            Self.item($0)?.properties.append(cached)
        }
        #expect(plain.entityVersionHashesByName == more.entityVersionHashesByName)
        #expect(plain.versionChecksum == more.versionChecksum)
        let place = try Depot.folder().appendingPathComponent("depot.sqlite")
        for model in [plain, more, plain] {
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place, options: nil)
            try coordinator.remove(store)
        }
        // Becoming persistent changes the version.
        let stored = Depot.makeModel { Self.item($0)?.properties.append(Library.attribute("cached", .stringAttributeType)) }
        #expect(stored.entityVersionHashesByName != plain.entityVersionHashesByName)
    }

    @Test func propertiesHaveTheirOwnVersionHashes() throws {
        let item = try #require(Self.item(Depot.makeModel()))
        let hashes = item.propertiesByName.mapValues(\.versionHash)
        #expect(Set(hashes.values).count == hashes.count)
        #expect(hashes.values.allSatisfy { $0.count == 32 })
    }

    @Test func aMergedModelIsChosenByStoreMetadata() throws {
        let first = Depot.makeModel()
        let second = Depot.makeModel { Self.item($0)?.properties.append(Library.attribute("color", .stringAttributeType)) }
        let place = try Depot.folder().appendingPathComponent("depot.sqlite")
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: second)
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place, options: nil)
        let metadata = coordinator.metadata(for: store)
        #expect(second.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(!first.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(!second.isConfiguration(withName: "Nothing", compatibleWithStoreMetadata: metadata))
        #expect(!second.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
        let chosen = try #require(NSManagedObjectModel(byMerging: [first, second], forStoreMetadata: metadata))
        #expect(chosen.entityVersionHashesByName == second.entityVersionHashesByName)
        #expect(chosen.entitiesByName["Item"]?.attributesByName["color"] != nil)
        #expect(NSManagedObjectModel(byMerging: [first], forStoreMetadata: metadata) == nil)
        #expect(NSManagedObjectModel(byMerging: [], forStoreMetadata: metadata) == nil)
    }

    @Test func aStoreIsCompatibleWithItsConfiguration() throws {
        let model = Depot.makeModel()
        let place = try Depot.folder().appendingPathComponent("notes.sqlite")
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: "Notes", at: place, options: nil)
        let metadata = coordinator.metadata(for: store)
        #expect((metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.keys.sorted() == ["Note"])
        #expect(model.isConfiguration(withName: "Notes", compatibleWithStoreMetadata: metadata))
        #expect(!model.isConfiguration(withName: "Things", compatibleWithStoreMetadata: metadata))
    }
}

@Suite struct ModelTests {
    @Test func configurationsContainTheirEntities() {
        let model = Depot.makeModel()
        #expect(model.configurations.contains("Things"))
        #expect(model.configurations.contains("Notes"))
        #expect(model.entities(forConfigurationName: "Notes")?.map(\.name) == ["Note"])
        #expect(model.entities(forConfigurationName: "Things")?.count == 3)
        #expect(model.entities(forConfigurationName: nil)?.count == 4)
        #expect(model.entities(forConfigurationName: "Nothing") == nil)
        #expect(model.entitiesByName.keys.sorted() == ["Box", "Item", "Label", "Note"])
    }

    @Test func aCopyIsEqualAndMayBeChanged() throws {
        let model = Depot.makeModel { model in
            model.versionIdentifiers = ["1.0"]
            model.localizationDictionary = ["Entity/Item": "Thing"]
        }
        _ = NSPersistentStoreCoordinator(managedObjectModel: model)
        let copy = try #require(model.copy() as? NSManagedObjectModel)
        #expect(copy !== model)
        #expect(copy.isEqual(model))
        #expect(copy.versionIdentifiers == ["1.0"])
        #expect(copy.localizationDictionary == ["Entity/Item": "Thing"])
        #expect(copy.entityVersionHashesByName == model.entityVersionHashesByName)
        #expect(copy.entitiesByName["Item"] !== model.entitiesByName["Item"])
        #expect(copy.entitiesByName["Item"]?.managedObjectModel === copy)
        #expect(copy.entities(forConfigurationName: "Notes")?.map(\.name) == ["Note"])
        let box = try #require(copy.entitiesByName["Item"]?.relationshipsByName["box"])
        #expect(box.destinationEntity === copy.entitiesByName["Box"])
        #expect(box.inverseRelationship === copy.entitiesByName["Box"]?.relationshipsByName["items"])
        #expect(copy.entitiesByName["Box"]?.relationshipsByName["items"]?.deleteRule == .cascadeDeleteRule)
        copy.entitiesByName["Item"]?.properties.append(Library.attribute("color", .stringAttributeType))
        #expect(copy.entitiesByName["Item"]?.attributesByName["color"] != nil)
        #expect(model.entitiesByName["Item"]?.attributesByName["color"] == nil)
        #expect(!copy.isEqual(model))
    }

    @Test func modelsRoundTripThroughArchives() throws {
        let model = Depot.makeModel { $0.versionIdentifiers = ["1.0"] }
        let data = try NSKeyedArchiver.archivedData(withRootObject: model, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSManagedObjectModel.self, from: data))
        #expect(back.isEqual(model))
        #expect(back.entityVersionHashesByName == model.entityVersionHashesByName)
        #expect(back.versionIdentifiers == ["1.0"])
        let item = try #require(model.entitiesByName["Item"])
        let attribute = try #require(item.attributesByName["count"])
        let archived = try NSKeyedArchiver.archivedData(withRootObject: attribute, requiringSecureCoding: true)
        let count = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSAttributeDescription.self, from: archived))
        #expect(count.name == "count")
        #expect(count.attributeType == .integer64AttributeType)
        #expect((count.defaultValue as? NSNumber)?.intValue ?? (count.defaultValue as? Int64).map(Int.init) == 0)
    }

    @Test func mergedModelsHaveTheEntitiesOfBoth() throws {
        let (one, two) = (NSManagedObjectModel(), NSManagedObjectModel())
        let (first, second) = (NSEntityDescription(), NSEntityDescription())
        (first.name, second.name) = ("First", "Second")
        one.entities = [first]
        two.entities = [second]
        let merged = try #require(NSManagedObjectModel(byMerging: [one, two]))
        #expect(merged.entitiesByName.keys.sorted() == ["First", "Second"])
        #expect(one.entities.count == 1)
    }

    @Test func entitiesKnowSuperentityAndSubentities() throws {
        let (animal, dog, puppy, other) = (NSEntityDescription(), NSEntityDescription(), NSEntityDescription(), NSEntityDescription())
        (animal.name, dog.name, puppy.name, other.name) = ("Animal", "Dog", "Puppy", "Other")
        animal.properties = [Library.attribute("name", .stringAttributeType)]
        dog.properties = [Library.attribute("tricks", .integer16AttributeType, default: 0)]
        animal.subentities = [dog]
        dog.subentities = [puppy]
        animal.isAbstract = true
        let model = NSManagedObjectModel()
        model.entities = [animal, dog, puppy, other]
        #expect(puppy.superentity === dog)
        #expect(animal.superentity == nil)
        #expect(animal.subentitiesByName["Dog"] === dog)
        #expect(dog.subentities == [puppy])
        #expect(puppy.isKindOf(entity: animal))
        #expect(animal.isKindOf(entity: animal))
        #expect(!animal.isKindOf(entity: puppy))
        #expect(!other.isKindOf(entity: animal))
        #expect(puppy.attributesByName.keys.sorted() == ["name", "tricks"])
        #expect(puppy.properties.count == 2)
        #expect(animal.properties.count == 1)
        #expect(puppy.propertiesByName["name"]?.entity === animal)
        #expect(animal.managedObjectModel === model)
        #expect(NSEntityDescription().managedObjectClassName == "NSManagedObject")
    }

    @Test func relationshipsAreFoundByDestination() throws {
        let model = Depot.makeModel()
        let (item, box, label) = (model.entitiesByName["Item"]!, model.entitiesByName["Box"]!, model.entitiesByName["Label"]!)
        #expect(box.relationships(forDestination: item).map(\.name) == ["items"])
        #expect(item.relationships(forDestination: box).map(\.name) == ["box"])
        #expect(item.relationships(forDestination: label).isEmpty)
        let items = try #require(box.relationshipsByName["items"])
        #expect(items.isToMany)
        #expect(!items.isOrdered)
        #expect(items.inverseRelationship?.name == "box")
        #expect(items.destinationEntity === item)
        #expect(item.relationshipsByName["box"]?.isToMany == false)
    }

    @Test func newPropertyDescriptionsHaveApplesDefaults() throws {
        let attribute = NSAttributeDescription()
        #expect(attribute.isOptional)
        #expect(!attribute.isTransient)
        #expect(attribute.attributeType == .undefinedAttributeType)
        #expect(attribute.defaultValue == nil)
        #expect(!attribute.allowsExternalBinaryDataStorage)
        #expect(!attribute.preservesValueInHistoryOnDeletion)
        #expect(!attribute.isIndexedBySpotlight)
        #expect(attribute.validationPredicates.isEmpty)
        #expect(attribute.valueTransformerName == nil)
        let relationship = NSRelationshipDescription()
        #expect(relationship.deleteRule == .nullifyDeleteRule)
        #expect(relationship.minCount == 0)
        #expect(!relationship.isOrdered)
        attribute.name = "size"
        #expect(attribute.renamingIdentifier == "size")
        attribute.renamingIdentifier = "length"
        #expect(attribute.renamingIdentifier == "length")
        attribute.setValidationPredicates([NSPredicate(format: "SELF > 1")], withValidationWarnings: ["too small"])
        #expect(attribute.validationPredicates.count == 1)
        #expect(attribute.validationWarnings.first as? String == "too small")
    }

    @Test func attributeTypesHaveBothSpellingsAndAClass() {
        let table: [(NSAttributeType, NSAttributeDescription.AttributeType, String?)] = [
            (.integer16AttributeType, .integer16, "NSNumber"), (.integer32AttributeType, .integer32, "NSNumber"),
            (.integer64AttributeType, .integer64, "NSNumber"), (.doubleAttributeType, .double, "NSNumber"),
            (.floatAttributeType, .float, "NSNumber"), (.booleanAttributeType, .boolean, "NSNumber"),
            (.decimalAttributeType, .decimal, "NSDecimalNumber"), (.stringAttributeType, .string, "NSString"),
            (.dateAttributeType, .date, "NSDate"), (.binaryDataAttributeType, .binaryData, "NSData"),
            (.UUIDAttributeType, .uuid, "NSUUID"), (.URIAttributeType, .uri, "NSURL"),
        ]
        for (old, new, name) in table {
            let attribute = NSAttributeDescription()
            attribute.attributeType = old
            #expect(attribute.type == new)
            #expect(attribute.attributeValueClassName == name)
            attribute.type = .undefined
            #expect(attribute.attributeType == .undefinedAttributeType)
            attribute.type = new
            #expect(attribute.attributeType == old)
        }
    }

    @Test func uniquenessConstraintsAreReadAsPropertyNames() throws {
        let model = Depot.makeModel()
        let item = try #require(model.entitiesByName["Item"])
        item.uniquenessConstraints = [["name", "count"], [item.attributesByName["code"]!]]
        #expect(item.uniquenessConstraints as? [[String]] == [["name", "count"], ["code"]])
    }

    @Test func indexesKnowTheirEntity() throws {
        let item = try #require(Depot.makeModel().entitiesByName["Item"])
        let element = NSFetchIndexElementDescription(property: item.attributesByName["name"]!, collationType: .binary)
        #expect(element.isAscending)
        #expect(element.propertyName == "name")
        #expect(element.property === item.attributesByName["name"])
        let index = NSFetchIndexDescription(name: "byName", elements: [element])
        index.partialIndexPredicate = NSPredicate(format: "count > 0")
        item.indexes = [index]
        #expect(index.entity === item)
        #expect(index.name == "byName")
        #expect(index.elements.count == 1)
        #expect(element.indexDescription === index)
    }

    @Test func expressionDerivedCompositeAndFetchedDescriptionsKeepTheirValues() throws {
        let expression = NSExpressionDescription()
        expression.name = "total"
        expression.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "count")])
        expression.resultType = .integer64
        #expect(expression.expressionResultType == .integer64AttributeType)
        #expect(expression.name == "total")
        let derived = NSDerivedAttributeDescription()
        derived.name = "folded"
        derived.type = .string
        derived.derivationExpression = NSExpression(format: "canonical:(name)")
        #expect(derived.derivationExpression != nil)
        let element = Library.attribute("latitude", .doubleAttributeType)
        let composite = NSCompositeAttributeDescription()
        composite.name = "place"
        composite.elements = [element]
        #expect(composite.attributeType == .compositeAttributeType)
        #expect(composite.elements.map(\.name) == ["latitude"])
        let fetched = NSFetchedPropertyDescription()
        fetched.name = "siblings"
        fetched.fetchRequest = NSFetchRequest(entityName: "Item")
        #expect(fetched.fetchRequest?.entityName == "Item")
        let item = try #require(Depot.makeModel().entitiesByName["Item"])
        item.properties += [derived, composite, fetched]
        #expect(item.attributesByName["folded"] is NSDerivedAttributeDescription)
        #expect(item.attributesByName["place"] is NSCompositeAttributeDescription)
        #expect(item.propertiesByName["siblings"] is NSFetchedPropertyDescription)
        let copy = try #require(item.copy() as? NSEntityDescription)
        #expect((copy.attributesByName["place"] as? NSCompositeAttributeDescription)?.elements.map(\.name) == ["latitude"])
        #expect((copy.attributesByName["folded"] as? NSDerivedAttributeDescription)?.derivationExpression != nil)
        #expect((copy.propertiesByName["siblings"] as? NSFetchedPropertyDescription)?.fetchRequest?.entityName == "Item")
    }
}
