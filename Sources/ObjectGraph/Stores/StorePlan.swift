// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// A store's arguments in one object, so that an initializer called by symbol takes one argument.
final class StoreArguments {
    let coordinator: NSPersistentStoreCoordinator?
    let configuration: String?
    let url: URL
    let options: [AnyHashable: Any]?

    init(coordinator: NSPersistentStoreCoordinator?, configuration: String?, url: URL, options: [AnyHashable: Any]?) {
        self.coordinator = coordinator
        self.configuration = configuration
        self.url = url
        self.options = options
    }
}

/// The opening of a store: the results of the coordinator's lookups.
struct StorePlan {
    let model: ResolvedModel
    let layouts: [EntityLayout]
    /// The entities of the store's configuration.
    let entities: [ResolvedEntity]
    let number: UInt16
    let description: NSPersistentStoreDescription
    /// Version hashes of the configuration's entities, by name.
    let versionHashes: [String: Data]
    /// The hashes that earlier releases wrote.
    let earlierVersionHashes: [String: Data]
    let versionIdentifiers: [String]
    /// The checksum of the whole model.
    let versionChecksum: String

    /// The model's part of the store's metadata.
    var versionMetadata: [String: Any] {
        [
            NSStoreModelVersionHashesKey: versionHashes, NSStoreModelVersionIdentifiersKey: versionIdentifiers,
            NSPersistentStoreModelVersionChecksumKey: versionChecksum, tarnHashVersionKey: 1,
        ]
    }

    /// - Throws: `CocoaError` 134100 for a store of another version of the model.
    func check(_ metadata: [String: Any]) throws {
        guard !description.ignoresVersions, metadata[tarnHashVersionKey] != nil,
            let storeHashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
        else { return }
        let changed = versionHashes.filter { storeHashes[$0.key] != $0.value && storeHashes[$0.key] != earlierVersionHashes[$0.key] }.keys
            .sorted()
        let missing = storeHashes.keys.filter { versionHashes[$0] == nil && model.entity(named: $0) == nil }.sorted()
        guard changed.isEmpty, missing.isEmpty else {
            throw CocoaError(
                .persistentStoreIncompatibleVersionHash,
                sentence:
                    "The store was made with another version of the model; what differs: \((changed + missing).joined(separator: ", ")).")
        }
    }
}
