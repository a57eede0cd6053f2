// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Options that decide how a store's file is opened, cleaned up and destroyed.
///
/// Source: developer.apple.com/documentation/coredata/store-options
@Suite struct StoreOptionTests {
    private func model(modifier: String? = nil) -> NSManagedObjectModel {
        let page = NSEntityDescription()
        page.name = "Page"
        page.versionHashModifier = modifier
        page.properties = [Library.attribute("text", .stringAttributeType)]
        let model = NSManagedObjectModel()
        model.entities = [page]
        return model
    }

    private func withFile(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("options-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appendingPathComponent("pages.sqlite"))
    }

    /// Opens the file, runs the body in a context over it, and removes the store again.
    private func open(
        _ url: URL, _ model: NSManagedObjectModel, _ options: [String: Any] = [:],
        _ body: (NSManagedObjectContext, NSPersistentStore) throws -> Void = { _, _ in }
    ) throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait { try body(context, store) }
        try coordinator.remove(store)
    }

    private func insert(_ texts: [String], _ context: NSManagedObjectContext) throws {
        for text in texts {
            NSEntityDescription.insertNewObject(forEntityName: "Page", into: context).setValue(text, forKey: "text")
        }
        try context.save()
    }

    private func expectCount(_ expected: Int, _ context: NSManagedObjectContext) throws {
        let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Page"))
        #expect(count == expected)
    }

    @Test func aReadOnlyStoreIsReadAndNotWritten() throws {
        try withFile { url in
            try open(url, model()) { context, _ in try insert(["a"], context) }
            try open(url, model(), [NSReadOnlyPersistentStoreOption: true]) { context, store in
                #expect(store.isReadOnly)
                try expectCount(1, context)
                #expect(throws: (any Error).self) { try insert(["b"], context) }
            }
            try open(url, model()) { context, _ in try expectCount(1, context) }
        }
    }

    @Test func versionsAreComparedUnlessTheyAreIgnored() throws {
        try withFile { url in
            try open(url, model()) { context, _ in try insert(["a"], context) }
            #expect { try open(url, model(modifier: "2")) } throws: {
                ($0 as? CocoaError)?.code == .persistentStoreIncompatibleVersionHash
            }
            try open(url, model(modifier: "2"), [NSIgnorePersistentStoreVersioningOption: true]) { context, _ in
                try expectCount(1, context)
            }
        }
    }

    @Test func aDamagedFileIsDestroyedByForce() throws {
        try withFile { url in
            try Data(repeating: 7, count: 5000).write(to: url)
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model())
            #expect(throws: (any Error).self) { try open(url, model()) }
            try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: [NSPersistentStoreForceDestroyOption: true])
            try open(url, model()) { context, _ in
                try expectCount(0, context)
                try insert(["a"], context)
            }
        }
    }
}
