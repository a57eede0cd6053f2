// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Versions of the layout of a store file. A case is never reused or renumbered; opening an older store upgrades it,
/// opening a newer one fails.
///
/// The tables follow Core Data's; the version and the model's description have Tarn's own keys in the store's metadata,
/// so that the file is not taken for one of Apple's.
enum StoreFormat: Int, CaseIterable {
    /// First released format.
    case initial = 1

    static let current = StoreFormat.initial

    enum MetadataKey {
        static let format = "TarnStoreFormat"
        static let model = "TarnStoreModel"
        static let hashes = "TarnModelVersionHashes"
        static let applesHashes = "NSStoreModelVersionHashes"
        /// Shown with Tarn's hashes, which apps see under Apple's key.
        static let hashVersion = "TarnHashVersion"
        static let versionIdentifiers = "NSStoreModelVersionIdentifiers"
        static let checksum = "NSStoreModelVersionChecksumKey"
        /// In a store that Apple's framework wrote, instead of its two keys, which opening leaves unchanged.
        static let ownChecksum = "TarnModelVersionChecksum"
        static let ownIdentifiers = "TarnModelVersionIdentifiers"
        /// The keys under which apps see them.
        static let shownAs = [ownChecksum: checksum, ownIdentifiers: versionIdentifiers]
        /// The tables of a store that Apple's framework wrote; only in the metadata that apps see.
        static let tables = "TarnTables"
        /// Present while a migration is deferred: Apple's key, and the deferred steps.
        static let deferred = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
        static let deferredDrops = "TarnDeferredDrops"
        static let type = "NSStoreType"
        static let identifier = "NSStoreUUID"
        /// Keys of the store itself; an app's metadata never replaces them.
        static let reserved: Set<String> = [
            format, model, hashes, versionIdentifiers, checksum, ownIdentifiers, ownChecksum, deferred, deferredDrops, type, identifier,
        ]
    }
}

/// `Z_ENT` of the history's rows.
///
/// Source: `core-data-sqlite-format`, "Reserved numbers" (published schema dumps).
enum HistoryEntity {
    static let change: Int64 = 16001
    static let transaction: Int64 = 16002
    static let string: Int64 = 16003
    static let names = [(change, "CHANGE"), (transaction, "TRANSACTION"), (string, "TRANSACTIONSTRING")]
}
