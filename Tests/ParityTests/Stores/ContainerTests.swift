// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct ContainerTests {
    private func container(_ descriptions: [NSPersistentStoreDescription]) -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Depot", managedObjectModel: Depot.makeModel())
        container.persistentStoreDescriptions = descriptions
        return container
    }

    @Test func aNewContainerHasOneStoreDescription() {
        let container = NSPersistentContainer(name: "Depot", managedObjectModel: Depot.makeModel())
        #expect(container.name == "Depot")
        #expect(container.persistentStoreDescriptions.count == 1)
        let description = container.persistentStoreDescriptions[0]
        #expect(description.type == NSSQLiteStoreType)
        #expect(description.url?.lastPathComponent == "Depot.sqlite")
        #expect(description.url?.deletingLastPathComponent().path == NSPersistentContainer.defaultDirectoryURL().path)
        #expect(description.shouldMigrateStoreAutomatically)
        #expect(description.shouldInferMappingModelAutomatically)
        #expect(!description.shouldAddStoreAsynchronously)
        #expect(!description.isReadOnly)
        #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
        #expect(container.viewContext.persistentStoreCoordinator === container.persistentStoreCoordinator)
        #expect(container.viewContext.concurrencyType == .mainQueueConcurrencyType)
        #expect(container.newBackgroundContext().concurrencyType == .privateQueueConcurrencyType)
        #expect(container.persistentStoreCoordinator.managedObjectModel === container.managedObjectModel)
    }

    @Test func storesAreLoadedOnce() throws {
        let folder = try Depot.folder()
        let things = NSPersistentStoreDescription(url: folder.appendingPathComponent("new/things.sqlite"))
        things.configuration = "Things"
        let notes = NSPersistentStoreDescription(url: folder.appendingPathComponent("notes.sqlite"))
        notes.configuration = "Notes"
        let container = container([things])
        let calls = Counter()
        container.loadPersistentStores { _, error in if error == nil { calls.add() } }
        #expect(calls.value == 1)
        container.persistentStoreDescriptions.append(notes)
        container.loadPersistentStores { description, _ in if description === notes { calls.add() } }
        #expect(calls.value == 2)
        #expect(container.persistentStoreCoordinator.persistentStores.map(\.configurationName) == ["Things", "Notes"])
    }

    @Test func aStoreIsLoadedAsynchronously() async throws {
        let description = NSPersistentStoreDescription(url: try Depot.folder().appendingPathComponent("depot.sqlite"))
        description.shouldAddStoreAsynchronously = true
        let container = container([description])
        let error: (any Error)? = await withCheckedContinuation { continuation in
            container.loadPersistentStores { continuation.resume(returning: $1) }
        }
        #expect(error == nil)
        #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    }

    @Test func aStoreThatCannotBeLoadedReportsItsError() throws {
        let file = try Depot.folder().appendingPathComponent("depot.sqlite")
        try Data(String(repeating: "no database ", count: 500).utf8).write(to: file)
        let broken = NSPersistentStoreDescription(url: file)
        let good = NSPersistentStoreDescription(url: try Depot.folder().appendingPathComponent("depot.sqlite"))
        let container = container([broken, good])
        let (calls, failures) = (Counter(), Counter())
        container.loadPersistentStores { description, error in
            calls.add()
            if error != nil, description === broken { failures.add() }
        }
        #expect(calls.value == 2)
        #expect(failures.value == 1)
        #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func backgroundTasksRunInTheirOwnContexts() async throws {
        let description = NSPersistentStoreDescription()
        description.type = NSInMemoryStoreType
        let container = container([description])
        container.loadPersistentStores { _, _ in }
        let count = try await container.performBackgroundTask { context in
            Depot.insert("Item", ["name": "nut"], into: context)
            try context.save()
            return try context.count(for: Depot.request("Item"))
        }
        #expect(count == 1)
        await #expect(throws: CocoaError.self) { try await container.performBackgroundTask { _ in throw CocoaError(.fileNoSuchFile) } }
        let names = await withCheckedContinuation { continuation in
            container.performBackgroundTask { context in
                continuation.resume(returning: Depot.names((try? context.fetch(Depot.request("Item"))) ?? []))
            }
        }
        #expect(names == ["nut"])
    }

    @Test func storeDescriptionsKeepTheirValues() throws {
        let url = URL(fileURLWithPath: "/tmp/depot.sqlite")
        let description = NSPersistentStoreDescription(url: url)
        #expect(description.url == url)
        #expect(description.configuration == nil)
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        #expect(description.options[NSPersistentHistoryTrackingKey] as? NSNumber == NSNumber(value: true))
        description.setOption(nil, forKey: NSPersistentHistoryTrackingKey)
        #expect(description.options[NSPersistentHistoryTrackingKey] == nil)
        description.setValue("NORMAL" as NSString, forPragmaNamed: "synchronous")
        #expect(description.sqlitePragmas["synchronous"] as? NSString == "NORMAL")
        description.timeout = 7
        description.isReadOnly = true
        description.configuration = "Things"
        let copy = try #require(description.copy() as? NSPersistentStoreDescription)
        #expect(copy !== description)
        #expect(copy.url == url)
        #expect(copy.timeout == 7)
        #expect(copy.isReadOnly)
        #expect(copy.configuration == "Things")
        #expect(copy.sqlitePragmas["synchronous"] as? NSString == "NORMAL")
    }

    /// Source: developer.apple.com/documentation/coredata/nspersistentstoredescription/options
    @Test func optionsAndPropertiesOfADescriptionAreTheSame() {
        let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/tmp/depot.sqlite"))
        let automatic = [NSMigratePersistentStoresAutomaticallyOption, NSInferMappingModelAutomaticallyOption]
        #expect(description.options.keys.sorted() == automatic.sorted())
        for key in automatic { description.setOption(NSNumber(value: false), forKey: key) }
        #expect(!description.shouldMigrateStoreAutomatically)
        #expect(!description.shouldInferMappingModelAutomatically)
        description.setOption(NSNumber(value: true), forKey: NSReadOnlyPersistentStoreOption)
        #expect(description.isReadOnly)
        #expect(description.timeout == 240)
        description.setOption(NSNumber(value: 3), forKey: NSPersistentStoreTimeoutOption)
        #expect(description.timeout == 3)
        description.shouldMigrateStoreAutomatically = true
        #expect(description.options[NSMigratePersistentStoresAutomaticallyOption] as? NSNumber == NSNumber(value: true))
        description.isReadOnly = false
        #expect((description.options[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue == false)
    }

    @Test func aStoreIsReadOnlyByItsOption() throws {
        let url = try Depot.folder().appendingPathComponent("depot.sqlite")
        let description = NSPersistentStoreDescription(url: url)
        description.setOption(NSNumber(value: true), forKey: NSReadOnlyPersistentStoreOption)
        let failures = Counter()
        container([description]).loadPersistentStores { _, error in if error != nil { failures.add() } }
        #expect(failures.value == 1)
        #expect(!FileManager.default.fileExists(atPath: url.path))
    }

    @Test func optionsOfADescriptionReachTheStore() throws {
        let place = try Depot.folder().appendingPathComponent("depot.sqlite")
        let description = NSPersistentStoreDescription(url: place)
        description.setValue("2000" as NSString, forPragmaNamed: "cache_size")
        description.setOption(NSNumber(value: true), forKey: NSSQLiteAnalyzeOption)
        description.setOption(NSNumber(value: true), forKey: NSSQLiteManualVacuumOption)
        let container = container([description])
        let failures = Counter()
        container.loadPersistentStores { _, error in if error != nil { failures.add() } }
        #expect(failures.value == 0)
        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        #expect(store.options?[NSSQLiteAnalyzeOption] as? NSNumber == NSNumber(value: true))
        #expect((store.options?[NSSQLitePragmasOption] as? [String: NSObject])?["cache_size"] as? NSString == "2000")
        let context = container.newBackgroundContext()
        try context.performAndWait {
            Depot.insert("Item", ["name": "nut"], into: context)
            try context.save()
            #expect(try context.count(for: Depot.request("Item")) == 1)
        }
    }
}

final class Counter: @unchecked Sendable {
    // Unchecked: behind a lock.
    private let lock = NSLock()
    private var count = 0

    func add() { lock.withLock { count += 1 } }
    var value: Int { lock.withLock { count } }
}
