// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite("Uniqueness constraints")
struct UniquenessTests {
    private func picture(_ name: String?, _ note: String, _ context: NSManagedObjectContext, _ entity: String = "Picture")
        -> NSManagedObject
    {
        let picture = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        picture.setValue(name, forKey: "name")
        picture.setValue(note, forKey: "note")
        return picture
    }

    private func conflicts(_ body: () throws -> Void) -> (code: Int, list: [NSConstraintConflict]) {
        do {
            try body()
            return (0, [])
        } catch {
            let error = error as NSError
            return (error.code, error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict] ?? [])
        }
    }

    @Test func theErrorPolicyReportsAStoredDuplicate() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let old = picture("a", "old", context)
            try context.save()
            let new = picture("a", "new", context)
            let (code, list) = conflicts { try context.save() }
            #expect(code == 133021)
            let conflict = try #require(list.first)
            #expect(list.count == 1)
            #expect(conflict.constraint == ["name"])
            #expect(conflict.constraintValues["name"] as? String == "a")
            #expect(conflict.databaseObject == old)
            #expect(conflict.databaseSnapshot?["note"] as? String == "old")
            #expect(conflict.conflictingObjects == [new])
            #expect(conflict.conflictingSnapshots.first?["note"] as? String == "new")
            #expect(new.isInserted)
            new.setValue("b", forKey: "name")
            try context.save()
            #expect(try Gallery.pictures(context) == ["a old", "b new"])
        }
    }

    @Test func theErrorPolicyReportsUnsavedDuplicates() throws {
        let context = try Gallery.context()
        context.performAndWait {
            let one = picture("a", "one", context)
            let two = picture("a", "two", context)
            _ = picture("b", "three", context)
            let (code, list) = conflicts { try context.save() }
            #expect(code == 133021)
            #expect(list.count == 1)
            #expect(list.first?.databaseObject == nil)
            #expect(Set(list.first?.conflictingObjects ?? []) == [one, two])
        }
    }

    @Test(arguments: [
        (NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, "a new"), (.overwriteMergePolicyType, "a new"),
        (.mergeByPropertyStoreTrumpMergePolicyType, "a old"), (.rollbackMergePolicyType, "a old"),
    ])
    func mergePoliciesResolveStoredDuplicates(_ type: NSMergePolicyType, _ result: String) throws {
        let context = try Gallery.context(NSMergePolicy(merge: type))
        try context.performAndWait {
            _ = picture("a", "old", context)
            try context.save()
            _ = picture("a", "new", context)
            _ = picture("c", "other", context)
            try context.save()
            #expect(!context.hasChanges)
            #expect(try Gallery.pictures(context) == [result, "c other"])
        }
    }

    @Test(arguments: [
        NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType,
        .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType,
    ])
    func mergePoliciesKeepOneOfUnsavedDuplicates(_ type: NSMergePolicyType) throws {
        let context = try Gallery.context(NSMergePolicy(merge: type))
        try context.performAndWait {
            for note in ["same", "same", "same"] { _ = picture("a", note, context) }
            try context.save()
            #expect(try Gallery.pictures(context) == ["a same"])
            #expect(!context.hasChanges)
        }
    }

    @Test func relationshipsOfADuplicateMoveToTheRemainingRow() throws {
        let context = try Gallery.context(.mergeByPropertyObjectTrump)
        try context.performAndWait {
            _ = picture("a", "old", context)
            try context.save()
            let room = Hall.inserted("hall", context)
            let new = picture("a", "new", context)
            new.setValue(room, forKey: "room")
            try context.save()
            #expect(try Gallery.pictures(context) == ["a new"])
            #expect(room.memberNames("pictures") == ["a"])
        }
    }

    @Test func relationshipsWithoutAnInverseLeadToTheRemainingRows() throws {
        let (visit, visitor) = (NSEntityDescription(), NSEntityDescription())
        (visit.name, visitor.name) = ("Visit", "Visitor")
        for entity in [visit, visitor] {
            entity.properties = [Library.attribute("name", .stringAttributeType)]
            entity.uniquenessConstraints = [["name"]]
        }
        let relationship = NSRelationshipDescription()
        relationship.name = "visitor"
        relationship.destinationEntity = visitor
        relationship.maxCount = 1
        visit.properties += [relationship]
        let model = NSManagedObjectModel()
        model.entities = [visit, visitor]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let url = URL(fileURLWithPath: "/dev/null")
        try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
        let context = Depot.context(over: coordinator)
        context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        try context.performAndWait {
            // The second round meets the rows of the first, and exchanges the visitors.
            for visitors in [["a", "b"], ["b", "a"]] {
                for (visit, name) in zip(["1", "2"], visitors) {
                    let visitor = Depot.insert("Visitor", ["name": name], into: context)
                    Depot.insert("Visit", ["name": visit, "visitor": visitor], into: context)
                }
                try context.save()
            }
            context.refreshAllObjects()
            let visits = try context.fetch(Depot.request("Visit", nil, sort: "name"))
            let visitors = visits.map { ($0.value(forKey: "visitor") as? NSManagedObject)?.value(forKey: "name") as? String }
            #expect(visitors == ["b", "a"])
            #expect(try context.count(for: Depot.request("Visitor")) == 2)
        }
    }

    /// An import of known objects must not compare each of them with all unsaved ones.
    @Test(.timeLimit(.minutes(2))) func manyStoredDuplicatesAreMergedInOneSave() throws {
        let context = try Gallery.context(NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType))
        try context.performAndWait {
            let count = 10_000
            for note in ["old", "new"] {
                for number in 0..<count { _ = picture("\(number)", note, context) }
                try context.save()
            }
            let request = NSFetchRequest<NSManagedObject>(entityName: "Picture")
            #expect(try context.count(for: request) == count)
            request.predicate = NSPredicate(format: "note == 'new'")
            #expect(try context.count(for: request) == count)
        }
    }

    @Test func aCompoundConstraintComparesAllItsProperties() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            func make(_ name: String, _ series: String?, _ number: Int) -> NSManagedObject {
                let picture = picture(name, "", context)
                picture.setValue(series, forKey: "series")
                picture.setValue(number, forKey: "number")
                return picture
            }
            _ = make("a", "s", 1)
            _ = make("b", "s", 2)
            _ = make("c", "t", 1)
            try context.save()
            let same = make("d", "s", 2)
            let (code, list) = conflicts { try context.save() }
            #expect(code == 133021)
            #expect(list.first?.constraint == ["series", "number"])
            #expect(list.first?.constraintValues["number"] as? Int == 2)
            same.setValue(3, forKey: "number")
            try context.save()
            #expect(try Gallery.pictures(context).count == 4)
        }
    }

    @Test func objectsWithNilValuesAreNotDuplicates() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            for _ in 0..<3 { _ = picture(nil, "none", context) }
            try context.save()
            _ = picture(nil, "none", context)
            try context.save()
            #expect(try Gallery.pictures(context).count == 4)
        }
    }

    @Test func aConstraintOfASuperentityIncludesSubentities() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let old = picture("a", "old", context)
            try context.save()
            let sketch = picture("a", "sketch", context, "Sketch")
            let (code, list) = conflicts { try context.save() }
            #expect(code == 133021)
            #expect(list.first?.databaseObject == old)
            #expect(list.first?.conflictingObjects == [sketch])
        }
    }

    @Test func uniqueValuesMayBeSwappedAndReusedInOneSave() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let one = picture("a", "1", context)
            let two = picture("b", "2", context)
            let three = picture("c", "3", context)
            try context.save()
            one.setValue("b", forKey: "name")
            two.setValue("a", forKey: "name")
            context.delete(three)
            _ = picture("c", "4", context)
            try context.save()
            #expect(try Gallery.pictures(context) == ["a 2", "b 1", "c 4"])
        }
    }

    @Test func anUpdateMayCreateADuplicate() throws {
        for (type, result) in [
            (NSMergePolicyType.errorMergePolicyType, ["a 1", "b 2"]), (.mergeByPropertyStoreTrumpMergePolicyType, ["a 1", "b 2"]),
            (.rollbackMergePolicyType, ["a 1", "b 2"]), (.mergeByPropertyObjectTrumpMergePolicyType, ["a 2"]),
        ] {
            let context = try Gallery.context(NSMergePolicy(merge: type))
            try context.performAndWait {
                _ = picture("a", "1", context)
                let two = picture("b", "2", context)
                try context.save()
                two.setValue("a", forKey: "name")
                let code = conflicts { try context.save() }.code
                #expect(code == (type == .errorMergePolicyType ? 133021 : 0))
                context.rollback()
                #expect(try Gallery.pictures(context) == result)
            }
        }
    }

    @Test func aCustomMergePolicyResolvesDuplicates() throws {
        final class Renaming: NSMergePolicy, @unchecked Sendable {
            // Unchecked: immutable after init.
            override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
                for conflict in list {
                    for (index, object) in conflict.conflictingObjects.enumerated() where conflict.databaseObject != nil || index > 0 {
                        let name = object.value(forKey: "name") as? String ?? ""
                        object.setValue("\(name)\(index + 2)", forKey: "name")
                    }
                }
            }
        }
        let context = try Gallery.context(Renaming(merge: .errorMergePolicyType))
        try context.performAndWait {
            _ = picture("a", "1", context)
            _ = picture("a", "2", context)
            try context.save()
            _ = picture("a", "3", context)
            try context.save()
            #expect(try Gallery.pictures(context).count == 3)
        }
    }

    @Test func rowsOfOtherContextsAreCompared() throws {
        let container = try Gallery.container()
        let one = container.newBackgroundContext()
        let two = container.newBackgroundContext()
        two.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        let id = try one.performAndWait {
            let picture = picture("a", "one", one)
            try one.save()
            return picture.objectID
        }
        try two.performAndWait {
            _ = picture("a", "two", two)
            try two.save()
            #expect(try Gallery.pictures(two) == ["a two"])
            #expect(two.object(with: id).value(forKey: "note") as? String == "two")
        }
    }
}
