// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Other spellings of the codes: `catch CocoaError.validationStringTooLong`, and the header's constants.

extension CocoaError {
    /// The code 1550: an object is invalid.
    public static var managedObjectValidation: CocoaError.Code { .managedObjectValidation }
    /// The code 1560: several objects or properties are invalid; ``NSDetailedErrorsKey`` has the errors.
    public static var validationMultipleErrors: CocoaError.Code { .validationMultipleErrors }
    /// The code 1570: a required property is nil.
    public static var validationMissingMandatoryProperty: CocoaError.Code { .validationMissingMandatoryProperty }
    /// The code 1580: a relationship has too few members.
    public static var validationRelationshipLacksMinimumCount: CocoaError.Code { .validationRelationshipLacksMinimumCount }
    /// The code 1590: a relationship has too many members.
    public static var validationRelationshipExceedsMaximumCount: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
    /// The code 1600: a delete rule denies the deletion while the relationship has members.
    public static var validationRelationshipDeniedDelete: CocoaError.Code { .validationRelationshipDeniedDelete }
    /// The code 1610: a number is above its maximum.
    public static var validationNumberTooLarge: CocoaError.Code { .validationNumberTooLarge }
    /// The code 1620: a number is below its minimum.
    public static var validationNumberTooSmall: CocoaError.Code { .validationNumberTooSmall }
    /// The code 1630: a date is after its maximum.
    public static var validationDateTooLate: CocoaError.Code { .validationDateTooLate }
    /// The code 1640: a date is before its minimum.
    public static var validationDateTooSoon: CocoaError.Code { .validationDateTooSoon }
    /// The code 1650: a value is not a date.
    public static var validationInvalidDate: CocoaError.Code { .validationInvalidDate }
    /// The code 1660: a string is longer than its maximum.
    public static var validationStringTooLong: CocoaError.Code { .validationStringTooLong }
    /// The code 1670: a string is shorter than its minimum.
    public static var validationStringTooShort: CocoaError.Code { .validationStringTooShort }
    /// The code 1680: a string does not match its pattern.
    public static var validationStringPatternMatching: CocoaError.Code { .validationStringPatternMatching }
    /// The code 132000: a context could not be locked. Never thrown here.
    public static var managedObjectContextLocking: CocoaError.Code { .managedObjectContextLocking }
    /// The code 132010: a coordinator could not be locked. Never thrown here.
    public static var persistentStoreCoordinatorLocking: CocoaError.Code { .persistentStoreCoordinatorLocking }
    /// The code 133000: the row of an object does not exist.
    public static var managedObjectReferentialIntegrity: CocoaError.Code { .managedObjectReferentialIntegrity }
    /// The code 133010: related objects are in different stores.
    public static var managedObjectExternalRelationship: CocoaError.Code { .managedObjectExternalRelationship }
    /// The code 133020: a merge policy did not resolve conflicts with concurrent changes.
    public static var managedObjectMerge: CocoaError.Code { .managedObjectMerge }
    /// The code 133021: a merge policy did not resolve conflicts of uniqueness constraints.
    public static var managedObjectConstraintMerge: CocoaError.Code { .managedObjectConstraintMerge }
    /// The code 134000: the type of store has no registered class.
    public static var persistentStoreInvalidType: CocoaError.Code { .persistentStoreInvalidType }
    /// The code 134010: the file is a store of another type.
    public static var persistentStoreTypeMismatch: CocoaError.Code { .persistentStoreTypeMismatch }
    /// The code 134020: the store and the model do not fit, or the model is invalid.
    public static var persistentStoreIncompatibleSchema: CocoaError.Code { .persistentStoreIncompatibleSchema }
    /// The code 134030: a save failed.
    public static var persistentStoreSave: CocoaError.Code { .persistentStoreSave }
    /// The code 134040: some stores were saved before another one failed.
    public static var persistentStoreIncompleteSave: CocoaError.Code { .persistentStoreIncompleteSave }
    /// The code 134050: a save met conflicts.
    public static var persistentStoreSaveConflicts: CocoaError.Code { .persistentStoreSaveConflicts }
    /// The code 134060: a failure without a more specific code.
    public static var coreData: CocoaError.Code { .coreData }
    /// The code 134070: an operation on a store failed.
    public static var persistentStoreOperation: CocoaError.Code { .persistentStoreOperation }
    /// The code 134080: a store could not be opened.
    public static var persistentStoreOpen: CocoaError.Code { .persistentStoreOpen }
    /// The code 134090: another process has locked the file for longer than the time-out.
    public static var persistentStoreTimeout: CocoaError.Code { .persistentStoreTimeout }
    /// The code 134091: the store does not execute requests of that type.
    public static var persistentStoreUnsupportedRequestType: CocoaError.Code { .persistentStoreUnsupportedRequestType }
    /// The code 134100: the store was made with another version of the model.
    public static var persistentStoreIncompatibleVersionHash: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
    /// The code 134110: a migration failed.
    public static var migration: CocoaError.Code { .migration }
    /// The code 134111: a migration violates a uniqueness constraint.
    public static var migrationConstraintViolation: CocoaError.Code { .migrationConstraintViolation }
    /// The code 134120: a migration was cancelled.
    public static var migrationCancelled: CocoaError.Code { .migrationCancelled }
    /// The code 134150: a migration cannot read its source.
    public static var migrationManagerSourceStore: CocoaError.Code { .migrationManagerSourceStore }
    /// The code 134160: a migration cannot write its destination.
    public static var migrationManagerDestinationStore: CocoaError.Code { .migrationManagerDestinationStore }
    /// The code 134170: a migration policy failed.
    public static var entityMigrationPolicy: CocoaError.Code { .entityMigrationPolicy }
    /// The code 134130: the model that a store was made with is missing.
    public static var migrationMissingSourceModel: CocoaError.Code { .migrationMissingSourceModel }
    /// The code 134140: no mapping model fits the store and the model.
    public static var migrationMissingMappingModel: CocoaError.Code { .migrationMissingMappingModel }
    /// The code 134190: no mapping can be inferred between two models.
    public static var inferredMappingModel: CocoaError.Code { .inferredMappingModel }
    /// The code 134301: the history that follows a token was deleted.
    public static var persistentHistoryTokenExpired: CocoaError.Code { .persistentHistoryTokenExpired }
    /// The code 134180: SQLite reported an error; ``NSSQLiteErrorDomain`` has its code.
    public static var sqlite: CocoaError.Code { .sqlite }
    /// The code 134200: an external record could not be imported. Never thrown here: external records are absent.
    public static var externalRecordImport: CocoaError.Code { .externalRecordImport }
}

// Accessors for the user info of errors.
//
// Source: developer.apple.com/documentation/foundation/cocoaerror
extension CocoaError {
    /// The invalid object of a validation error.
    public var validationObject: Any? { userInfo[NSValidationObjectErrorKey] }
    /// The name of the invalid property of a validation error.
    public var validationKey: String? { userInfo[NSValidationKeyErrorKey] as? String }
    /// The predicate that the value of a validation error does not match.
    public var validationPredicate: NSPredicate? { userInfo[NSValidationPredicateErrorKey] as? NSPredicate }
    /// The invalid value of a validation error.
    public var validationValue: Any? { userInfo[NSValidationValueErrorKey] }
    /// The stores that the error concerns.
    public var affectedStores: [AnyObject]? { userInfo[NSAffectedStoresErrorKey] as? [AnyObject] }
    /// The objects that the error concerns.
    public var affectedObjects: [AnyObject]? { userInfo[NSAffectedObjectsErrorKey] as? [AnyObject] }
    /// The conflicts of a save with concurrent changes.
    public var persistentStoreSaveConflicts: [NSMergeConflict]? {
        userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
    }
}

/// The code 1550: an object is invalid.
public var NSManagedObjectValidationError: Int { 1550 }
/// The code 1560: several objects or properties are invalid; ``NSDetailedErrorsKey`` has the errors.
public var NSValidationMultipleErrorsError: Int { 1560 }
/// The code 1570: a required property is nil.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }
/// The code 1580: a relationship has too few members.
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }
/// The code 1590: a relationship has too many members.
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }
/// The code 1600: a delete rule denies the deletion while the relationship has members.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }
/// The code 1610: a number is above its maximum.
public var NSValidationNumberTooLargeError: Int { 1610 }
/// The code 1620: a number is below its minimum.
public var NSValidationNumberTooSmallError: Int { 1620 }
/// The code 1630: a date is after its maximum.
public var NSValidationDateTooLateError: Int { 1630 }
/// The code 1640: a date is before its minimum.
public var NSValidationDateTooSoonError: Int { 1640 }
/// The code 1650: a value is not a date.
public var NSValidationInvalidDateError: Int { 1650 }
/// The code 1660: a string is longer than its maximum.
public var NSValidationStringTooLongError: Int { 1660 }
/// The code 1670: a string is shorter than its minimum.
public var NSValidationStringTooShortError: Int { 1670 }
/// The code 1680: a string does not match its pattern.
public var NSValidationStringPatternMatchingError: Int { 1680 }
/// The code 132000: a context could not be locked. Never thrown here.
public var NSManagedObjectContextLockingError: Int { 132_000 }
/// The code 132010: a coordinator could not be locked. Never thrown here.
public var NSPersistentStoreCoordinatorLockingError: Int { 132_010 }
/// The code 133000: the row of an object does not exist.
public var NSManagedObjectReferentialIntegrityError: Int { 133_000 }
/// The code 133010: related objects are in different stores.
public var NSManagedObjectExternalRelationshipError: Int { 133_010 }
/// The code 133020: a merge policy did not resolve conflicts with concurrent changes.
public var NSManagedObjectMergeError: Int { 133_020 }
/// The code 133021: a merge policy did not resolve conflicts of uniqueness constraints.
public var NSManagedObjectConstraintMergeError: Int { 133_021 }
/// The code 134000: the type of store has no registered class.
public var NSPersistentStoreInvalidTypeError: Int { 134_000 }
/// The code 134010: the file is a store of another type.
public var NSPersistentStoreTypeMismatchError: Int { 134_010 }
/// The code 134020: the store and the model do not fit, or the model is invalid.
public var NSPersistentStoreIncompatibleSchemaError: Int { 134_020 }
/// The code 134030: a save failed.
public var NSPersistentStoreSaveError: Int { 134_030 }
/// The code 134040: some stores were saved before another one failed.
public var NSPersistentStoreIncompleteSaveError: Int { 134_040 }
/// The code 134050: a save met conflicts.
public var NSPersistentStoreSaveConflictsError: Int { 134_050 }
/// The code 134060: a failure without a more specific code.
public var NSCoreDataError: Int { 134_060 }
/// The code 134070: an operation on a store failed.
public var NSPersistentStoreOperationError: Int { 134_070 }
/// The code 134080: a store could not be opened.
public var NSPersistentStoreOpenError: Int { 134_080 }
/// The code 134090: another process has locked the file for longer than the time-out.
public var NSPersistentStoreTimeoutError: Int { 134_090 }
/// The code 134091: the store does not execute requests of that type.
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134_091 }
/// The code 134100: the store was made with another version of the model.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134_100 }
/// The code 134110: a migration failed.
public var NSMigrationError: Int { 134_110 }
/// The code 134111: a migration violates a uniqueness constraint.
public var NSMigrationConstraintViolationError: Int { 134_111 }
/// The code 134120: a migration was cancelled.
public var NSMigrationCancelledError: Int { 134_120 }
/// The code 134130: the model that a store was made with is missing.
public var NSMigrationMissingSourceModelError: Int { 134_130 }
/// The code 134140: no mapping model fits the store and the model.
public var NSMigrationMissingMappingModelError: Int { 134_140 }
/// The code 134150: a migration cannot read its source.
public var NSMigrationManagerSourceStoreError: Int { 134_150 }
/// The code 134160: a migration cannot write its destination.
public var NSMigrationManagerDestinationStoreError: Int { 134_160 }
/// The code 134170: a migration policy failed.
public var NSEntityMigrationPolicyError: Int { 134_170 }
/// The code 134504: a model that a migration stage names is missing.
public var NSModelReferenceNotFoundError: Int { 134_504 }
/// The code 134505: a staged migration was made by another version of the framework.
public var NSStagedMigrationFrameworkVersionMismatchError: Int { 134_505 }
/// The code 134506: a staged migration would lead to an older model.
public var NSStagedMigrationBackwardMigrationError: Int { 134_506 }
/// The code 134190: no mapping can be inferred between two models.
public var NSInferredMappingModelError: Int { 134_190 }
/// The code 134301: the history that follows a token was deleted.
public var NSPersistentHistoryTokenExpiredError: Int { 134_301 }
/// The code 134180: SQLite reported an error; ``NSSQLiteErrorDomain`` has its code.
public var NSSQLiteError: Int { 134_180 }
/// The code 1551: values violate a uniqueness constraint.
public var NSManagedObjectConstraintValidationError: Int { 1551 }
/// The code 1690: a value is not a valid URI.
public var NSValidationInvalidURIError: Int { 1690 }
/// The code 134200: an external record could not be imported. Never thrown here: external records are absent.
public var NSExternalRecordImportError: Int { 134_200 }

/// The domain of SQLite's codes, and the user-info key of such a code.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
