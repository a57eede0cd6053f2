// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// What is kept with a store, beside its rows.

extension NSPersistentStoreCoordinator {
    /// What is kept with a store, its UUID and type included.
    public func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

    /// Replaces what is kept with a store. It reaches the file with the next save of a context.
    ///
    /// - Parameter metadata: What a property list can hold. The store's UUID, type and version stay when it has none.
    public func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
        let own = [NSStoreUUIDKey, NSStoreTypeKey, NSStoreModelVersionHashesKey, NSStoreModelVersionIdentifiersKey]
        let kept = (store.metadata ?? [:]).filter { own.contains($0.key) || $0.key.hasPrefix("Tarn") }
        store.metadata = (metadata ?? [:]).merging(kept) { given, _ in given }
    }

    /// Writes metadata that was set, of stores that a save leaves alone.
    func saveMetadata(in context: NSManagedObjectContext) throws {
        for store in persistentStores where store.isMetadataChanged && !store.isReadOnly { try store.saveMetadata(in: context) }
    }

    /// Reads what is kept with a store that need not be open. No model is needed.
    ///
    /// - Throws: ``CocoaError`` for a file that is not there, or is no store of that type.
    public class func metadataForPersistentStore(
        ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] {
        try StoreClasses.require(storeType).metadataForPersistentStore(with: url)
    }

    public class func metadataForPersistentStore(
        type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] {
        try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
    }

    /// Replaces what is kept with a store that need not be open.
    public class func setMetadata(
        _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws {
        try StoreClasses.require(storeType).setMetadata(metadata, forPersistentStoreAt: url)
    }

    public class func setMetadata(
        _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws {
        try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
    }
}
