// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Metadata of stores.

extension NSPersistentStoreCoordinator {
    func metadataImplementation(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

    func setMetadataImplementation(_ metadata: [String: Any]?, for store: NSPersistentStore) {
        let own = [NSStoreUUIDKey, NSStoreTypeKey, NSStoreModelVersionHashesKey, NSStoreModelVersionIdentifiersKey]
        let storeValues = (store.metadata ?? [:]).filter { own.contains($0.key) || $0.key.hasPrefix("Tarn") }
        store.metadata = (metadata ?? [:]).merging(storeValues) { given, _ in given }
    }

    /// Writes changed metadata of stores that the save has no rows for.
    func saveMetadata(in context: NSManagedObjectContext) throws {
        for store in persistentStores where store.isMetadataChanged && !store.isReadOnly { try store.saveMetadata(in: context) }
    }

    class func metadataForPersistentStoreImplementation(
        ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] {
        try StoreClasses.require(storeType).metadataForPersistentStore(with: url)
    }

    /// Reads the metadata of a store that need not be open.
    ///
    /// - Throws: `CocoaError` for a missing file, a file of another type, or a type without a registered class.
    public class func metadataForPersistentStore(
        type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] {
        try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
    }

    class func setMetadataImplementation(
        _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws {
        try StoreClasses.require(storeType).setMetadata(metadata, forPersistentStoreAt: url)
    }

    /// Replaces the metadata of a store that need not be open.
    ///
    /// - Throws: `CocoaError` for a missing or read-only file, or a type without a registered class. The metadata is
    ///   unchanged then.
    public class func setMetadata(
        _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws {
        try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
    }
}
