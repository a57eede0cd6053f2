// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation

/// A container on a file of its own, connected to an engine in this process.
final class ScaleDevice: @unchecked Sendable {
    // Unchecked: `view` is used by the command's thread alone.
    let device: TestDevice
    let container: NSPersistentCloudKitContainer
    private let shape: ScaleShape
    /// Objects that a context of the app has registered.
    private var view: [NSManagedObject] = []

    /// - Throws: The error with which a store could not be opened.
    init(_ device: TestDevice, _ shape: ScaleShape, in folder: URL) throws {
        self.device = device
        self.shape = shape
        container = NSPersistentCloudKitContainer(name: device.name, managedObjectModel: shape.model)
        let scopes: [CKDatabase.Scope] = shape == .shared ? [.private, .shared] : [.private]
        container.persistentStoreDescriptions = scopes.map { scope in
            let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(device.name)-\(scope.rawValue).sqlite"))
            let options = NSPersistentCloudKitContainerOptions(container: device.container)
            options.databaseScope = scope
            options.modelExtensions = shape.extensions
            description.cloudKitContainerOptions = options
            return description
        }
        var failure: (any Error)?
        container.loadPersistentStores { failure = failure ?? $1 }
        if let failure { throw failure }
    }

    private func inContext<Value: Sendable>(_ body: @escaping @Sendable (NSManagedObjectContext) throws -> Value) throws -> Value {
        let context = container.newBackgroundContext()
        return try context.performAndWait { try body(context) }
    }

    func insert(_ numbers: Range<Int>) throws {
        try inContext { [shape] context in
            try shape.insert(numbers, into: context)
            try context.save()
        }
    }

    /// Sets the title of all objects with these numbers.
    func update(_ title: String) throws {
        try inContext { [shape] context in
            for object in try Self.all(shape.entity, in: context) { object.setValue(title, forKey: "title") }
            try context.save()
        }
    }

    /// Deletes so many objects: every second one until there are enough.
    func delete(_ count: Int) throws {
        try inContext { [shape] context in
            let objects = try Self.all(shape.entity, in: context)
            for index in stride(from: 0, to: min(objects.count, 2 * count), by: 2) { context.delete(objects[index]) }
            try context.save()
        }
    }

    func count() throws -> Int {
        try inContext { [shape] in try $0.count(for: NSFetchRequest<NSManagedObject>(entityName: shape.entity)) }
    }

    func titles() throws -> Set<String> {
        try inContext { [shape] in Set(try Self.all(shape.entity, in: $0).compactMap { $0.value(forKey: "title") as? String }) }
    }

    private static func all(_ entity: String, in context: NSManagedObjectContext) throws -> [NSManagedObject] {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        return try context.fetch(request)
    }

    /// Registers all objects in the view context, which merges imports.
    func registerAll() throws {
        let context = container.viewContext
        context.automaticallyMergesChangesFromParent = true
        view = try Self.all(shape.entity, in: context)
        for object in view { for name in object.entity.relationshipsByName.keys { _ = (object.value(forKey: name) as? NSSet)?.count } }
    }

    func sync() throws {
        let container = container
        try blocking { try await container.sync(timeout: .seconds(3600)) }
    }

    // MARK: Shares

    /// Shares a new parent with a participant, and returns once both have it.
    func shareParent(with other: ScaleDevice) throws {
        try inContext { context in
            NSEntityDescription.insertNewObject(forEntityName: "Parent", into: context).setValue("Parent", forKey: "title")
            try context.save()
        }
        try sync()
        let mine = self
        try blocking {
            let context = mine.container.newBackgroundContext()
            let parents = try await context.perform {
                try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Parent")).map(\.objectID)
            }
            let (_, share, _) = try await mine.container.share(parents.map { context.object(with: $0) }, to: nil)
            share.publicPermission = .readWrite
            try await mine.container.persistUpdatedShare(share, in: mine.container.persistentStoreCoordinator.persistentStores[0])
            try await mine.container.sync(timeout: .seconds(600))
            guard let address = share.url else { throw CheckFailure(description: "a share without an address") }
            let invitation = try await other.device.container.shareMetadata(for: address)
            _ = try await other.container.acceptShareInvitations(
                from: [invitation], into: other.container.persistentStoreCoordinator.persistentStores[1])
        }
        try other.sync()
    }

    func close() throws {
        view = []
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
    }
}
