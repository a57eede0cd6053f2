// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Errors of validation and their user info, as apps show them.
@Suite struct ValidationCornerTests {
    private func error(_ work: () throws -> Void) -> NSError? {
        do { try work() } catch { return error as NSError }
        return nil
    }

    @Test func aSingleViolationIsReportedWithItsDetails() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let person = Employee(context: context)
            person.setValue("x", forKey: "name")
            let failure = try #require(error { try context.save() })
            #expect(failure.domain == NSCocoaErrorDomain)
            #expect(failure.code == NSManagedObjectValidationError || failure.code == NSValidationStringTooShortError)
            #expect(failure.userInfo[NSValidationKeyErrorKey] as? String == "name")
            #expect(failure.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === person)
            #expect(failure.userInfo[NSValidationValueErrorKey] as? String == "x")
            #expect(failure.userInfo[NSValidationPredicateErrorKey] != nil)
            #expect(context.hasChanges)
            person.setValue("xx", forKey: "name")
            try context.save()
        }
    }

    @Test func severalViolationsAreListedAsDetailedErrors() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let person = Employee(context: context)
            person.setValue(nil, forKey: "name")
            person.setValue(7, forKey: "age")
            let failure = try #require(error { try context.save() })
            #expect(failure.code == NSValidationMultipleErrorsError)
            let details = try #require(failure.userInfo[NSDetailedErrorsKey] as? [NSError])
            #expect(Set(details.compactMap { $0.userInfo[NSValidationKeyErrorKey] as? String }) == ["name", "age"])
            #expect(details.contains { $0.code == NSValidationMissingMandatoryPropertyError })
            let typed = CocoaError(_nsError: failure)
            #expect(typed.code == .validationMultipleErrors)
        }
    }

    @Test func aDeniedDeletionNamesTheRelationship() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Department>(entityName: "Department")
            request.predicate = NSPredicate(format: "name == 'Labs'")
            let labs = try context.fetch(request)[0]
            context.delete(labs)
            let failure = try #require(error { try context.save() })
            #expect(failure.code == NSValidationRelationshipDeniedDeleteError)
            #expect(failure.userInfo[NSValidationKeyErrorKey] as? String == "employees")
            context.rollback()
            #expect(!context.hasChanges)
            // Members that are deleted in the same save do not deny the deletion.
            for member in (labs.value(forKey: "employees") as? Set<NSManagedObject>) ?? [] { context.delete(member) }
            context.delete(labs)
            try context.save()
            #expect(try context.names("Department", "TRUEPREDICATE") == ["Sales", "Études"])
        }
    }

    @Test func validateValueChecksOneProperty() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let person = Employee(context: context)
            var young: AnyObject? = NSNumber(value: 3)
            let failure = try #require(error { try person.validateValue(&young, forKey: "age") })
            #expect(failure.userInfo[NSValidationKeyErrorKey] as? String == "age")
            var good: AnyObject? = NSNumber(value: 33)
            #expect(error { try person.validateValue(&good, forKey: "age") } == nil)
            #expect(error { try person.validateForUpdate() } == nil)
        }
    }

    @Test func validationPredicatesAreReadFromTheDescription() throws {
        let age = try #require(Company.model.entitiesByName["Employee"]?.attributesByName["age"])
        #expect(age.validationPredicates.map(\.description) == ["SELF >= 14", "SELF <= 99"])
        #expect(age.validationWarnings.compactMap { $0 as? String } == ["young", "old"])
        #expect(age.defaultValue as? Int == 30)
        #expect(Company.model.entitiesByName["Manager"]?.superentity?.superentity?.name == "Person")
        #expect(Company.model.entitiesByName["Manager"]?.propertiesByName["name"] != nil)
        #expect(Company.model.entitiesByName["Person"]?.subentitiesByName.keys.sorted() == ["Employee"])
    }

    @Test func uniquenessConflictsAreMergedByPolicy() throws {
        let container = try Company.container()
        let context = container.newBackgroundContext()
        try Company.fill(context)
        try context.performAndWait {
            let twin = Employee(context: context)
            twin.setValue("Twin", forKey: "name")
            twin.setValue("B1", forKey: "badge")
            let failure = try #require(error { try context.save() })
            #expect(failure.code == NSManagedObjectConstraintMergeError)
            let conflicts = try #require(failure.userInfo["conflictList"] as? [NSConstraintConflict])
            #expect(conflicts.first?.constraint == ["badge"])
            #expect(conflicts.first?.conflictingObjects.first === twin)
            #expect(conflicts.first?.databaseObject?.value(forKey: "name") as? String == "Ben")
            context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
            try context.save()
            #expect(try context.names("Employee", "badge == 'B1'") == ["Twin"])
            #expect(try context.count(for: NSFetchRequest<Employee>(entityName: "Employee")) == 9)
            let other = Employee(context: context)
            other.setValue("Other", forKey: "name")
            other.setValue("B1", forKey: "badge")
            context.mergePolicy = NSMergeByPropertyStoreTrumpMergePolicy
            try context.save()
            #expect(try context.names("Employee", "badge == 'B1'") == ["Twin"])
        }
    }

    @Test func aUniquenessConstraintIncludesSubentities() throws {
        let context = try Company.filled()
        context.performAndWait {
            let twin = Manager(context: context)
            twin.setValue("Twin", forKey: "name")
            twin.setValue("B1", forKey: "badge")
            #expect(error { try context.save() }?.code == NSManagedObjectConstraintMergeError)
        }
    }

    @Test func nilValuesDoNotViolateAUniquenessConstraint() throws {
        let context = try Company.filled()
        try context.performAndWait {
            for name in ["One", "Two"] { Employee(context: context).setValue(name, forKey: "name") }
            try context.save()
            #expect(try context.names("Employee", "badge == nil") == ["One", "Two"])
        }
    }

    @Test func anErrorHasADescriptionAndUserInfo() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let person = Employee(context: context)
            person.setValue(nil, forKey: "name")
            let failure = error { try context.save() }
            let error = try #require(failure as? CocoaError ?? failure.map { CocoaError(_nsError: $0) })
            #expect(error.code == .validationMissingMandatoryProperty)
            #expect(error.validationKey == "name")
            #expect(error.validationObject as? NSManagedObject === person)
            #expect(error.isValidationError)
            #expect(error.localizedDescription.contains("name"))
        }
    }

    @Test func aMergeConflictHasSnapshotsAndVersions() throws {
        let container = try Company.container()
        let one = container.newBackgroundContext()
        let other = container.newBackgroundContext()
        try Company.fill(one)
        let id = try one.performAndWait {
            let ben = try one.fetch(NSFetchRequest<Employee>(entityName: "Employee")).first { $0.value(forKey: "name") as? String == "Ben" }
            ben?.setValue(26, forKey: "age")
            return try #require(ben?.objectID)
        }
        try other.performAndWait {
            let ben = try other.existingObject(with: id)
            ben.setValue(27, forKey: "age")
            ben.setValue("Benno", forKey: "name")
            try other.save()
        }
        try one.performAndWait {
            let failure = try #require(error { try one.save() })
            #expect(failure.code == NSManagedObjectMergeError)
            let conflict = try #require((failure.userInfo["conflictList"] as? [NSMergeConflict])?.first)
            #expect(conflict.sourceObject.objectID == id)
            #expect(integer(conflict.objectSnapshot?["age"]) == 26 || integer(conflict.objectSnapshot?["age"]) == 25)
            #expect(conflict.newVersionNumber > conflict.oldVersionNumber)
            let stored = conflict.cachedSnapshot ?? conflict.persistedSnapshot
            #expect(stored?["name"] as? String == "Benno")
            one.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            try one.save()
            let ben = one.object(with: id)
            #expect(integer(ben.value(forKey: "age")) == 26)
            #expect(ben.value(forKey: "name") as? String == "Benno")
        }
    }
}
