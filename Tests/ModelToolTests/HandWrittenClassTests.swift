// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct HandWrittenClassTests {
    @Test func managedPropertiesKeepTheirValuesThroughASave() throws {
        let container = try NoteModel.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let note = Note(context: context)
            #expect(note.title == "")
            #expect(note.text == nil)
            #expect(note.mood == .calm)
            #expect(note.created == Date(timeIntervalSinceReferenceDate: 1000))
            fill(note)
            try context.save()
            let id = note.objectID
            context.reset()
            let read = try #require(try context.existingObject(with: id) as? Note)
            expectFilled(read)
        }
    }

    @Test func keyValueCodingFindsMembersMarkedForObjectiveC() throws {
        let context = try NoteModel.container().newBackgroundContext()
        try context.performAndWait {
            for title in ["Walden", "Emma", "Emil"] { Note(context: context).title = title }
            try context.save()
            let results = NSFetchedResultsController(
                fetchRequest: Note.fetchRequest(), managedObjectContext: context, sectionNameKeyPath: "initial", cacheName: nil)
            results.fetchRequest.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            try results.performFetch()
            #expect(results.sections?.map(\.name) == ["E", "W"])
            let note = try #require(results.fetchedObjects?.first)
            #expect(note.value(forKey: "short") as? Bool == true)
            #expect(note.value(forKey: "isShort") as? Bool == true)
            #expect(NSPredicate(format: "initial == 'E' AND rank == 0").evaluate(with: note))
            note.setValue("Milo", forKey: "nickname")
            #expect(note.revealed == "Milo")
            #expect(note.value(forKeyPath: "nickname") as? String == "*Milo*")
            note.setValue(nil, forKey: "nickname")
            #expect(note.revealed == nil)
            #expect(note.value(forKey: "nickname") == nil)
            note.setValue(NSNumber(value: 30), forKey: "rank")
            #expect(note.stars == 3)
            #expect(note.value(forKey: "rank") as? Int == 30)
        }
    }

    private func fill(_ note: Note) {
        note.uuid = UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")
        note.title = "Walden"
        note.count = -5
        note.count += 1
        note.stars = 3
        note.size = 1 << 40
        note.plain = 42
        note.ratio = 0.5
        note.part = 0.25
        note.isDone = true
        note.number = 17
        note.price = NSDecimalNumber(string: "1.20")
        note.cost = 9
        note.link = URL(string: "https://example.org/a")
        note.data = Data([1, 2])
        note.due = 3600
        note.mood = .wild
        note.color = Note.Color(rawValue: "red")
        note.revealed = "hush"
        note.shout = "loud"
    }

    private func expectFilled(_ note: Note) {
        #expect(note.uuid == UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        #expect(note.title == "Walden")
        #expect(note.text == "loud")
        #expect(note.shout == "LOUD")
        #expect(note.count == -4)
        #expect(note.stars == 3)
        #expect(note.size == 1 << 40)
        #expect(note.plain == 42)
        #expect(note.ratio == 0.5)
        #expect(note.part == 0.25)
        #expect(note.isDone)
        #expect(note.number == 17)
        #expect(note.price == NSDecimalNumber(string: "1.2"))
        #expect(note.cost == 9)
        #expect(note.link?.absoluteString == "https://example.org/a")
        #expect(note.data == Data([1, 2]))
        #expect(note.due == 3600)
        #expect(note.mood == .wild)
        #expect(note.color == Note.Color(rawValue: "red"))
        #expect(note.revealed == "hush")
    }

    @Test func relationshipsAndTheirMethodsWork() throws {
        let container = try NoteModel.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let (note, child, label, other) = (
                Note(context: context), Note(context: context), Label(context: context), Label(context: context)
            )
            label.größe = "groß"
            child.parent = note
            #expect(note.children == [child])
            #expect(child.parent === note)
            note.addToLabels(label)
            note.addToLabels(NSSet(object: other))
            #expect(note.labels?.count == 2)
            #expect(label.notes == [note])
            note.removeFromLabels(label)
            #expect(note.labels as? Set<Label> == [other])
            #expect(label.notes == [])
            note.children = []
            #expect(child.parent == nil)
            note.addChildren([child])
            #expect(child.parent === note)
            try context.save()
            let request: NSFetchRequest<Note> = Note.fetchRequest()
            request.predicate = NSPredicate(format: "parent == %@", note)
            request.sortDescriptors = [NSSortDescriptor(keyPath: \Note.title, ascending: true)]
            #expect(try context.fetch(request) == [child])
            // As `tarn port` writes it: the inherited method's request, not that of the class.
            let erased = Note.fetchRequest() as NSFetchRequest<any NSFetchRequestResult>
            #expect(try context.fetch(erased).count == 2)
            let copy = NSFetchRequest<NSManagedObject>(copying: request)
            #expect(try context.fetch(copy) == [child])
        }
    }
}
