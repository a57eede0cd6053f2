// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// The other spellings of the codes: `catch CocoaError.validationStringTooLong`, and the header's constants.

extension CocoaError {
    public static var managedObjectValidation: CocoaError.Code { .managedObjectValidation }
    public static var validationMultipleErrors: CocoaError.Code { .validationMultipleErrors }
    public static var validationMissingMandatoryProperty: CocoaError.Code { .validationMissingMandatoryProperty }
    public static var validationRelationshipLacksMinimumCount: CocoaError.Code { .validationRelationshipLacksMinimumCount }
    public static var validationRelationshipExceedsMaximumCount: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
    public static var validationRelationshipDeniedDelete: CocoaError.Code { .validationRelationshipDeniedDelete }
    public static var validationNumberTooLarge: CocoaError.Code { .validationNumberTooLarge }
    public static var validationNumberTooSmall: CocoaError.Code { .validationNumberTooSmall }
    public static var validationDateTooLate: CocoaError.Code { .validationDateTooLate }
    public static var validationDateTooSoon: CocoaError.Code { .validationDateTooSoon }
    public static var validationInvalidDate: CocoaError.Code { .validationInvalidDate }
    public static var validationStringTooLong: CocoaError.Code { .validationStringTooLong }
    public static var validationStringTooShort: CocoaError.Code { .validationStringTooShort }
    public static var validationStringPatternMatching: CocoaError.Code { .validationStringPatternMatching }
    public static var managedObjectContextLocking: CocoaError.Code { .managedObjectContextLocking }
    public static var persistentStoreCoordinatorLocking: CocoaError.Code { .persistentStoreCoordinatorLocking }
    public static var managedObjectReferentialIntegrity: CocoaError.Code { .managedObjectReferentialIntegrity }
    public static var managedObjectExternalRelationship: CocoaError.Code { .managedObjectExternalRelationship }
    public static var managedObjectMerge: CocoaError.Code { .managedObjectMerge }
    public static var managedObjectConstraintMerge: CocoaError.Code { .managedObjectConstraintMerge }
    public static var persistentStoreInvalidType: CocoaError.Code { .persistentStoreInvalidType }
    public static var persistentStoreTypeMismatch: CocoaError.Code { .persistentStoreTypeMismatch }
    public static var persistentStoreIncompatibleSchema: CocoaError.Code { .persistentStoreIncompatibleSchema }
    public static var persistentStoreSave: CocoaError.Code { .persistentStoreSave }
    public static var persistentStoreIncompleteSave: CocoaError.Code { .persistentStoreIncompleteSave }
    public static var persistentStoreSaveConflicts: CocoaError.Code { .persistentStoreSaveConflicts }
    public static var coreData: CocoaError.Code { .coreData }
    public static var persistentStoreOperation: CocoaError.Code { .persistentStoreOperation }
    public static var persistentStoreOpen: CocoaError.Code { .persistentStoreOpen }
    public static var persistentStoreTimeout: CocoaError.Code { .persistentStoreTimeout }
    public static var persistentStoreUnsupportedRequestType: CocoaError.Code { .persistentStoreUnsupportedRequestType }
    public static var persistentStoreIncompatibleVersionHash: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
    public static var migration: CocoaError.Code { .migration }
    public static var migrationConstraintViolation: CocoaError.Code { .migrationConstraintViolation }
    public static var migrationCancelled: CocoaError.Code { .migrationCancelled }
    public static var migrationManagerSourceStore: CocoaError.Code { .migrationManagerSourceStore }
    public static var migrationManagerDestinationStore: CocoaError.Code { .migrationManagerDestinationStore }
    public static var entityMigrationPolicy: CocoaError.Code { .entityMigrationPolicy }
    public static var migrationMissingSourceModel: CocoaError.Code { .migrationMissingSourceModel }
    public static var migrationMissingMappingModel: CocoaError.Code { .migrationMissingMappingModel }
    public static var inferredMappingModel: CocoaError.Code { .inferredMappingModel }
    public static var persistentHistoryTokenExpired: CocoaError.Code { .persistentHistoryTokenExpired }
    public static var sqlite: CocoaError.Code { .sqlite }
    public static var externalRecordImport: CocoaError.Code { .externalRecordImport }
}

// What an error's user info holds, by name.
//
// Source: developer.apple.com/documentation/foundation/cocoaerror
extension CocoaError {
    /// Of a validation error: the object that is not valid.
    public var validationObject: Any? { userInfo[NSValidationObjectErrorKey] }
    /// Of a validation error: the property whose value is not valid.
    public var validationKey: String? { userInfo[NSValidationKeyErrorKey] as? String }
    public var validationPredicate: NSPredicate? { userInfo[NSValidationPredicateErrorKey] as? NSPredicate }
    public var validationValue: Any? { userInfo[NSValidationValueErrorKey] }
    public var affectedStores: [AnyObject]? { userInfo[NSAffectedStoresErrorKey] as? [AnyObject] }
    public var affectedObjects: [AnyObject]? { userInfo[NSAffectedObjectsErrorKey] as? [AnyObject] }
    /// Of a save that met somebody else's changes.
    public var persistentStoreSaveConflicts: [NSMergeConflict]? {
        userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
    }
}

public var NSManagedObjectValidationError: Int { 1550 }
public var NSValidationMultipleErrorsError: Int { 1560 }
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }
public var NSValidationNumberTooLargeError: Int { 1610 }
public var NSValidationNumberTooSmallError: Int { 1620 }
public var NSValidationDateTooLateError: Int { 1630 }
public var NSValidationDateTooSoonError: Int { 1640 }
public var NSValidationInvalidDateError: Int { 1650 }
public var NSValidationStringTooLongError: Int { 1660 }
public var NSValidationStringTooShortError: Int { 1670 }
public var NSValidationStringPatternMatchingError: Int { 1680 }
public var NSManagedObjectContextLockingError: Int { 132_000 }
public var NSPersistentStoreCoordinatorLockingError: Int { 132_010 }
public var NSManagedObjectReferentialIntegrityError: Int { 133_000 }
public var NSManagedObjectExternalRelationshipError: Int { 133_010 }
public var NSManagedObjectMergeError: Int { 133_020 }
public var NSManagedObjectConstraintMergeError: Int { 133_021 }
public var NSPersistentStoreInvalidTypeError: Int { 134_000 }
public var NSPersistentStoreTypeMismatchError: Int { 134_010 }
public var NSPersistentStoreIncompatibleSchemaError: Int { 134_020 }
public var NSPersistentStoreSaveError: Int { 134_030 }
public var NSPersistentStoreIncompleteSaveError: Int { 134_040 }
public var NSPersistentStoreSaveConflictsError: Int { 134_050 }
public var NSCoreDataError: Int { 134_060 }
public var NSPersistentStoreOperationError: Int { 134_070 }
public var NSPersistentStoreOpenError: Int { 134_080 }
public var NSPersistentStoreTimeoutError: Int { 134_090 }
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134_091 }
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134_100 }
public var NSMigrationError: Int { 134_110 }
public var NSMigrationConstraintViolationError: Int { 134_111 }
public var NSMigrationCancelledError: Int { 134_120 }
public var NSMigrationMissingSourceModelError: Int { 134_130 }
public var NSMigrationMissingMappingModelError: Int { 134_140 }
public var NSMigrationManagerSourceStoreError: Int { 134_150 }
public var NSMigrationManagerDestinationStoreError: Int { 134_160 }
public var NSEntityMigrationPolicyError: Int { 134_170 }
public var NSModelReferenceNotFoundError: Int { 134_504 }
public var NSStagedMigrationFrameworkVersionMismatchError: Int { 134_505 }
public var NSStagedMigrationBackwardMigrationError: Int { 134_506 }
public var NSInferredMappingModelError: Int { 134_190 }
public var NSPersistentHistoryTokenExpiredError: Int { 134_301 }
public var NSSQLiteError: Int { 134_180 }
public var NSManagedObjectConstraintValidationError: Int { 1551 }
public var NSValidationInvalidURIError: Int { 1690 }
public var NSExternalRecordImportError: Int { 134_200 }

/// The domain of SQLite's own codes, and the key under which an error's user info holds such a code.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
