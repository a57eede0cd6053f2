// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite struct LightweightMigrationTests {
    private func migrated<T>(
        _ change: ([String: NSEntityDescription], NSManagedObjectModel) -> Void, _ body: (NSManagedObjectContext) throws -> T
    ) throws -> T {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let result = try Versions.open(url, Versions.changed(change), body)
            // After its migration the store has the new version and needs no options.
            try Versions.open(url, Versions.changed(change), options: nil) { context throws in
                #expect(try Versions.fetch("Folder", context).count == 2)
            }
            return result
        }
    }

    @Test func attributesAreAddedWithTheirDefaults() throws {
        try migrated { entities, _ in
            entities["Note"]?.properties += [
                Library.attribute("stars", .integer32AttributeType, isOptional: false, default: 5),
                Library.attribute("body", .stringAttributeType),
            ]
        } _: { context throws in
            #expect(try Versions.values("Note", "stars", by: "count", context, as: Int.self) == [5, 5, 5])
            #expect(try Versions.values("Note", "body", by: "count", context, as: String.self) == [nil, nil, nil])
            #expect(try Versions.values("Note", "title", by: "count", context, as: String.self) == ["a", "b", nil])
        }
    }

    @Test func attributesAreRemoved() throws {
        try migrated { entities, _ in
            Versions.remove("kind", from: entities["Note"])
        } _: { context throws in
            let notes = try Versions.fetch("Note", context, sortedBy: "count")
            #expect(notes.count == 3)
            #expect(notes[0].entity.attributesByName["kind"] == nil)
            #expect(notes.map { $0.value(forKey: "count") as? Int } == [1, 2, 3])
        }
    }

    @Test func attributesAreRenamed() throws {
        try migrated { entities, _ in
            Versions.attribute(entities["Note"], "title")?.renamingIdentifier = "title"
            Versions.attribute(entities["Note"], "title")?.name = "headline"
        } _: { context throws in
            #expect(try Versions.values("Note", "headline", by: "count", context, as: String.self) == ["a", "b", nil])
            let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
            request.predicate = NSPredicate(format: "headline == %@", "b")
            #expect(try context.fetch(request).count == 1)
        }
    }

    @Test func aRenamedAttributeWithoutRenamingIdentifierIsANewOne() throws {
        try migrated { entities, _ in
            Versions.attribute(entities["Note"], "title")?.name = "headline"
        } _: { context throws in
            #expect(try Versions.values("Note", "headline", by: "count", context, as: String.self) == [nil, nil, nil])
        }
    }

    @Test func twoAttributesExchangeTheirNames() throws {
        try migrated { entities, _ in
            let (title, kind) = (Versions.attribute(entities["Note"], "title"), Versions.attribute(entities["Note"], "kind"))
            title?.name = "other"
            kind?.name = "title"
            title?.name = "kind"
            kind?.renamingIdentifier = "kind"
            title?.renamingIdentifier = "title"
            // Renaming identifiers are not part of a version: another property must differ as well.
            entities["Note"]?.properties.append(Library.attribute("body", .stringAttributeType))
        } _: { context throws in
            #expect(try Versions.values("Note", "kind", by: "count", context, as: String.self) == ["a", "b", nil])
            #expect(try Versions.values("Note", "title", by: "count", context, as: String.self) == ["k", nil, nil])
        }
    }

    @Test func anOptionalAttributeBecomesRequired() throws {
        try migrated { entities, _ in
            Versions.attribute(entities["Note"], "title")?.isOptional = false
            Versions.attribute(entities["Note"], "title")?.defaultValue = "untitled"
        } _: { context throws in
            #expect(try Versions.values("Note", "title", by: "count", context, as: String.self) == ["a", "b", "untitled"])
        }
    }

    @Test func entitiesAreRenamedWithTheirRelationships() throws {
        try migrated { entities, _ in
            entities["Note"]?.name = "Memo"
            entities["Note"]?.renamingIdentifier = "Note"
        } _: { context throws in
            let memos = try Versions.fetch("Memo", context, sortedBy: "count")
            #expect(
                memos.map { ($0.value(forKey: "folder") as? NSManagedObject)?.value(forKey: "name") as? String } == ["home", "home", nil])
            #expect(memos[0].objectID.uriRepresentation().pathComponents.contains("Memo"))
            let home = try Versions.fetch("Folder", context, sortedBy: "name")[0]
            #expect(Versions.names(home.value(forKey: "notes"), "title").sorted() == ["a", "b"])
        }
    }

    @Test func entitiesAreAddedAndRemoved() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let label = Versions.entity("Label")
            label.properties = [Library.attribute("text", .stringAttributeType)]
            let bare = Versions.entity("Folder")
            bare.properties = [Library.attribute("name", .stringAttributeType)]
            try Versions.open(url, Versions.model([bare, label])) { context throws in
                #expect(try Versions.fetch("Folder", context).count == 2)
                #expect(try Versions.fetch("Label", context).isEmpty)
                Versions.insert("Label", ["text": "x"], context)
                try context.save()
                #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Label")) == 1)
            }
            // An entity that reuses an earlier name is new: the rows were deleted.
            try Versions.open(url, Versions.first()) { context throws in #expect(try Versions.fetch("Note", context).isEmpty) }
        }
    }

    @Test func relationshipsAreAddedAndConnected() throws {
        try migrated { entities, _ in
            guard let note = entities["Note"], let folder = entities["Folder"] else { return }
            Library.connect(note, "archives", toMany: true, with: folder, "archived", toMany: true)
        } _: { context throws in
            let note = try Versions.fetch("Note", context, sortedBy: "count")[0]
            let folders = try Versions.fetch("Folder", context, sortedBy: "name")
            #expect(Versions.names(note.value(forKey: "archives"), "name").isEmpty)
            note.setValue(Set(folders), forKey: "archives")
            try context.save()
            context.refreshAllObjects()
            #expect(Versions.names(note.value(forKey: "archives"), "name").sorted() == ["home", "work"])
            #expect(Versions.names(folders[1].value(forKey: "archived"), "title") == ["a"])
        }
    }

    @Test func relationshipsAreRenamedOnBothSides() throws {
        try migrated { entities, _ in
            entities["Note"]?.relationshipsByName["folder"]?.renamingIdentifier = "folder"
            entities["Note"]?.relationshipsByName["folder"]?.name = "place"
            entities["Folder"]?.relationshipsByName["notes"]?.renamingIdentifier = "notes"
            entities["Folder"]?.relationshipsByName["notes"]?.name = "contents"
        } _: { context throws in
            let notes = try Versions.fetch("Note", context, sortedBy: "count")
            #expect(
                notes.map { ($0.value(forKey: "place") as? NSManagedObject)?.value(forKey: "name") as? String } == ["home", "home", nil])
            let home = try Versions.fetch("Folder", context, sortedBy: "name")[0]
            #expect(Versions.names(home.value(forKey: "contents"), "title").sorted() == ["a", "b"])
        }
    }

    @Test func aToOneRelationshipBecomesToMany() throws {
        try migrated { entities, _ in
            entities["Note"]?.relationshipsByName["folder"]?.maxCount = 0
        } _: { context throws in
            let notes = try Versions.fetch("Note", context, sortedBy: "count")
            #expect(notes.map { Versions.names($0.value(forKey: "folder"), "name") } == [["home"], ["home"], []])
            let home = try Versions.fetch("Folder", context, sortedBy: "name")[0]
            #expect(Versions.names(home.value(forKey: "notes"), "title").sorted() == ["a", "b"])
        }
    }

    @Test func aRelationshipBecomesOrdered() throws {
        try migrated { entities, _ in
            entities["Folder"]?.relationshipsByName["notes"]?.isOrdered = true
        } _: { context throws in
            let home = try Versions.fetch("Folder", context, sortedBy: "name")[0]
            let notes = try #require(home.value(forKey: "notes") as? NSOrderedSet)
            #expect(Set(Versions.names(notes, "title")) == ["a", "b"])
            home.setValue(NSOrderedSet(array: notes.array.reversed()), forKey: "notes")
            let wanted = Array(Versions.names(notes, "title").reversed())
            try context.save()
            context.refreshAllObjects()
            #expect(Versions.names(home.value(forKey: "notes"), "title") == wanted)
        }
    }

    @Test func anAttributeIsMovedToANewSuperentity() throws {
        try migrated { entities, model in
            let item = Versions.entity("Item")
            item.properties = [Library.attribute("count", .integer16AttributeType)]
            Versions.remove("count", from: entities["Note"])
            item.subentities = [entities["Note"]].compactMap { $0 }
            model.entities += [item]
        } _: { context throws in
            #expect(try Versions.values("Item", "count", by: "count", context, as: Int.self) == [1, 2, 3])
            let note = try Versions.fetch("Note", context, sortedBy: "count")[0]
            #expect((note.value(forKey: "folder") as? NSManagedObject)?.value(forKey: "name") as? String == "home")
            Versions.insert("Item", ["count": 9], context)
            try context.save()
            #expect(try Versions.fetch("Item", context).count == 4)
            #expect(try Versions.fetch("Note", context).count == 3)
        }
    }

    @Test func integerAttributesAreWidened() throws {
        try migrated { entities, _ in
            Versions.attribute(entities["Note"], "count")?.attributeType = .integer64AttributeType
        } _: { context throws in
            let note = try Versions.fetch("Note", context, sortedBy: "count")[2]
            #expect(note.value(forKey: "count") as? Int == 3)
            note.setValue(Int64(1) << 40, forKey: "count")
            try context.save()
            context.refreshAllObjects()
            #expect(note.value(forKey: "count") as? Int64 == 1 << 40)
        }
    }

    @Test func oneMigrationSpansSeveralVersions() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            for name in ["headline", "heading", "caption"] {
                let version = Versions.changed { entities, _ in
                    Versions.attribute(entities["Note"], "title")?.renamingIdentifier = "title"
                    Versions.attribute(entities["Note"], "title")?.name = name
                }
                try Versions.open(url, version) { context throws in
                    #expect(try Versions.values("Note", name, by: "count", context, as: String.self) == ["a", "b", nil])
                }
            }
        }
    }

    @Test func historyIsMigrated() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            let options = Versions.automatically.merging([NSPersistentHistoryTrackingKey: true]) { $1 }
            try Versions.fill(url, options: options)
            try Versions.open(url, Versions.first(), options: options) { context throws in
                try Versions.fetch("Note", context, sortedBy: "count")[0].setValue("changed", forKey: "title")
                try context.save()
            }
            let version = Versions.changed { entities, _ in
                entities["Note"]?.name = "Memo"
                entities["Note"]?.renamingIdentifier = "Note"
                Versions.attribute(entities["Note"], "title")?.renamingIdentifier = "title"
                Versions.attribute(entities["Note"], "title")?.name = "zzz"
                Versions.remove("count", from: entities["Note"])
            }
            try Versions.open(url, version, options: options) { context throws in
                let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
                let result = try context.execute(request) as? NSPersistentHistoryResult
                let transactions = try #require(result?.result as? [NSPersistentHistoryTransaction])
                #expect(transactions.count == 2)
                #expect(transactions[0].changes?.count == 5)
                let update = try #require(transactions[1].changes?.first)
                #expect(update.changeType == .update)
                #expect(update.changedObjectID.entity.name == "Memo")
                #expect(update.updatedProperties?.map(\.name) == ["zzz"])
                #expect(try context.existingObject(with: update.changedObjectID).value(forKey: "zzz") as? String == "changed")
            }
        }
    }
}
