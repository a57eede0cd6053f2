// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation

// Fixtures of the guides' code.

/// A note with a text. The same model serves all containers of a process.
let notesModel: NSManagedObjectModel = {
    let text = NSAttributeDescription()
    text.name = "text"
    text.attributeType = .stringAttributeType
    text.isOptional = true
    let note = NSEntityDescription()
    note.name = "Note"
    note.properties = [text]
    let model = NSManagedObjectModel()
    model.entities = [note]
    return model
}()

/// A container with a file of its own, on one of the devices.
func makeContainer(on device: TestDevice, scopes: [CKDatabase.Scope] = [.private]) throws -> NSPersistentCloudKitContainer {
    let container = NSPersistentCloudKitContainer(name: "Notes", managedObjectModel: notesModel)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    container.persistentStoreDescriptions = scopes.map { scope in
        let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(scope.rawValue).sqlite"))
        let options = NSPersistentCloudKitContainerOptions(container: device.container)
        options.databaseScope = scope
        description.cloudKitContainerOptions = options
        return description
    }
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = failure ?? error }
    if let failure { throw failure }
    return container
}

extension NSPersistentCloudKitContainer {
    func write(_ text: String) async throws {
        try await performBackgroundTask { context in
            let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
            let note = try context.fetch(request).first ?? NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
            note.setValue(text, forKey: "text")
            try context.save()
        }
    }

    func texts() async throws -> [String] {
        try await performBackgroundTask { context in
            try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")).compactMap { $0.value(forKey: "text") as? String }
        }
    }

    func notes() async throws -> [NSManagedObjectID] {
        try await performBackgroundTask { context in
            try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")).map(\.objectID)
        }
    }
}
