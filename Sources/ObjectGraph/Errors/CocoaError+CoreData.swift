// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
package import SQLiteStore

/// Keys of the user info of Core Data's errors.
///
/// Source: developer.apple.com/documentation/coredata/error_codes
public let NSDetailedErrorsKey = "NSDetailedErrors"
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
public let NSValidationValueErrorKey = "NSValidationErrorValue"
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"

// Foundation on Linux has no Core Data codes; the numbers are those of Apple's headers.
extension CocoaError.Code {
    public static var managedObjectValidation: Self { Self(rawValue: 1550) }
    public static var validationMultipleErrors: Self { Self(rawValue: 1560) }
    public static var validationMissingMandatoryProperty: Self { Self(rawValue: 1570) }
    public static var validationRelationshipLacksMinimumCount: Self { Self(rawValue: 1580) }
    public static var validationRelationshipExceedsMaximumCount: Self { Self(rawValue: 1590) }
    public static var validationRelationshipDeniedDelete: Self { Self(rawValue: 1600) }
    public static var validationNumberTooLarge: Self { Self(rawValue: 1610) }
    public static var validationNumberTooSmall: Self { Self(rawValue: 1620) }
    public static var validationDateTooLate: Self { Self(rawValue: 1630) }
    public static var validationDateTooSoon: Self { Self(rawValue: 1640) }
    public static var validationInvalidDate: Self { Self(rawValue: 1650) }
    public static var validationStringTooLong: Self { Self(rawValue: 1660) }
    public static var validationStringTooShort: Self { Self(rawValue: 1670) }
    public static var validationStringPatternMatching: Self { Self(rawValue: 1680) }
    public static var managedObjectContextLocking: Self { Self(rawValue: 132_000) }
    public static var persistentStoreCoordinatorLocking: Self { Self(rawValue: 132_010) }
    public static var managedObjectReferentialIntegrity: Self { Self(rawValue: 133_000) }
    public static var managedObjectExternalRelationship: Self { Self(rawValue: 133_010) }
    public static var managedObjectMerge: Self { Self(rawValue: 133_020) }
    public static var managedObjectConstraintMerge: Self { Self(rawValue: 133_021) }
    public static var persistentStoreInvalidType: Self { Self(rawValue: 134_000) }
    public static var persistentStoreTypeMismatch: Self { Self(rawValue: 134_010) }
    public static var persistentStoreIncompatibleSchema: Self { Self(rawValue: 134_020) }
    public static var persistentStoreSave: Self { Self(rawValue: 134_030) }
    public static var persistentStoreIncompleteSave: Self { Self(rawValue: 134_040) }
    public static var persistentStoreSaveConflicts: Self { Self(rawValue: 134_050) }
    public static var coreData: Self { Self(rawValue: 134_060) }
    public static var persistentStoreOperation: Self { Self(rawValue: 134_070) }
    public static var persistentStoreOpen: Self { Self(rawValue: 134_080) }
    public static var persistentStoreTimeout: Self { Self(rawValue: 134_090) }
    public static var persistentStoreUnsupportedRequestType: Self { Self(rawValue: 134_091) }
    public static var persistentStoreIncompatibleVersionHash: Self { Self(rawValue: 134_100) }
    public static var migration: Self { Self(rawValue: 134_110) }
    public static var migrationConstraintViolation: Self { Self(rawValue: 134_111) }
    public static var migrationCancelled: Self { Self(rawValue: 134_120) }
    public static var migrationMissingSourceModel: Self { Self(rawValue: 134_130) }
    public static var migrationMissingMappingModel: Self { Self(rawValue: 134_140) }
    public static var migrationManagerSourceStore: Self { Self(rawValue: 134_150) }
    public static var migrationManagerDestinationStore: Self { Self(rawValue: 134_160) }
    public static var entityMigrationPolicy: Self { Self(rawValue: 134_170) }
    public static var inferredMappingModel: Self { Self(rawValue: 134_190) }
    public static var persistentHistoryTokenExpired: Self { Self(rawValue: 134_301) }
    public static var sqlite: Self { Self(rawValue: 134_180) }
    /// Declared for code that handles it. Nothing here writes external records.
    public static var externalRecordImport: Self { Self(rawValue: 134_200) }
    // Apple has constants for these, and no names in Swift.
    static var modelReferenceNotFound: Self { Self(rawValue: 134_504) }
    static var stagedMigrationFrameworkVersionMismatch: Self { Self(rawValue: 134_505) }
    static var stagedMigrationBackwardMigration: Self { Self(rawValue: 134_506) }
}

extension CocoaError {
    /// An error whose `localizedDescription` is one sentence that says what happened and what to do.
    package init(_ code: CocoaError.Code, sentence: String, userInfo: [String: Any] = [:]) {
        self.init(code, userInfo: userInfo.merging([NSLocalizedDescriptionKey: sentence]) { $1 })
    }

    /// The only place where a store's error becomes what apps catch.
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
        let what = "\(error.what)"
        let detail = error.detail.isEmpty ? "" : ": \(error.detail)"
        let advice = Self.advice(error.code).map { "; \($0)" } ?? ""
        let sentence = "\(what.prefix(1).uppercased())\(what.dropFirst())\(detail)\(advice)."
        self.init(code, sentence: sentence, userInfo: Self.userInfo(error.obstacles))
    }

    /// The first of what stands in the way, under the keys that Apple's errors of migration have.
    package static func userInfo(_ obstacles: [ModelDifference.Change]) -> [String: Any] {
        guard let first = obstacles.first else { return [:] }
        let names = first.subject.split(separator: ".", maxSplits: 1).map(String.init)
        var userInfo: [String: Any] = ["entity": names[0], "reason": [first.what, first.obstacle].compactMap(\.self).joined(separator: ": ")]
        if names.count > 1 { userInfo["property"] = names[1] }
        return userInfo
    }

    /// What whoever reads the sentence can do.
    private static func advice(_ code: StoreError.Code) -> String? {
        switch code {
        case .busy: "try again when the other process is done"
        case .corrupt: "restore the file from a backup, or move it away to begin anew"
        case .diskFull: "free some space and try again"
        case .incompatibleModel: "open it with the model it was made with, or with options that migrate it and infer how"
        case .migration: "change the rows with the old model, or migrate with a mapping model or in stages"
        case .noMapping: "let the mapping be inferred, or migrate with NSMigrationManager"
        case .noSourceModel: "add the version of the model that the store was made with to the program"
        case .modelOfOthers: "keep what was there, and add what is new beside it"
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
