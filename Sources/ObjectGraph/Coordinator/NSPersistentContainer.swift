// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A model, its stores, and contexts over them: the whole stack of an app.
///
///     let container = NSPersistentContainer(name: "Posts")
///     container.loadPersistentStores { _, error in … }
///     let context = container.viewContext
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcontainer
open class NSPersistentContainer: NSObject, @unchecked Sendable {
    // Unchecked: the app sets descriptions before loading, and nothing changes them afterwards.
    /// The container's name, and the base name of its default store file.
    open private(set) var name: String
    /// The model of the container's stores.
    open private(set) var managedObjectModel: NSManagedObjectModel
    /// The coordinator of the container's stores.
    open private(set) var persistentStoreCoordinator: NSPersistentStoreCoordinator
    /// The context on the main queue. The app must serve the main queue: by `dispatchMain()`, a run loop, or an async
    /// `main`.
    open private(set) var viewContext: NSManagedObjectContext
    /// The stores that ``loadPersistentStores(completionHandler:)`` opens.
    open var persistentStoreDescriptions: [NSPersistentStoreDescription]
    private var modelProblem: (any Error)?

    /// Creates a container for the model of that name, compiled into the program or in a file next to it.
    ///
    /// ``loadPersistentStores(completionHandler:)`` reports a missing model.
    public convenience init(name: String) {
        do {
            self.init(name: name, managedObjectModel: NSManagedObjectModel(try ModelLookup.model(named: name)))
        } catch {
            self.init(name: name, managedObjectModel: NSManagedObjectModel())
            modelProblem = error
        }
    }

    /// Creates a container for a model, with one description of a SQLite store in ``defaultDirectoryURL()``.
    public init(name: String, managedObjectModel model: NSManagedObjectModel) {
        self.name = name
        managedObjectModel = model
        // Locals: a subclass may override the properties.
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let context = NSManagedObjectContext(.mainQueue)
        persistentStoreCoordinator = coordinator
        viewContext = context
        let url = Self.defaultDirectoryURL().appendingPathComponent(name).appendingPathExtension("sqlite")
        persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
        super.init()
        context.persistentStoreCoordinator = coordinator
    }

    @_silgen_name("tarn_container_init")
    convenience init(dynamicName: String, model: NSManagedObjectModel) { self.init(name: dynamicName, managedObjectModel: model) }

    @_silgen_name("tarn_container_init")
    static func dynamicInit(_ name: __owned String, _ model: __owned NSManagedObjectModel) -> NSPersistentContainer

    static func dynamicInit(finding name: String) -> NSPersistentContainer {
        do {
            return dynamicInit(name, NSManagedObjectModel(try ModelLookup.model(named: name)))
        } catch {
            let container = dynamicInit(name, NSManagedObjectModel())
            container.modelProblem = error
            return container
        }
    }

    /// The default directory of stores: `$XDG_DATA_HOME` or `~/.local/share`, and the program's name.
    ///
    /// Differs: Apple's is the app's Application Support folder.
    open class func defaultDirectoryURL() -> URL {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0, isDirectory: true) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share", isDirectory: true)
        return base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
    }

    /// Opens each described store that isn't open yet.
    ///
    /// - Parameter block: Called once per store, with an error (`CocoaError`) if that store could not be opened.
    open func loadPersistentStores(completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) {
        let report = Unchecked(block)
        for description in persistentStoreDescriptions {
            if isLoaded(description) { continue }
            if let modelProblem {
                block(description, modelProblem)
                continue
            }
            do {
                if let url = description.url, url.path != "/dev/null" { try makeFolder(for: url) }
            } catch {
                block(description, error)
                continue
            }
            persistentStoreCoordinator.addPersistentStore(with: description) { description, error in
                report.value(description, error)
            }
        }
    }

    /// In-memory stores are compared by description: they have no file.
    private func isLoaded(_ description: NSPersistentStoreDescription) -> Bool {
        if let url = description.url, url.path != "/dev/null" { return persistentStoreCoordinator.persistentStore(for: url) != nil }
        return persistentStoreCoordinator.persistentStores.contains { $0.source === description }
    }

    /// Creates a private-queue context for the container's stores.
    open func newBackgroundContext() -> NSManagedObjectContext {
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = persistentStoreCoordinator
        return context
    }

    /// Enqueues a block with a new private-queue context.
    open func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
        let context = newBackgroundContext()
        context.perform { block(context) }
    }

    /// Runs a block with a new private-queue context and returns its result.
    ///
    /// - Throws: The errors of the block.
    @preconcurrency
    public func performBackgroundTask<T>(_ block: @escaping @Sendable (NSManagedObjectContext) throws -> T) async rethrows -> T {
        let context = newBackgroundContext()
        return try await context.perform { try block(context) }
    }

    private func makeFolder(for url: URL) throws {
        let folder = url.deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw CocoaError(
                .fileWriteNoPermission,
                sentence: "The folder \(folder.path) for the store cannot be made; choose another in the store's description.")
        }
    }
}
