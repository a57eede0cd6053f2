// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

// Migration of a file before it is opened, and deferred steps afterwards.

extension NSPersistentStoreCoordinator {
    /// Runs stages, and migrates files of other types; SQLite files migrate as they are opened.
    func prepareFile(_ description: NSPersistentStoreDescription) throws {
        guard let url = description.url, url.path != "/dev/null", !description.isReadOnly, FileManager.default.fileExists(atPath: url.path)
        else { return }
        if description.type == NSSQLiteStoreType {
            guard let manager = description.options[NSPersistentStoreStagedMigrationManagerOptionKey] as? NSStagedMigrationManager else {
                return
            }
            try StagedMigration(manager: manager, description: description, url: url, target: managedObjectModel).run()
        } else if description.type == NSBinaryStoreType {
            try migrateBinaryStore(description, url)
        }
    }

    private func migrateBinaryStore(_ description: NSPersistentStoreDescription, _ url: URL) throws {
        guard description.shouldMigrateStoreAutomatically, !description.ignoresVersions, description.configuration == nil else { return }
        let metadata = try BinaryStore.metadataForPersistentStore(with: url)
        guard metadata[tarnHashVersionKey] != nil,
            !managedObjectModel.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
        else { return }
        guard description.shouldInferMappingModelAutomatically else {
            throw CocoaError(
                .migrationMissingMappingModel,
                sentence:
                    "The store at \(url.path) was made with another version of the model, and no mapping was given; let the mapping be inferred."
            )
        }
        let candidateModels = ModelLookup.known().map { NSManagedObjectModel($0) }
        guard let source = NSManagedObjectModel(byMerging: candidateModels, forStoreMetadata: metadata) else {
            throw CocoaError(
                .migrationMissingSourceModel,
                sentence: "The program does not have the version of the model that the store at \(url.path) was made with; add it.")
        }
        let manager = NSMigrationManager(sourceModel: source, destinationModel: managedObjectModel)
        try manager.migrateStore(
            from: url, sourceType: NSBinaryStoreType, with: nil, toDestinationURL: url, destinationType: NSBinaryStoreType)
    }

    func finishDeferredLightweightMigrationImplementation() throws { try finishDeferredMigration(limit: nil) }

    func finishDeferredLightweightMigrationTaskImplementation() throws { try finishDeferredMigration(limit: 1) }

    private func finishDeferredMigration(limit: Int?) throws {
        for store in persistentStores where !store.isReadOnly {
            guard let file = store.sqlite, store.metadata?[NSPersistentStoreDeferredLightweightMigrationOptionKey] != nil else { continue }
            let isDone = try store.translated { try file.finishDeferredMigration(limit: limit) }
            if isDone { store.forgetDeferredMigration() }
            if limit != nil { return }
        }
    }
}
