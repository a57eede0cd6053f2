// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Keys of store options and metadata. Texts are Apple's.
// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator, "Store options"

/// Whether saves to the store fail.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// Whether a store of an older model is migrated when it is added.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// Whether a migration infers the mapping between the models.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// Seconds to wait for a file that another process has locked.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// Whether the store records its history.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// Whether commits of other processes post `NSPersistentStoreRemoteChange` notifications.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey = "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// A dictionary of pragmas for each connection to a SQLite store.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Whether SQLite gathers statistics for its planner when the store is added.
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Whether the file is rebuilt, which frees unused space, when the store is added.
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// Whether the store opens without a check of its model's version.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Accepted, without effect: all systems share one format.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
/// The number of connections that may read concurrently.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSize"
/// Lets a store be destroyed though its file cannot be read.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"
/// Accepted, without effect: Linux has no classes of file protection.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// Accepted, without effect: binary stores hold only property-list values, so no class needs to be allowed.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Accepted, without effect: binary stores hold only property-list values.
public let NSBinaryStoreInsecureDecodingCompatibilityOption = "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// Defers migration steps that would rewrite a table: dropping columns and tables. The store's metadata has the same key
/// while a step is deferred; see ``NSPersistentStoreCoordinator/finishDeferredLightweightMigration()``.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// An ``NSStagedMigrationManager`` that migrates the store stage by stage when it is opened.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"

/// Accepted, without effect: XML stores are absent here.
public let NSValidateXMLStoreOption = "NSValidateXMLStoreOption"

/// The metadata key of the store's type.
public let NSStoreTypeKey = "NSStoreType"
/// The metadata key of the version hashes of the store's entities.
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
/// The metadata key of the version identifiers of the store's model.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"
/// The metadata key of the checksum of the store's model.
public let NSPersistentStoreModelVersionChecksumKey = "NSStoreModelVersionChecksumKey"
/// Marks metadata with Tarn's version hashes; Apple's are computed differently and cannot be compared.
let tarnHashVersionKey = "TarnHashVersion"
