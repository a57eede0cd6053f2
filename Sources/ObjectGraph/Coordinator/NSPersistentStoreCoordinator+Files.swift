// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

// Store files: destroying, replacing and migrating them.

extension NSPersistentStoreCoordinator {
    func destroyPersistentStoreImplementation(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
        let storeClass = try StoreClasses.require(storeType)
        let description = NSPersistentStoreDescription(type: storeType, configuration: nil, url: url, options: options)
        guard !description.isReadOnly else {
            throw CocoaError(
                .fileWriteNoPermission, sentence: "The store at \(url.path) is read-only for these options and is not destroyed.")
        }
        if let store = persistentStore(for: url) { try remove(store) }
        if storeType == NSInMemoryStoreType || url.path == "/dev/null" { return }
        if storeClass is SQLitePersistentStore.Type {
            do { try SQLiteStore.destroy(at: url, force: description.isOn(NSPersistentStoreForceDestroyOption)) } catch {
                throw CocoaError(error)
            }
        } else if FileManager.default.fileExists(atPath: url.path) {
            try FileManager.default.removeItem(at: url)
        }
    }

    /// Empties a store's file, as ``destroyPersistentStore(at:ofType:options:)`` does.
    ///
    /// - Throws: `CocoaError`, also for a read-only store.
    public func destroyPersistentStore(at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil) throws {
        try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
    }

    func replacePersistentStoreImplementation(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
        sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
    ) throws {
        let storeClass = try StoreClasses.require(storeType)
        guard FileManager.default.fileExists(atPath: sourceURL.path) else {
            throw CocoaError(.fileReadNoSuchFile, sentence: "No store exists at \(sourceURL.path).")
        }
        if let store = persistentStore(for: destinationURL) { try remove(store) }
        if storeClass is SQLitePersistentStore.Type {
            do { try SQLiteStore.replace(at: destinationURL, withStoreAt: sourceURL) } catch { throw CocoaError(error) }
        } else {
            try Data(contentsOf: sourceURL).write(to: destinationURL, options: .atomic)
        }
    }

    /// Copies a store's file over another's, as
    /// ``replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:ofType:)`` does.
    ///
    /// - Throws: `CocoaError` when the source does not exist. The destination is unchanged then.
    public func replacePersistentStore(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
        sourceOptions: [AnyHashable: Any]? = nil, type: NSPersistentStore.StoreType
    ) throws {
        try replacePersistentStore(
            at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL, sourceOptions: sourceOptions,
            ofType: type.rawValue)
    }

    func setURLImplementation(_ url: URL, for store: NSPersistentStore) -> Bool { store.relocate(to: url) }

    @discardableResult
    func migratePersistentStoreImplementation(
        _ store: NSPersistentStore, to URL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
    ) throws -> NSPersistentStore {
        let configuration = store.source?.configuration
        let description = NSPersistentStoreDescription(type: storeType, configuration: configuration, url: URL, options: options)
        let target = try StoreCopy(from: store, of: self).copy(into: description)
        try remove(store)
        let change: [AnyHashable: Any] = [NSAddedPersistentStoresKey: [target], NSUUIDChangedPersistentStoresKey: [store, target]]
        NotificationCenter.default.post(name: .NSPersistentStoreCoordinatorStoresWillChange, object: self, userInfo: change)
        attach(target)
        NotificationCenter.default.post(name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: change)
        return target
    }

    /// Copies all objects of a store into a new one, as ``migratePersistentStore(_:to:options:withType:)`` does.
    ///
    /// - Throws: `CocoaError`; the old store is still added then.
    @discardableResult
    public func migratePersistentStore(
        _ store: NSPersistentStore, to url: URL, options: [AnyHashable: Any]? = nil, type: NSPersistentStore.StoreType
    ) throws -> NSPersistentStore {
        try migratePersistentStore(store, to: url, options: options, withType: type.rawValue)
    }
}
