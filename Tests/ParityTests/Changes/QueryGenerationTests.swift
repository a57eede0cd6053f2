// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct QueryGenerationTests {
    @Test func aPinnedContextReadsTheStateOfItsFirstRead() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let ids = try Notes.save(container) { context in
                let notes = ["a", "b"].map { Notes.insert($0, into: context) }
                try context.obtainPermanentIDs(for: notes)
                return notes.map(\.objectID)
            }
            let context = container.newBackgroundContext()
            try context.performAndWait {
                #expect(context.queryGenerationToken == nil)
                try context.setQueryGenerationFrom(.current)
                #expect(try Notes.titles(in: context) == ["a", "b"])
                #expect(context.queryGenerationToken != nil)
            }
            try Notes.save(container) { other in
                Notes.insert("c", into: other)
                try other.existingObject(with: ids[0]).setValue("changed", forKey: "title")
                other.delete(try other.existingObject(with: ids[1]))
            }
            try context.performAndWait {
                #expect(try Notes.titles(in: context) == ["a", "b"])
                #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 2)
                context.reset()
                #expect(try Notes.titles(in: context) == ["c", "changed"])
                #expect(context.queryGenerationToken != nil)
                try context.setQueryGenerationFrom(nil)
                #expect(context.queryGenerationToken == nil)
            }
        }
    }

    @Test func askingForTheTokenPinsAContextThatWaitsForItsFirstRead() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            try Notes.save(container) { _ = Notes.insert("a", into: $0) }
            let context = container.newBackgroundContext()
            try context.performAndWait {
                try context.setQueryGenerationFrom(.current)
                #expect(context.queryGenerationToken != nil)
            }
            try Notes.save(container) { _ = Notes.insert("b", into: $0) }
            let titles = try context.performAndWait { try Notes.titles(in: context) }
            #expect(titles == ["a"])
        }
    }

    @Test func faultsFireIntoThePinnedState() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let (folderID, noteID) = try Notes.save(container) { context in
                let folder = NSEntityDescription.insertNewObject(forEntityName: "Folder", into: context)
                folder.setValue("inbox", forKey: "name")
                let note = Notes.insert("a", into: context)
                note.setValue(folder, forKey: "folder")
                try context.obtainPermanentIDs(for: [folder, note])
                return (folder.objectID, note.objectID)
            }
            let context = container.newBackgroundContext()
            let plain = container.newBackgroundContext()
            try context.performAndWait {
                try context.setQueryGenerationFrom(.current)
                #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 1)
            }
            try Notes.save(container) { other in
                other.delete(try other.existingObject(with: noteID))
                try other.existingObject(with: folderID).setValue("empty", forKey: "name")
            }
            try context.performAndWait {
                let note = context.object(with: noteID)
                #expect(note.value(forKey: "title") as? String == "a")
                #expect(!note.isDeleted)
                let folder = context.object(with: folderID)
                #expect(folder.value(forKey: "name") as? String == "inbox")
                #expect((folder.value(forKey: "notes") as? NSSet)?.count == 1)
                let found = try context.existingObject(with: noteID)
                #expect(found === note)
            }
            try plain.performAndWait {
                #expect(throws: (any Error).self) { try plain.existingObject(with: noteID) }
                #expect(plain.object(with: folderID).value(forKey: "name") as? String == "empty")
                let titles = try Notes.titles(in: plain)
                #expect(titles.isEmpty)
            }
        }
    }

    @Test func savingAdvancesAPinnedContext() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            try Notes.save(container) { Notes.insert("a", into: $0) }
            let context = container.newBackgroundContext()
            try context.performAndWait {
                try context.setQueryGenerationFrom(.current)
                #expect(try Notes.titles(in: context) == ["a"])
            }
            try Notes.save(container) { Notes.insert("b", into: $0) }
            try context.performAndWait {
                #expect(try Notes.titles(in: context) == ["a"])
                let before = context.queryGenerationToken
                Notes.insert("c", into: context)
                #expect(try Notes.titles(in: context) == ["a", "c"])
                try context.save()
                #expect(try Notes.titles(in: context) == ["a", "b", "c"])
                #expect(context.queryGenerationToken != before)
            }
        }
    }

    @Test func mergingAdvancesAPinnedContext() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let context = container.newBackgroundContext()
            try context.performAndWait {
                try context.setQueryGenerationFrom(.current)
                #expect(try Notes.titles(in: context).isEmpty)
            }
            let id = try Notes.save(container) { other in
                let note = Notes.insert("a", into: other)
                try other.obtainPermanentIDs(for: [note])
                return note.objectID
            }
            try context.performAndWait {
                let before = try Notes.titles(in: context)
                #expect(before.isEmpty)
                NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectsKey: [id]], into: [context])
                let after = try Notes.titles(in: context)
                #expect(after == ["a"])
            }
        }
    }

    @Test func twoContextsPinTheSameGeneration() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            try Notes.save(container) { Notes.insert("a", into: $0) }
            let (first, second) = (container.newBackgroundContext(), container.newBackgroundContext())
            let token = try first.performAndWait {
                try first.setQueryGenerationFrom(.current)
                #expect(try Notes.titles(in: first) == ["a"])
                return first.queryGenerationToken
            }
            try Notes.save(container) { Notes.insert("b", into: $0) }
            try second.performAndWait {
                try second.setQueryGenerationFrom(token)
                #expect(try Notes.titles(in: second) == ["a"])
                #expect(second.queryGenerationToken == token)
            }
            try first.performAndWait {
                try first.setQueryGenerationFrom(.current)
                #expect(try Notes.titles(in: first) == ["a", "b"])
            }
            try second.performAndWait {
                #expect(try Notes.titles(in: second) == ["a"])
                try second.setQueryGenerationFrom(nil)
                #expect(try Notes.titles(in: second) == ["a", "b"])
            }
        }
    }

    @Test func unsavedChangesOverlayThePinnedState() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let id = try Notes.save(container) { context in
                let note = Notes.insert("a", into: context)
                try context.obtainPermanentIDs(for: [note])
                return note.objectID
            }
            let context = container.newBackgroundContext()
            context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
            try context.performAndWait {
                try context.setQueryGenerationFrom(.current)
                let note = try context.existingObject(with: id)
                #expect(note.value(forKey: "title") as? String == "a")
                note.setValue("mine", forKey: "body")
                #expect(try Notes.titles(in: context) == ["a"])
            }
            try Notes.save(container) { try $0.existingObject(with: id).setValue("theirs", forKey: "title") }
            try context.performAndWait {
                #expect(try Notes.titles(in: context) == ["a"])
                #expect(context.updatedObjects.count == 1)
                try context.save()
                let note = context.object(with: id)
                context.refresh(note, mergeChanges: true)
                #expect(note.value(forKey: "title") as? String == "theirs")
                #expect(note.value(forKey: "body") as? String == "mine")
            }
        }
    }

    @Test func savingDetectsConflictsHiddenByThePinnedState() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let id = try Notes.save(container) { context in
                let note = Notes.insert("a", into: context)
                try context.obtainPermanentIDs(for: [note])
                return note.objectID
            }
            let context = container.newBackgroundContext()
            try context.performAndWait {
                try context.setQueryGenerationFrom(.current)
                #expect(try Notes.titles(in: context) == ["a"])
            }
            try Notes.save(container) { try $0.existingObject(with: id).setValue("b", forKey: "title") }
            try context.performAndWait {
                let note = try context.existingObject(with: id)
                #expect(note.value(forKey: "title") as? String == "a")
                note.setValue("c", forKey: "title")
                let error = #expect(throws: CocoaError.self) { try context.save() }
                #expect(error?.code.rawValue == 133_020)
                #expect(note.value(forKey: "title") as? String == "c")
                #expect(context.hasChanges)
            }
        }
    }

    @Test func inMemoryStoresAreNotPinned() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            try context.setQueryGenerationFrom(.current)
            let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
            #expect(try context.count(for: request) == 0)
            let other = container.newBackgroundContext()
            try other.performAndWait {
                NSEntityDescription.insertNewObject(forEntityName: "Tag", into: other).setValue("x", forKey: "label")
                try other.save()
            }
            #expect(try context.count(for: request) == 1)
        }
    }

    @Test func theCurrentQueryGenerationTokenIsArchived() throws {
        let token = NSQueryGenerationToken.current
        #expect(token == NSQueryGenerationToken.current)
        #expect(NSQueryGenerationToken.supportsSecureCoding)
        let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSQueryGenerationToken.self, from: data) == token)
    }
}
