// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
package import SQLiteStore

/// The user-info key of the errors that a 1560 error combines.
///
/// Source: developer.apple.com/documentation/coredata/error_codes
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// The user-info key of the invalid object.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// The user-info key of the name of the invalid property.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
/// The user-info key of the predicate that the value does not match.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// The user-info key of the invalid value.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// The user-info key of the stores that an error concerns.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// The user-info key of the objects that an error concerns.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// The user-info key of the ``NSMergeConflict``s of a failed save.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"

// Foundation on Linux has no Core Data codes; the numbers are those of Apple's headers.
extension CocoaError.Code {
    /// 1550: an object is invalid.
    public static var managedObjectValidation: Self { Self(rawValue: 1550) }
    /// 1560: several objects or properties are invalid; ``NSDetailedErrorsKey`` has the errors.
    public static var validationMultipleErrors: Self { Self(rawValue: 1560) }
    /// 1570: a required property is nil.
    public static var validationMissingMandatoryProperty: Self { Self(rawValue: 1570) }
    /// 1580: a relationship has too few members.
    public static var validationRelationshipLacksMinimumCount: Self { Self(rawValue: 1580) }
    /// 1590: a relationship has too many members.
    public static var validationRelationshipExceedsMaximumCount: Self { Self(rawValue: 1590) }
    /// 1600: a delete rule denies the deletion while the relationship has members.
    public static var validationRelationshipDeniedDelete: Self { Self(rawValue: 1600) }
    /// 1610: a number is above its maximum.
    public static var validationNumberTooLarge: Self { Self(rawValue: 1610) }
    /// 1620: a number is below its minimum.
    public static var validationNumberTooSmall: Self { Self(rawValue: 1620) }
    /// 1630: a date is after its maximum.
    public static var validationDateTooLate: Self { Self(rawValue: 1630) }
    /// 1640: a date is before its minimum.
    public static var validationDateTooSoon: Self { Self(rawValue: 1640) }
    /// 1650: a value is not a date.
    public static var validationInvalidDate: Self { Self(rawValue: 1650) }
    /// 1660: a string is longer than its maximum.
    public static var validationStringTooLong: Self { Self(rawValue: 1660) }
    /// 1670: a string is shorter than its minimum.
    public static var validationStringTooShort: Self { Self(rawValue: 1670) }
    /// 1680: a string does not match its pattern.
    public static var validationStringPatternMatching: Self { Self(rawValue: 1680) }
    /// 132000: a context could not be locked. Never thrown here.
    public static var managedObjectContextLocking: Self { Self(rawValue: 132_000) }
    /// 132010: a coordinator could not be locked. Never thrown here.
    public static var persistentStoreCoordinatorLocking: Self { Self(rawValue: 132_010) }
    /// 133000: the row of an object does not exist.
    public static var managedObjectReferentialIntegrity: Self { Self(rawValue: 133_000) }
    /// 133010: related objects are in different stores.
    public static var managedObjectExternalRelationship: Self { Self(rawValue: 133_010) }
    /// 133020: a merge policy did not resolve conflicts with concurrent changes.
    public static var managedObjectMerge: Self { Self(rawValue: 133_020) }
    /// 133021: a merge policy did not resolve conflicts of uniqueness constraints.
    public static var managedObjectConstraintMerge: Self { Self(rawValue: 133_021) }
    /// 134000: the type of store has no registered class.
    public static var persistentStoreInvalidType: Self { Self(rawValue: 134_000) }
    /// 134010: the file is a store of another type.
    public static var persistentStoreTypeMismatch: Self { Self(rawValue: 134_010) }
    /// 134020: the store and the model do not fit, or the model is invalid.
    public static var persistentStoreIncompatibleSchema: Self { Self(rawValue: 134_020) }
    /// 134030: a save failed.
    public static var persistentStoreSave: Self { Self(rawValue: 134_030) }
    /// 134040: some stores were saved before another one failed.
    public static var persistentStoreIncompleteSave: Self { Self(rawValue: 134_040) }
    /// 134050: a save met conflicts.
    public static var persistentStoreSaveConflicts: Self { Self(rawValue: 134_050) }
    /// 134060: a failure without a more specific code.
    public static var coreData: Self { Self(rawValue: 134_060) }
    /// 134070: an operation on a store failed.
    public static var persistentStoreOperation: Self { Self(rawValue: 134_070) }
    /// 134080: a store could not be opened.
    public static var persistentStoreOpen: Self { Self(rawValue: 134_080) }
    /// 134090: another process has locked the file for longer than the time-out.
    public static var persistentStoreTimeout: Self { Self(rawValue: 134_090) }
    /// 134091: the store does not execute requests of that type.
    public static var persistentStoreUnsupportedRequestType: Self { Self(rawValue: 134_091) }
    /// 134100: the store was made with another version of the model.
    public static var persistentStoreIncompatibleVersionHash: Self { Self(rawValue: 134_100) }
    /// 134110: a migration failed.
    public static var migration: Self { Self(rawValue: 134_110) }
    /// 134111: a migration violates a uniqueness constraint.
    public static var migrationConstraintViolation: Self { Self(rawValue: 134_111) }
    /// 134120: a migration was cancelled.
    public static var migrationCancelled: Self { Self(rawValue: 134_120) }
    /// 134130: the model that a store was made with is missing.
    public static var migrationMissingSourceModel: Self { Self(rawValue: 134_130) }
    /// 134140: no mapping model fits the store and the model.
    public static var migrationMissingMappingModel: Self { Self(rawValue: 134_140) }
    /// 134150: a migration cannot read its source.
    public static var migrationManagerSourceStore: Self { Self(rawValue: 134_150) }
    /// 134160: a migration cannot write its destination.
    public static var migrationManagerDestinationStore: Self { Self(rawValue: 134_160) }
    /// 134170: a migration policy failed.
    public static var entityMigrationPolicy: Self { Self(rawValue: 134_170) }
    /// 134190: no mapping can be inferred between two models.
    public static var inferredMappingModel: Self { Self(rawValue: 134_190) }
    /// 134301: the history that follows a token was deleted.
    public static var persistentHistoryTokenExpired: Self { Self(rawValue: 134_301) }
    /// 134180: SQLite reported an error; ``NSSQLiteErrorDomain`` has its code.
    public static var sqlite: Self { Self(rawValue: 134_180) }
    /// 134200: an external record could not be imported. Never thrown here: external records are absent.
    public static var externalRecordImport: Self { Self(rawValue: 134_200) }
    // Apple has constants for these, without names in Swift.
    static var modelReferenceNotFound: Self { Self(rawValue: 134_504) }
    static var stagedMigrationFrameworkVersionMismatch: Self { Self(rawValue: 134_505) }
    static var stagedMigrationBackwardMigration: Self { Self(rawValue: 134_506) }
}

extension CocoaError {
    /// Creates an error with a `localizedDescription` of one sentence: the failure and the next step.
    package init(_ code: CocoaError.Code, sentence: String, userInfo: [String: Any] = [:]) {
        self.init(code, userInfo: userInfo.merging([NSLocalizedDescriptionKey: sentence]) { $1 })
    }

    /// Translates a store's error into the error that apps catch. No other code does.
    package init(_ error: StoreError) {
        let code: CocoaError.Code =
            switch error.code {
            case .busy: .persistentStoreTimeout
            case .conflict: .managedObjectMerge
            case .constraint: .managedObjectConstraintMerge
            case .corrupt: .fileReadCorruptFile
            case .denied: .validationRelationshipDeniedDelete
            case .diskFull: .fileWriteOutOfSpace
            case .incompatibleModel, .newerFormat: .persistentStoreIncompatibleVersionHash
            case .migration: .migration
            case .noMapping: .migrationMissingMappingModel
            case .noSourceModel: .migrationMissingSourceModel
            case .notInferable, .modelOfOthers: .inferredMappingModel
            case .notFound: .persistentStoreOpen
            case .notPermitted: .fileWriteNoPermission
            case .unsupportedPredicate, .other: .persistentStoreOperation
            }
        let summary = "\(error.summary)"
        let detail = error.detail.isEmpty ? "" : ": \(error.detail)"
        let advice = Self.advice(error.code).map { "; \($0)" } ?? ""
        let sentence = "\(summary.prefix(1).uppercased())\(summary.dropFirst())\(detail)\(advice)."
        self.init(code, sentence: sentence, userInfo: Self.userInfo(error.obstacles))
    }

    /// The first obstacle to a migration, under the keys of Apple's migration errors.
    package static func userInfo(_ obstacles: [ModelDifference.Change]) -> [String: Any] {
        guard let first = obstacles.first else { return [:] }
        let names = first.subject.split(separator: ".", maxSplits: 1).map(String.init)
        var userInfo: [String: Any] = [
            "entity": names[0], "reason": [first.summary, first.obstacle].compactMap(\.self).joined(separator: ": "),
        ]
        if names.count > 1 { userInfo["property"] = names[1] }
        return userInfo
    }

    /// The next step, as part of the error's sentence.
    private static func advice(_ code: StoreError.Code) -> String? {
        switch code {
        case .busy: "retry when the other process is done"
        case .corrupt: "restore the file from a backup, or move it away to start with an empty store"
        case .diskFull: "free some space and retry"
        case .incompatibleModel: "open it with the model it was made with, or with options that migrate it and infer how"
        case .migration: "change the rows with the old model, or migrate with a mapping model or in stages"
        case .noMapping: "let the mapping be inferred, or migrate with NSMigrationManager"
        case .noSourceModel: "add the version of the model that the store was made with to the program"
        case .modelOfOthers:
            "give a renamed part its first name as renaming identifier, list a retired property in syncRetired, or keep the former properties"
        case .notInferable: "migrate with NSMigrationManager and a mapping model, or in stages, or change the model"
        case .newerFormat: "open it with the newer release that wrote it"
        case .notFound: "check the address of the store"
        case .notPermitted: "choose a folder that can be written to"
        case .unsupportedPredicate: "rewrite the predicate, or filter the fetched objects"
        case .denied: "delete the members first"
        case .conflict, .constraint, .other: nil
        }
    }
}
