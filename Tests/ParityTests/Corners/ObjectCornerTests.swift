// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// The life cycle of objects from insertion to deletion.
@Suite struct ObjectCornerTests {
    /// Returns the life-cycle callbacks of employees during the work of a context.
    private func logged(_ context: NSManagedObjectContext, _ work: () throws -> Void) throws -> [String] {
        let log = CallbackLog()
        context.performAndWait { context.userInfo[Employee.logKey] = log }
        try context.performAndWait(work)
        return log.names
    }

    @Test func awakeFromInsertSeesDefaultsAndItsPrimitiveValuesAreSaved() throws {
        let container = try Company.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let person = Employee(context: context)
            #expect(person.value(forKey: "name") as? String == "nobody")
            #expect(person.value(forKey: "hired") as? Date == Date(timeIntervalSinceReferenceDate: 5))
            #expect(person.changedValues().keys.contains("hired") == false || person.isInserted)
            try context.save()
            context.reset()
            let again = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee"))[0]
            #expect(again.value(forKey: "hired") as? Date == Date(timeIntervalSinceReferenceDate: 5))
            #expect((again.value(forKey: "salary") as? NSDecimalNumber)?.intValue == 100)
        }
    }

    @Test func transientValuesAreChangesAndNotPersistentOnes() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let person = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee"))[0]
            person.setValue("shown", forKey: "shown")
            #expect(person.hasChanges)
            #expect(!person.hasPersistentChangedValues)
            // Transient properties are not listed.
            #expect(person.changedValues().isEmpty)
            try context.save()
            #expect(person.value(forKey: "shown") as? String == "shown")
            context.refresh(person, mergeChanges: false)
            #expect(person.value(forKey: "shown") == nil)
        }
    }

    @Test func settingAnEqualValueMarksTheObject() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let person = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee"))[0]
            person.setValue(person.value(forKey: "age"), forKey: "age")
            #expect(person.hasChanges)
            #expect(!person.hasPersistentChangedValues)
            #expect(context.updatedObjects.contains(person))
        }
    }

    @Test func committedValuesAreThoseOfTheLastSave() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.predicate = NSPredicate(format: "name == 'Ben'")
            let ben = try context.fetch(request)[0]
            ben.setValue(44, forKey: "age")
            ben.setValue(nil, forKey: "department")
            #expect(integer(ben.committedValues(forKeys: ["age"])["age"]) == 25)
            #expect(
                (ben.committedValues(forKeys: ["department"])["department"] as? NSManagedObject)?.value(forKey: "name") as? String == "Labs"
            )
            let changed = ben.changedValues()
            #expect(Set(changed.keys) == ["age", "department"])
            #expect(changed["department"] is NSNull)
            context.processPendingChanges()
            #expect(ben.changedValuesForCurrentEvent().isEmpty)
            ben.setValue(45, forKey: "age")
            #expect(integer(ben.changedValuesForCurrentEvent()["age"]) == 44)
        }
    }

    @Test func anInsertedAndDeletedObjectIsNotSaved() throws {
        let context = try Company.filled()
        let log = try logged(context) {
            let person = Employee(context: context)
            context.delete(person)
            try context.save()
            #expect(person.managedObjectContext == nil)
        }
        #expect(log == ["insert", "prepare"])
    }

    @Test func lifeCycleMethodsRunInOrder() throws {
        let context = try Company.container().newBackgroundContext()
        let log = try logged(context) {
            let person = Employee(context: context)
            try context.save()
            context.delete(person)
            try context.save()
            #expect(!person.isDeleted)
            #expect(person.managedObjectContext == nil)
        }
        #expect(log == ["insert", "willSave", "validate", "didSave", "prepare", "willSave", "validate deletion", "didSave deleted"])
    }

    @Test func aRefetchedFaultAwakesOnce() throws {
        let container = try Company.container()
        try Company.fill(container.newBackgroundContext())
        let context = container.newBackgroundContext()
        let log = try logged(context) {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.fetchLimit = 1
            let person = try context.fetch(request)[0]
            #expect(person.isFault)
            _ = person.value(forKey: "age")
            _ = person.value(forKey: "name")
            context.refresh(person, mergeChanges: false)
            _ = person.value(forKey: "name")
        }
        #expect(log == ["fetch", "fetch"])
    }

    @Test func mutableSetsKeepBothSides() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Project>(entityName: "Project")
            request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
            let projects = try context.fetch(request)
            let members = projects[0].mutableSetValue(forKey: "members")
            let count = members.count
            let person = try #require(members.anyObject() as? Employee)
            members.remove(person)
            #expect(members.count == count - 1)
            #expect((person.value(forKey: "projects") as? Set<NSManagedObject>)?.contains(projects[0]) == false)
            person.mutableSetValue(forKey: "projects").add(projects[0])
            #expect(members.contains(person))
            members.removeAllObjects()
            #expect(projects[0].objectIDs(forRelationshipNamed: "members").isEmpty || context.hasChanges)
            try context.save()
            #expect(try context.names("Employee", "ANY projects.name == 'Apollo'") == [])
        }
    }

    @Test func movingAMemberRemovesItFromItsFormerOwner() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Department>(entityName: "Department")
            request.sortDescriptors = [NSSortDescriptor(key: "floor", ascending: true)]
            let departments = try context.fetch(request)
            let moved = try #require((departments[0].value(forKey: "employees") as? Set<NSManagedObject>)?.first)
            departments[2].mutableSetValue(forKey: "employees").add(moved)
            #expect(moved.value(forKey: "department") as? NSManagedObject === departments[2])
            #expect((departments[0].value(forKey: "employees") as? Set<NSManagedObject>)?.contains(moved) == false)
            #expect(context.updatedObjects == [moved, departments[0], departments[2]])
        }
    }

    @Test func undoRestoresACascadeAndRedoRepeatsIt() throws {
        let context = try Library.context()
        try context.performAndWait {
            let author = Author(context: context)
            for _ in 0..<3 { Book(context: context).setValue(author, forKey: "author") }
            try context.save()
            context.undoManager = UndoManager()
            context.delete(author)
            context.processPendingChanges()
            #expect(context.deletedObjects.count == 4)
            context.undo()
            #expect(context.deletedObjects.isEmpty)
            #expect((author.value(forKey: "books") as? NSSet)?.count == 3)
            context.redo()
            #expect(context.deletedObjects.count == 4)
            try context.save()
            #expect(try context.count(for: NSFetchRequest<Book>(entityName: "Book")) == 0)
        }
    }

    @Test func aChildHasItsOwnObjectsAndSavesInTwoSteps() throws {
        let container = try Company.container()
        let parent = container.newBackgroundContext()
        try Company.fill(parent)
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = parent
        let id = try child.performAndWait {
            let person = Employee(context: child)
            person.setValue("Kim", forKey: "name")
            try child.obtainPermanentIDs(for: [person])
            try child.save()
            #expect(!child.hasChanges)
            return person.objectID
        }
        #expect(!id.isTemporaryID)
        try parent.performAndWait {
            #expect(parent.hasChanges)
            #expect(parent.insertedObjects.count == 1)
            #expect(try parent.existingObject(with: id).value(forKey: "name") as? String == "Kim")
            try parent.save()
        }
    }

    @Test func aContextHasOneInstancePerRow() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let one = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee"))
            let two = try context.fetch(NSFetchRequest<Person>(entityName: "Person"))
            #expect(Set(one) == Set(two.compactMap { $0 as? Employee }))
            let uri = one[0].objectID.uriRepresentation()
            #expect(uri.scheme == "x-coredata")
            #expect(uri.lastPathComponent.hasPrefix("p"))
            let id = context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: uri)
            #expect(id == one[0].objectID)
            #expect(["Employee", "Manager"].contains(uri.pathComponents[1]))
        }
    }

    @Test func rollbackRestoresRelationshipsAndInsertions() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Department>(entityName: "Department")
            request.predicate = NSPredicate(format: "name == 'Sales'")
            let sales = try context.fetch(request)[0]
            let person = Employee(context: context)
            person.setValue(sales, forKey: "department")
            #expect((sales.value(forKey: "employees") as? NSSet)?.count == 5)
            context.rollback()
            #expect((sales.value(forKey: "employees") as? NSSet)?.count == 4)
            #expect(person.managedObjectContext == nil)
            #expect(!context.hasChanges)
        }
    }

    @Test func descriptionsDoNotFireFaults() throws {
        let container = try Company.container()
        try Company.fill(container.newBackgroundContext())
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let person = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee"))[0]
            #expect(person.isFault)
            #expect(person.description.contains("fault"))
            #expect(person.isFault)
            _ = person.hash
            _ = person.objectID
            #expect(person.isFault)
            person.willAccessValue(forKey: nil)
            #expect(!person.isFault)
        }
    }
}
