// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

/// Entity mappings that select their source objects by an expression.
@Suite struct SourceExpressionTests {
    private static func model() -> NSManagedObjectModel {
        let title = NSAttributeDescription()
        title.name = "title"
        title.attributeType = .stringAttributeType
        title.isOptional = true
        let note = NSEntityDescription()
        note.name = "Note"
        note.properties = [title]
        let model = NSManagedObjectModel()
        model.entities = [note]
        return model
    }

    /// Creates a store with one note.
    private static func fill(_ url: URL) throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
            NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("a", forKey: "title")
            try context.save()
        }
        try coordinator.remove(store)
    }

    /// Migrates a store with one note. The source objects are the value of an expression.
    private static func migrate(_ sources: Any?, _ body: (CocoaError?, _ destination: URL) -> Void) throws {
        let source = Library.temporaryFile()
        let folder = source.deletingLastPathComponent()
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try fill(source)
        let destination = folder.appending(path: "new.sqlite")
        let note = NSEntityMapping()
        note.name = "notes"
        note.mappingType = .customEntityMappingType
        note.sourceEntityName = "Note"
        note.destinationEntityName = "Note"
        note.sourceExpression = PredicateKit.NSExpression(forConstantValue: sources)
        let mapping = NSMappingModel()
        mapping.entityMappings = [note]
        let manager = NSMigrationManager(sourceModel: model(), destinationModel: model())
        let error = #expect(throws: CocoaError.self) {
            try manager.migrateStore(
                from: source, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: destination,
                destinationType: NSSQLiteStoreType)
        }
        body(error, destination)
    }

    @Test func anExpressionWithoutObjectsFailsAndLeavesNoDestination() throws {
        let values: [Any?] = [nil, ["a note"]]
        for value in values {
            try Self.migrate(value) { error, destination in
                #expect(error?.code.rawValue == 134_110)
                #expect(!FileManager.default.fileExists(atPath: destination.path))
            }
        }
    }
}
