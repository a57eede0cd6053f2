// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Versions of how a store file is laid out. A case is never reused or renumbered; opening an older store brings it
/// up to date, opening a newer one is refused.
///
/// The tables follow Core Data's; the version and the model's description stand under names of our own in the
/// store's metadata, so that nobody takes the file for one of Apple's.
enum StoreFormat: Int, CaseIterable {
    /// First released format.
    case initial = 1

    static let current = StoreFormat.initial

    enum MetadataKey {
        static let format = "TarnStoreFormat"
        static let model = "TarnStoreModel"
        static let hashes = "TarnModelVersionHashes"
        static let applesHashes = "NSStoreModelVersionHashes"
        /// Shown with our hashes, which take the place of Apple's where an app looks.
        static let hashVersion = "TarnHashVersion"
        static let versionIdentifiers = "NSStoreModelVersionIdentifiers"
        static let checksum = "NSStoreModelVersionChecksumKey"
        /// In a store that Apple's framework wrote, in place of its own two keys, which opening leaves alone.
        static let ownChecksum = "TarnModelVersionChecksum"
        static let ownIdentifiers = "TarnModelVersionIdentifiers"
        /// Under which keys apps see them.
        static let shownAs = [ownChecksum: checksum, ownIdentifiers: versionIdentifiers]
        /// What the tables of a store look like that Apple's framework wrote; only in what apps see.
        static let tables = "TarnTables"
        /// Set while a migration has left something to do: Apple's key, and what is left.
        static let deferred = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
        static let deferredDrops = "TarnDeferredDrops"
        static let type = "NSStoreType"
        static let identifier = "NSStoreUUID"
        /// What belongs to the store itself; an app's metadata never replaces it.
        static let reserved: Set<String> = [
            format, model, hashes, versionIdentifiers, checksum, ownIdentifiers, ownChecksum, deferred, deferredDrops, type, identifier,
        ]
    }
}

/// `Z_ENT` of the rows that make up the history.
///
/// Source: `core-data-sqlite-format`, "Reserved numbers" (published schema dumps).
enum HistoryEntity {
    static let change: Int64 = 16001
    static let transaction: Int64 = 16002
    static let string: Int64 = 16003
    static let names = [(change, "CHANGE"), (transaction, "TRANSACTION"), (string, "TRANSACTIONSTRING")]
}
