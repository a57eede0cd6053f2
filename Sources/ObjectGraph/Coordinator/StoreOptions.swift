// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Keys of options and metadata of stores. Texts are Apple's.
// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator, "Store options"

public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey = "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// A dictionary of pragmas for each connection to a SQLite store.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Lets SQLite gather statistics for its planner when the store is added.
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Rebuilds the file, which gives free space back, when the store is added.
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// Opens a store without a look at the version of the model it was made with.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Accepted, without effect: there is one format for all systems.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
/// How many connections may read at the same time.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSize"
/// Lets a store be destroyed though its file cannot be read.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"
/// Accepted, without effect: Linux has no classes of file protection.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// Accepted, without effect: binary stores hold property-list values only, so there are no classes to allow.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
public let NSBinaryStoreInsecureDecodingCompatibilityOption = "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// Lets a migration leave for later what means to write a table anew: dropping columns and tables. The same key stands
/// in the store's metadata while something is left; see ``NSPersistentStoreCoordinator/finishDeferredLightweightMigration()``.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// An ``NSStagedMigrationManager`` through whose stages the store goes when it is opened.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"

/// Accepted, without effect: there are no XML stores here.
public let NSValidateXMLStoreOption = "NSValidateXMLStoreOption"

public let NSStoreTypeKey = "NSStoreType"
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"
/// The checksum of the model that a store was made with.
public let NSPersistentStoreModelVersionChecksumKey = "NSStoreModelVersionChecksumKey"
/// Marks metadata whose hashes are Tarn's; Apple's are made in another way and cannot be compared.
let tarnHashVersionKey = "TarnHashVersion"
