// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Testing

/// Opens a store that was local until now, and syncs it. The objects in the file are sent, too.
func openMovedNotes(at url: URL, options: NSPersistentCloudKitContainerOptions) throws -> NSPersistentCloudKitContainer {
    let container = NSPersistentCloudKitContainer(name: "Notes", managedObjectModel: notesModel)
    let description = NSPersistentStoreDescription(url: url)
    description.cloudKitContainerOptions = options
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = failure ?? error }
    if let failure { throw failure }
    return container
}

@Suite struct MovedNotesTests {
    @Test func objectsOfALocalStoreReachTheOtherDevices() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("Notes.sqlite")
        try writeLocalNotes(["Milk", "Bread"], to: url)

        let cloud = try TestCloud()
        let moved = try openMovedNotes(
            at: url, options: NSPersistentCloudKitContainerOptions(container: try await cloud.device("desktop", account: "mia").container))
        try await moved.sync(timeout: .seconds(600))

        let tablet = try makeContainer(on: try await cloud.device("tablet", account: "mia"))
        try await tablet.sync(timeout: .seconds(600))
        #expect(try await tablet.texts().sorted() == ["Bread", "Milk"])
        #expect(moved.syncStatus.pendingCount == 0)
    }

    /// The store of an app without sync.
    private func writeLocalNotes(_ texts: [String], to url: URL) throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: notesModel)
        let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
            for text in texts {
                NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue(text, forKey: "text")
            }
            try context.save()
        }
        try coordinator.remove(store)
    }
}
