// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Numbers and user info of errors.
///
/// Source: developer.apple.com/documentation/foundation/cocoaerror and its neighbours.
@Suite struct ErrorCodeTests {
    @Test(arguments: [
        (CocoaError.Code.managedObjectValidation, 1550), (.validationMultipleErrors, 1560), (.validationMissingMandatoryProperty, 1570),
        (.validationRelationshipLacksMinimumCount, 1580), (.validationRelationshipExceedsMaximumCount, 1590),
        (.validationRelationshipDeniedDelete, 1600), (.validationNumberTooLarge, 1610), (.validationNumberTooSmall, 1620),
        (.validationDateTooLate, 1630), (.validationDateTooSoon, 1640), (.validationInvalidDate, 1650), (.validationStringTooLong, 1660),
        (.validationStringTooShort, 1670), (.validationStringPatternMatching, 1680), (.managedObjectContextLocking, 132_000),
        (.persistentStoreCoordinatorLocking, 132_010), (.managedObjectReferentialIntegrity, 133_000),
        (.managedObjectExternalRelationship, 133_010), (.managedObjectMerge, 133_020), (.managedObjectConstraintMerge, 133_021),
        (.persistentStoreInvalidType, 134_000), (.persistentStoreTypeMismatch, 134_010), (.persistentStoreIncompatibleSchema, 134_020),
        (.persistentStoreSave, 134_030), (.persistentStoreIncompleteSave, 134_040), (.persistentStoreSaveConflicts, 134_050),
        (.coreData, 134_060), (.persistentStoreOperation, 134_070), (.persistentStoreOpen, 134_080), (.persistentStoreTimeout, 134_090),
        (.persistentStoreUnsupportedRequestType, 134_091), (.persistentStoreIncompatibleVersionHash, 134_100), (.migration, 134_110),
        (.migrationConstraintViolation, 134_111), (.migrationCancelled, 134_120), (.migrationMissingSourceModel, 134_130),
        (.migrationMissingMappingModel, 134_140), (.migrationManagerSourceStore, 134_150), (.migrationManagerDestinationStore, 134_160),
        (.entityMigrationPolicy, 134_170), (.sqlite, 134_180), (.inferredMappingModel, 134_190), (.persistentHistoryTokenExpired, 134_301),
    ])
    func errorCodesHaveTheirNumbers(_ code: CocoaError.Code, _ number: Int) {
        #expect(code.rawValue == number)
        let error = CocoaError(code) as NSError
        #expect(error.domain == NSCocoaErrorDomain)
        #expect(error.code == number)
    }

    @Test func errorConstantsHaveTheirNumbers() {
        #expect(NSManagedObjectValidationError == 1550)
        #expect(NSValidationMultipleErrorsError == 1560)
        #expect(NSValidationMissingMandatoryPropertyError == 1570)
        #expect(NSValidationRelationshipDeniedDeleteError == 1600)
        #expect(NSManagedObjectMergeError == 133_020)
        #expect(NSManagedObjectConstraintMergeError == 133_021)
        #expect(NSPersistentStoreIncompatibleVersionHashError == 134_100)
        #expect(NSPersistentHistoryTokenExpiredError == 134_301)
    }

    @Test func userInfoKeysHaveTheirTexts() {
        #expect(NSDetailedErrorsKey == "NSDetailedErrors")
        #expect(NSValidationObjectErrorKey == "NSValidationErrorObject")
        #expect(NSValidationKeyErrorKey == "NSValidationErrorKey")
        #expect(NSValidationPredicateErrorKey == "NSValidationErrorPredicate")
        #expect(NSValidationValueErrorKey == "NSValidationErrorValue")
        #expect(NSPersistentStoreSaveConflictsErrorKey == "conflictList")
    }

    @Test func validationErrorsCarryObjectKeyAndValue() throws {
        let context = try Library.context()
        try context.performAndWait {
            let book = Book(context: context)
            book.setValue(nil, forKey: "title")
            do {
                try context.save()
                Issue.record("a required value was nil")
            } catch let error as CocoaError {
                #expect(error.code == .validationMissingMandatoryProperty)
                #expect(error.validationObject as? NSManagedObject === book)
                #expect(error.validationKey == "title")
                #expect(error.validationValue == nil)
                #expect(!error.localizedDescription.isEmpty)
            }
        }
    }

    @Test func anErrorHasStoresAndObjectsAsProperties() {
        let object = NSObject()
        let predicate = NSPredicate(value: true)
        let error = CocoaError(
            .persistentStoreIncompleteSave,
            userInfo: [
                NSAffectedObjectsErrorKey: [object], NSAffectedStoresErrorKey: [object, object], NSValidationPredicateErrorKey: predicate,
            ])
        #expect(error.affectedObjects?.count == 1)
        #expect(error.affectedObjects?.first === object)
        #expect(error.affectedStores?.count == 2)
        #expect(error.validationPredicate === predicate)
        #expect(error.persistentStoreSaveConflicts == nil)
    }

    @Test func aMergeConflictHasItsObjectAndSnapshots() throws {
        let container = try Library.container()
        let (first, second) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try first.performAndWait {
            let author = Author(context: first)
            try first.save()
            return author.objectID
        }
        try second.performAndWait { try second.existingObject(with: id).setValue("second", forKey: "name") }
        try first.performAndWait {
            try first.existingObject(with: id).setValue("first", forKey: "name")
            try first.save()
        }
        second.performAndWait {
            #expect { try second.save() } throws: {
                let error = $0 as? CocoaError
                return error?.code == .managedObjectMerge
                    && error?.persistentStoreSaveConflicts?.map(\.sourceObject.objectID) == [id]
            }
            #expect(second.hasChanges)
        }
    }
}
