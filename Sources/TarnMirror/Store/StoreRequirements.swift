// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The requirements of a mirror on its store.
enum StoreRequirements {
    /// Returns the store to mirror.
    ///
    /// - Parameter store: nil for the container's only one.
    /// - Throws: ``TarnMirror/Failure`` with `.unsupportedStore`.
    static func store(_ store: NSPersistentStore?, of container: NSPersistentContainer) throws -> NSPersistentStore {
        let loaded = container.persistentStoreCoordinator.persistentStores
        guard let store = store ?? (loaded.count == 1 ? loaded.first : nil), loaded.contains(where: { $0 === store }) else {
            throw TarnMirror.Failure(
                .unsupportedStore, "the container has \(loaded.count) loaded stores; load one, or name the one to sync")
        }
        guard store.type == NSSQLiteStoreType, let url = store.url, url.path != "/dev/null" else {
            throw TarnMirror.Failure(.unsupportedStore, "the store isn't an SQLite store with a file; only those have persistent history")
        }
        guard !store.isReadOnly else {
            throw TarnMirror.Failure(.unsupportedStore, "the store is read-only; a mirror saves the changes of other devices in it")
        }
        guard !container.persistentStoreDescriptions.contains(where: { $0.url == url && $0.cloudKitContainerOptions != nil }) else {
            throw TarnMirror.Failure(
                .unsupportedStore, "the store is synced by its container; use a description without cloudKitContainerOptions for a mirror")
        }
        for key in [NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey] {
            guard isOn(store.options?[key]) else {
                throw TarnMirror.Failure(
                    .unsupportedStore,
                    "the store was loaded without \(key); set the option to true in its description before loadPersistentStores")
            }
        }
        return store
    }

    private static func isOn(_ value: Any?) -> Bool { (value as? NSNumber)?.boolValue ?? false }
}
