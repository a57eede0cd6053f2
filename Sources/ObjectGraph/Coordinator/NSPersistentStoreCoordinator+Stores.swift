// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore
import Synchronization

// Adding and removing stores.

extension NSPersistentStoreCoordinator {
    func addPersistentStoreImplementation(
        with description: NSPersistentStoreDescription,
        completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
    ) {
        let report = Unchecked(block)
        let add: @Sendable () -> Void = {
            do {
                _ = try self.add(description)
                report.value(description, nil)
            } catch {
                report.value(description, error)
            }
        }
        if description.shouldAddStoreAsynchronously { DispatchQueue.global(qos: .userInitiated).async(execute: add) } else { add() }
    }

    package func add(_ description: NSPersistentStoreDescription) throws -> NSPersistentStore {
        let store = try makeStore(description)
        try watchIfWanted(store)
        let change: [AnyHashable: Any] = [NSAddedPersistentStoresKey: [store]]
        NotificationCenter.default.post(name: .NSPersistentStoreCoordinatorStoresWillChange, object: self, userInfo: change)
        attach(store)
        NotificationCenter.default.post(name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: change)
        return store
    }

    /// Returns an open store that is not published yet.
    func makeStore(_ description: NSPersistentStoreDescription) throws -> NSPersistentStore {
        let frozen = try requireModel()
        guard let storeClass = StoreClasses.named(description.type) else {
            throw CocoaError(
                .persistentStoreInvalidType,
                sentence:
                    "No class is registered for stores of type '\(description.type)'; registered are \(StoreClasses.names.joined(separator: ", "))."
            )
        }
        guard let entities = frozen.resolved.entities(inConfiguration: description.configuration) else {
            throw CocoaError(
                .persistentStoreOpen, sentence: "The model has no configuration named '\(description.configuration ?? "")'.")
        }
        if description.type != NSInMemoryStoreType, let url = description.url, url.path != "/dev/null", persistentStore(for: url) != nil {
            throw CocoaError(.persistentStoreOpen, sentence: "The store at \(url.path) was added to the coordinator already.")
        }
        try prepareFile(description)
        let arguments = StoreArguments(
            coordinator: self, configuration: description.configuration, url: description.url ?? URL(fileURLWithPath: "/dev/null"),
            options: description.options)
        let store = storeClass.make(arguments)
        let names = Set(entities.map(\.name))
        let hashes = managedObjectModel.entityVersionHashesByName
        let plan = StorePlan(
            model: frozen.resolved, layouts: frozen.layouts, entities: entities, number: Self.nextStoreNumber(), description: description,
            versionHashes: hashes.filter { names.contains($0.key) },
            earlierVersionHashes: managedObjectModel.earlierVersionHashes(of: hashes).filter { names.contains($0.key) },
            versionIdentifiers: managedObjectModel.versionIdentifiers.compactMap { $0.base as? String }.sorted(),
            versionChecksum: VersionHash.checksum(of: hashes))
        store.adopt(plan)
        try store.open(plan)
        return store
    }

    @discardableResult
    func addPersistentStoreImplementation(
        ofType storeType: String, configurationName configuration: String?, at url: URL?, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore {
        guard url != nil || storeType != NSSQLiteStoreType else {
            throw CocoaError(.persistentStoreOpen, sentence: "A SQLite store needs the address of a file.")
        }
        return try add(NSPersistentStoreDescription(type: storeType, configuration: configuration, url: url, options: options))
    }

    /// Opens or creates a store.
    ///
    /// - Throws: `CocoaError`; nothing was added then.
    @discardableResult
    public func addPersistentStore(
        type: NSPersistentStore.StoreType, configuration: String? = nil, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore {
        try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: url, options: options)
    }

    func removeImplementation(_ store: NSPersistentStore) throws {
        guard persistentStores.contains(where: { $0 === store }) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store is not one of the coordinator's; it was removed already.")
        }
        let change: [AnyHashable: Any] = [NSRemovedPersistentStoresKey: [store]]
        let center = NotificationCenter.default
        center.post(name: .NSPersistentStoreCoordinatorStoresWillChange, object: self, userInfo: change)
        center.post(name: .NSPersistentStoreCoordinatorWillRemoveStore, object: store)
        store.willRemove(from: self)
        detach(store)
        store.close()
        for context in liveContexts {
            // A busy context drops the objects when its queue is free.
            if context.queue.isCurrent {
                context.dropObjects(ofStore: store.number)
            } else {
                context.queue.queue.async { context.dropObjects(ofStore: store.number) }
            }
        }
        center.post(name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: change)
    }

    // MARK: Classes of stores

    class func registerStoreClassImplementation(_ storeClass: AnyClass?, forStoreType storeType: String) {
        guard let storeClass else { return StoreClasses.register(nil, for: storeType) }
        guard let concreteClass = storeClass as? NSPersistentStore.Type else {
            preconditionFailure("\(storeClass) is not a subclass of NSPersistentStore")
        }
        StoreClasses.register(concreteClass, for: storeType)
    }

    /// Registers the class for a type of store; nil unregisters the type.
    ///
    /// - Precondition: The class is a subclass of ``NSAtomicStore`` or ``NSIncrementalStore``.
    public class func registerStoreClass(_ storeClass: AnyClass?, type: NSPersistentStore.StoreType) {
        registerStoreClass(storeClass, forStoreType: type.rawValue)
    }

    /// The registered types of stores; values are their classes.
    public class var registeredStoreTypes: [String: NSValue] { StoreClasses.values }
}

/// The classes of stores by type.
enum StoreClasses {
    private static let table = Mutex<[String: NSPersistentStore.Type]>([
        NSSQLiteStoreType: SQLitePersistentStore.self, NSInMemoryStoreType: SQLitePersistentStore.self,
        NSBinaryStoreType: BinaryStore.self,
    ])

    static func named(_ type: String) -> NSPersistentStore.Type? { table.withLock { $0[type] } }
    static func register(_ storeClass: NSPersistentStore.Type?, for type: String) { table.withLock { $0[type] = storeClass } }
    static var names: [String] { table.withLock { $0.keys.sorted() } }

    static var values: [String: NSValue] {
        let classes = table.withLock { $0 }
        return classes.mapValues { storeClass in
            // Foundation on Linux cannot box pointers in NSValue.
            var bits = UInt64(UInt(bitPattern: unsafeBitCast(storeClass as AnyClass, to: UnsafeRawPointer.self)))
            return NSValue(bytes: &bits, objCType: "Q")
        }
    }

    /// - Throws: `CocoaError` 134000.
    static func require(_ type: String) throws -> NSPersistentStore.Type {
        guard let storeClass = named(type) else {
            throw CocoaError(.persistentStoreInvalidType, sentence: "No class is registered for stores of type '\(type)'.")
        }
        return storeClass
    }
}
