// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Opens a store read-only with the model that is derived from it.
func openWithoutModel(_ url: URL) throws -> NSManagedObjectContext {
    let model = try NSManagedObjectModel(derivedFromStoreAt: url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: url, options: [NSReadOnlyPersistentStoreOption: true])
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
}

@Suite struct StoresWithoutModelsTests {
    @Test func aStoreIsReadWithoutItsModel() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("Notes.sqlite")
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: notesModel)
        let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
        let writing = NSManagedObjectContext(.privateQueue)
        writing.persistentStoreCoordinator = coordinator
        try writing.performAndWait {
            NSEntityDescription.insertNewObject(forEntityName: "Note", into: writing).setValue("Milk", forKey: "text")
            try writing.save()
        }
        try coordinator.remove(store)

        let context = try openWithoutModel(url)
        try context.performAndWait {
            let notes = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
            #expect(notes.map { $0.value(forKey: "text") as? String } == ["Milk"])
        }
    }
}
