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
    // Unchecked: descriptions are set before loading, by the one who configures the container.
    open private(set) var name: String
    open private(set) var managedObjectModel: NSManagedObjectModel
    open private(set) var persistentStoreCoordinator: NSPersistentStoreCoordinator
    /// On the main queue. The main queue must be served: by `dispatchMain()`, a run loop, or an async `main`.
    open private(set) var viewContext: NSManagedObjectContext
    open var persistentStoreDescriptions: [NSPersistentStoreDescription]
    private var modelProblem: (any Error)?

    /// Finds the model by name: compiled into the program, or in a file beside it.
    ///
    /// A model that cannot be found is reported by ``loadPersistentStores(completionHandler:)``.
    public convenience init(name: String) {
        do {
            self.init(name: name, managedObjectModel: NSManagedObjectModel(try ModelLookup.model(named: name)))
        } catch {
            self.init(name: name, managedObjectModel: NSManagedObjectModel())
            modelProblem = error
        }
    }

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

    /// Where stores go unless a description says otherwise: `$XDG_DATA_HOME` or `~/.local/share`, and the
    /// program's name.
    ///
    /// Differs: Apple's is the app's Application Support folder.
    open class func defaultDirectoryURL() -> URL {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0, isDirectory: true) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share", isDirectory: true)
        return base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
    }

    /// Opens each store that is described and not open yet.
    ///
    /// - Parameter block: Called once per store, with an error (``CocoaError``) whose description is one sentence if
    ///   that store could not be opened.
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

    /// Stores in memory have no file to be known by.
    private func isLoaded(_ description: NSPersistentStoreDescription) -> Bool {
        if let url = description.url, url.path != "/dev/null" { return persistentStoreCoordinator.persistentStore(for: url) != nil }
        return persistentStoreCoordinator.persistentStores.contains { $0.source === description }
    }

    open func newBackgroundContext() -> NSManagedObjectContext {
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = persistentStoreCoordinator
        return context
    }

    open func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
        let context = newBackgroundContext()
        context.perform { block(context) }
    }

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
