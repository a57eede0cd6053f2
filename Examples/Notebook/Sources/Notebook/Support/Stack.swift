// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// The stack of an app that does not sync, in the usual form.
final class Stack {
    let container: NSPersistentContainer

    var viewContext: NSManagedObjectContext { container.viewContext }

    init(at folder: URL) {
        container = NSPersistentContainer(name: "Notebook")
        let local = NSPersistentStoreDescription(url: folder.appendingPathComponent("local.sqlite"))
        local.configuration = "Local"
        let notes = NSPersistentStoreDescription(url: folder.appendingPathComponent("notes.sqlite"))
        notes.configuration = "Cloud"
        container.persistentStoreDescriptions = [local, notes]
        container.loadPersistentStores { description, error in
            if let error = error as NSError? {
                fatalError("Unresolved error \(error), \(error.userInfo)")
            }
        }
        container.viewContext.automaticallyMergesChangesFromParent = true
        container.viewContext.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
    }

    func saveIfNeeded() throws {
        guard viewContext.hasChanges else { return }
        try viewContext.save()
    }
}

/// Containers as the talks on Core Data with CloudKit set them up.
enum SyncedStacks {
    /// WWDC19, session 202: one store that stays here, one that is mirrored.
    static func withLocalStore() -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Notebook")
        let local = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/files/local.sqlite"))
        local.configuration = "Local"
        let cloud = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/files/cloud.sqlite"))
        cloud.configuration = "Cloud"
        cloud.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(containerIdentifier: "iCloud.com.example.notebook")
        container.persistentStoreDescriptions = [local, cloud]
        return container
    }

    /// WWDC20, session 10650: a second store, of the public database.
    static func withPublicStore() -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Notebook")
        guard let description = container.persistentStoreDescriptions.first, let url = description.url else { return container }
        let publicDescription = NSPersistentStoreDescription(url: url.deletingLastPathComponent().appendingPathComponent("public.sqlite"))
        let options = NSPersistentCloudKitContainerOptions(containerIdentifier: "iCloud.com.example.notebook")
        options.databaseScope = .public
        publicDescription.cloudKitContainerOptions = options
        publicDescription.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
        publicDescription.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
        container.persistentStoreDescriptions.append(publicDescription)
        return container
    }

    /// Whether an edit button is shown.
    static func canEdit(_ object: NSManagedObject, of container: NSPersistentCloudKitContainer) -> Bool {
        guard let store = object.objectID.persistentStore else { return true }
        return container.canUpdateRecord(forManagedObjectWith: object.objectID) && container.canModifyManagedObjects(in: store)
    }
}
