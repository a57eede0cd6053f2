// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite struct MigrationRefusalTests {
    private func failure(_ url: URL, _ model: NSManagedObjectModel, options: [AnyHashable: Any]?) throws -> NSError? {
        do {
            try Versions.open(url, model, options: options) { _ in }
            return nil
        } catch {
            return error as NSError
        }
    }

    @Test func aStoreOfAnotherVersionIsRejectedWithItsMetadata() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            for options in [nil, [NSInferMappingModelAutomaticallyOption: true]] as [[AnyHashable: Any]?] {
                let error = try failure(url, version, options: options)
                #expect(error?.code == 134_100)
                #expect(error?.domain == NSCocoaErrorDomain)
                let metadata = error?.userInfo["metadata"] as? [String: Any]
                #expect(metadata?[NSStoreModelVersionHashesKey] != nil)
            }
            // It is still a store of the first version.
            try Versions.open(url, Versions.first(), options: nil) { context throws in
                #expect(try Versions.fetch("Note", context).count == 3)
            }
        }
    }

    @Test func aMigrationWithoutInferenceNeedsAMappingModel() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            #expect(try failure(url, version, options: [NSMigratePersistentStoresAutomaticallyOption: true])?.code == 134_140)
        }
    }

    @Test func changesThatCannotBeInferredAreReportedAndChangeNothing() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in
                Versions.attribute(entities["Note"], "title")?.attributeType = .dateAttributeType
                Versions.remove("kind", from: entities["Note"])
            }
            let error = try failure(url, version, options: Versions.automatically)
            #expect([134_110, 134_140, 134_190].contains(error?.code ?? 0))
            try Versions.open(url, Versions.first(), options: nil) { context throws in
                #expect(try Versions.values("Note", "title", by: "count", context, as: String.self) == ["a", "b", nil])
                #expect(try Versions.values("Note", "kind", by: "count", context, as: String.self) == ["k", nil, nil])
            }
        }
    }

    @Test func anAddedRequiredAttributeNeedsADefault() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in
                entities["Note"]?.properties.append(Library.attribute("must", .stringAttributeType, isOptional: false))
            }
            let error = try failure(url, version, options: Versions.automatically)
            #expect([134_110, 134_140, 134_190].contains(error?.code ?? 0))
            try Versions.open(url, Versions.first(), options: nil) { context throws in
                #expect(try Versions.fetch("Note", context).count == 3)
            }
        }
    }

    @Test func inferenceOfAMappingModelFollowsTheSameRules() throws {
        let wrong = Versions.changed { entities, _ in Versions.attribute(entities["Note"], "title")?.attributeType = .dateAttributeType }
        #expect(throws: (any Error).self) {
            try NSMappingModel.inferredMappingModel(forSourceModel: Versions.first(), destinationModel: wrong)
        }
        let right = Versions.changed { entities, _ in
            Versions.attribute(entities["Note"], "title")?.renamingIdentifier = "title"
            Versions.attribute(entities["Note"], "title")?.name = "headline"
        }
        let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: Versions.first(), destinationModel: right)
        #expect(mapping.entityMappings.count == 2)
        let note = try #require(mapping.entityMappings.first { $0.destinationEntityName == "Note" })
        #expect(note.mappingType == .transformEntityMappingType)
        #expect(note.sourceEntityName == "Note")
        #expect(note.attributeMappings?.compactMap(\.name).sorted() == ["count", "headline", "kind"])
        #expect(note.relationshipMappings?.compactMap(\.name) == ["folder"])
        #expect(mapping.entityMappingsByName[note.name] === note)
    }

    @Test func containersMigrateAutomatically() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            for (migrates, infers, code) in [(false, true, 134_100), (true, false, 134_140), (true, true, 0)] {
                let container = NSPersistentContainer(name: "Notes", managedObjectModel: version)
                let description = NSPersistentStoreDescription(url: url)
                #expect(description.shouldMigrateStoreAutomatically)
                #expect(description.shouldInferMappingModelAutomatically)
                description.shouldMigrateStoreAutomatically = migrates
                description.shouldInferMappingModelAutomatically = infers
                container.persistentStoreDescriptions = [description]
                var failure: (any Error)?
                container.loadPersistentStores { failure = $1 }
                #expect((failure as NSError?)?.code ?? 0 == code)
                for store in container.persistentStoreCoordinator.persistentStores {
                    try container.persistentStoreCoordinator.remove(store)
                }
            }
        }
    }
}
