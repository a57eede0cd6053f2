// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

/// Stores that Apple's framework wrote with three versions of an app's model, migrated to later ones. They are not part
/// of the project; where they are absent the tests are skipped.
@Suite(.enabled(if: AppleVersions.areThere, "the folder ../shared/fixtures/apple-stores is missing"))
@MainActor struct AppleMigrationTests {
    private static func model(_ version: Int) throws -> NSManagedObjectModel {
        let name = version == 1 ? "Model.xcdatamodel" : "Model \(version).xcdatamodel"
        return try #require(NSManagedObjectModel(contentsOf: AppleVersions.folder.appending(path: "Model.xcdatamodeld/\(name)")))
    }

    /// A copy of a store, with the colours of its posts by their identifiers.
    private static func store(_ version: Int, _ body: (URL, [String: String]) throws -> Void) throws {
        let copy = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: copy) }
        let url = copy.appending(path: "store.sqlite")
        try FileManager.default.copyItem(at: AppleVersions.folder.appending(path: "store-v\(version).sqlite"), to: url)
        let container = try container(url, version)
        let posts = try Self.posts(container.viewContext, color: version == 1 ? "color" : "hexColor")
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
        try body(url, posts)
    }

    private static func container(_ url: URL, _ version: Int) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Model", managedObjectModel: try model(version))
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
        return container
    }

    private static func posts(_ context: NSManagedObjectContext, color: String) throws -> [String: String] {
        let posts = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post"))
        let pairs = posts.map { ($0.value(forKey: "postID") as? String ?? "", $0.value(forKey: color) as? String ?? "") }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    @Test(arguments: [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]) func aStoreBecomesOneOfALaterVersion(_ from: Int, _ to: Int) throws {
        try Self.store(from) { url, before in
            #expect(!before.isEmpty)
            #expect(!before.values.contains(""))
            let container = try Self.container(url, to)
            let context = container.viewContext
            // The third version has dropped the first version's name of the colour.
            let expected = from == 1 && to > 2 ? before.mapValues { _ in "" } : before
            #expect(try Self.posts(context, color: "hexColor") == expected)
            let post = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post")).first)
            if to == 4 { #expect(post.value(forKey: "softDeleted") as? Bool == false) }
            if to > 2 {
                let section = NSEntityDescription.insertNewObject(forEntityName: "Section", into: context)
                section.setValue(post, forKey: "post")
                section.setValue("new", forKey: "title")
            }
            post.setValue("000000", forKey: "hexColor")
            try context.save()
            let again = try Self.container(url, to).viewContext
            let request = NSFetchRequest<NSManagedObject>(entityName: "Post")
            request.predicate = NSPredicate(format: to > 2 ? "ANY sections.title == 'new'" : "hexColor == '000000'")
            #expect(try again.fetch(request).map { $0.value(forKey: "hexColor") as? String } == ["000000"])
        }
    }

    /// Compatibility by metadata, as an app that migrates step by step checks it, matches what opening accepts.
    @Test(arguments: 1...3, 1...4) func metadataDecidesWhichVersionOpensTheStore(_ stored: Int, _ version: Int) throws {
        let copy = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: copy) }
        let url = copy.appending(path: "store.sqlite")
        try FileManager.default.copyItem(at: AppleVersions.folder.appending(path: "store-v\(stored).sqlite"), to: url)
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
        let model = try Self.model(version)
        let isCompatible = model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
        var code = 0
        do {
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            try coordinator.remove(try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url))
        } catch { code = (error as NSError).code }
        #expect(isCompatible == (code == 0))
        #expect(code == 0 || code == 134_100)
        #expect(isCompatible == (stored == version))
    }

    /// Only the store's archive of its model shows which attributes are optional.
    @Test(arguments: 1...3) func versionsThatDifferInOptionalityAreDistinct(_ version: Int) throws {
        let copy = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: copy) }
        let url = copy.appending(path: "store.sqlite")
        try FileManager.default.copyItem(at: AppleVersions.folder.appending(path: "store-v\(version).sqlite"), to: url)
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
        func changed(_ change: (NSEntityDescription) throws -> Void) throws -> NSManagedObjectModel {
            let model = try #require(try Self.model(version).copy() as? NSManagedObjectModel)
            try change(try #require(model.entitiesByName["Post"]))
            return model
        }
        let models = [
            try changed {
                try #require($0.attributesByName["postID"]).isOptional = false
                try #require($0.attributesByName["postID"]).defaultValue = ""
            },
            try changed { try #require($0.attributesByName["postID"]).versionHashModifier = "2" },
            try changed { $0.versionHashModifier = "2" },
        ]
        for model in models {
            #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
            let merged = NSManagedObjectModel(byMerging: [model, try Self.model(version)], forStoreMetadata: metadata)
            #expect(merged?.entityVersionHashesByName == (try Self.model(version)).entityVersionHashesByName)
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            let error = #expect(throws: CocoaError.self) {
                try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
            }
            #expect(error?.code == .persistentStoreIncompatibleVersionHash)
        }
        // A difference that tables show is the one that is named.
        let both = try changed {
            try #require($0.attributesByName["postID"]).isOptional.toggle()
            $0.properties.removeAll { $0.name == "date" }
        }
        let error = #expect(throws: CocoaError.self) {
            try NSPersistentStoreCoordinator(managedObjectModel: both).addPersistentStore(
                ofType: NSSQLiteStoreType, configurationName: nil, at: url)
        }
        #expect(error.map { "\($0)".contains("ZDATE") } == true)
        // Ignoring versions, or migrating by inference, opens the store. The program need not have the old version.
        let ignoring = NSPersistentStoreCoordinator(managedObjectModel: models[0])
        let ignored = try ignoring.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: url,
            options: [NSIgnorePersistentStoreVersioningOption: true, NSReadOnlyPersistentStoreOption: true])
        try ignoring.remove(ignored)
        let container = NSPersistentContainer(name: "Model", managedObjectModel: models[0])
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
        container.loadPersistentStores { #expect($1 == nil) }
        #expect(try container.viewContext.count(for: NSFetchRequest<NSManagedObject>(entityName: "Post")) > 0)
    }

    /// The migration of an app with paragraphs of a post as objects in its third version.
    @Test func aMappingModelInCodeSplitsSections() throws {
        try Self.store(2) { url, before in
            let (source, destination) = (try Self.model(2), try Self.model(3))
            let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
            let post = try #require(mapping.entityMappings.first { $0.destinationEntityName == "Post" })
            post.mappingType = .customEntityMappingType
            post.entityMigrationPolicyClassName = NSStringFromClass(ParagraphPolicy.self)
            let target = url.deletingLastPathComponent().appending(path: "new.sqlite")
            try NSMigrationManager(sourceModel: source, destinationModel: destination).migrateStore(
                from: url, type: .sqlite, options: nil, mapping: mapping, to: target, type: .sqlite, options: nil)
            let context = try Self.container(target, 3).viewContext
            #expect(try Self.posts(context, color: "hexColor") == before)
            let sections = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Section"))
            #expect(sections.count > 10)
            #expect(sections.allSatisfy { $0.value(forKey: "post") != nil && $0.value(forKey: "body") != nil })
        }
    }
}

private enum AppleVersions {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/fixtures/apple-stores/migration-v1-v3")
    static var areThere: Bool { FileManager.default.fileExists(atPath: folder.path) }
}

final class ParagraphPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        let post = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source]).first
        let paragraphs = (source.value(forKey: "content") as? String ?? "").components(separatedBy: "\n\n")
        for (index, body) in paragraphs.enumerated() where !body.isEmpty {
            let section = NSEntityDescription.insertNewObject(forEntityName: "Section", into: manager.destinationContext)
            section.setValue(body, forKey: "body")
            section.setValue(index, forKey: "index")
            section.setValue(post, forKey: "post")
        }
    }
}
