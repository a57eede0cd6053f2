// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Objects without a context have relationships among each other, and keep them when they are inserted.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobject/init(entity:insertinto:) (a nil context, and a later
/// insertion by `insert(_:)`)
@Suite struct UnregisteredObjectTests {
    /// Classes know their entities once a container has loaded the model.
    init() throws {
        _ = try Library.container()
        _ = try Music.container()
    }

    private static func author(_ name: String) -> Author {
        let author = Author(entity: Author.entity(), insertInto: nil)
        author.setValue(name, forKey: "name")
        return author
    }

    private static func book(_ title: String) -> Book {
        let book = Book(entity: Book.entity(), insertInto: nil)
        book.setValue(title, forKey: "title")
        return book
    }

    private static func titles(_ books: Any?) -> Set<String> {
        Set(((books as? NSSet)?.allObjects ?? []).compactMap { ($0 as? NSManagedObject)?.value(forKey: "title") as? String })
    }

    @Test func bothSidesOfARelationshipChange() {
        let (woolf, eliot, book) = (Self.author("Woolf"), Self.author("Eliot"), Self.book("Orlando"))
        book.setValue(woolf, forKey: "author")
        #expect(book.value(forKey: "author") as? Author === woolf)
        #expect(Self.titles(woolf.value(forKey: "books")) == ["Orlando"])
        #expect(!woolf.hasFault(forRelationshipNamed: "books"))
        #expect(!book.hasFault(forRelationshipNamed: "author"))
        #expect(book.value(forKeyPath: "author.name") as? String == "Woolf")
        eliot.setValue(NSSet(object: book), forKey: "books")
        #expect(book.primitiveValue(forKey: "author") as? Author === eliot)
        #expect(Self.titles(woolf.primitiveValue(forKey: "books")) == [])
        book.setPrimitiveValue(woolf, forKey: "author")
        #expect(Self.titles(eliot.value(forKey: "books")) == [])
        #expect(Self.titles(woolf.changedValues()["books"]) == ["Orlando"])
        #expect(Self.titles(woolf.committedValues(forKeys: ["books"])["books"]) == [])
        book.setValue(nil, forKey: "author")
        #expect(book.value(forKey: "author") == nil)
        #expect(Self.titles(woolf.value(forKey: "books")) == [])
    }

    @Test func mutableSetsChangeRelationships() {
        let (author, waves) = (Self.author("Woolf"), Self.book("The Waves"))
        let books: NSMutableSet = author.mutableSetValue(forKey: "books")
        // Only the relationship refers to the others.
        books.addObjects(from: [Self.book("Orlando"), waves, Self.book("Jacob's Room")])
        #expect(books.count == 3)
        #expect(waves.value(forKey: "author") as? Author === author)
        books.remove(waves)
        #expect(Self.titles(author.value(forKey: "books")) == ["Orlando", "Jacob's Room"])
        #expect(waves.value(forKey: "author") == nil)
    }

    @Test func orderedSetsShowTheirChanges() {
        let list = Playlist(entity: Playlist.entity(), insertInto: nil)
        let tracks = ["a", "b", "c"].map { name -> Track in
            let track = Track(entity: Track.entity(), insertInto: nil)
            track.setValue(name, forKey: "name")
            return track
        }
        let members = list.orderedMembers("tracks")
        members.addObjects(from: [tracks[0], tracks[1]])
        members.insert(tracks[2], at: 0)
        #expect(members.count == 3)
        #expect(list.memberNames("tracks") == ["c", "a", "b"])
        members.removeObject(at: 1)
        #expect(members.count == 2)
        #expect(list.memberNames("tracks") == ["c", "b"])
        #expect(tracks[0].value(forKey: "playlist") == nil)
    }

    @Test func anInsertionInsertsConnectedObjects() throws {
        let context = try Library.context()
        try context.performAndWait {
            let (author, book, other) = (Self.author("Woolf"), Self.book("Orlando"), Self.author("Eliot"))
            let tag = Tag(entity: Tag.entity(), insertInto: nil)
            book.setValue(author, forKey: "author")
            book.mutableSetValue(forKey: "tags").add(tag)
            context.insert(author)
            #expect(context.insertedObjects == Set<NSManagedObject>([author, book, tag]))
            #expect(book.managedObjectContext === context)
            #expect(other.managedObjectContext == nil)
            #expect(book.value(forKey: "author") as? Author === author)
            try context.save()
            context.reset()
            let stored = try #require(try context.books().first)
            #expect((stored.value(forKey: "author") as? Author)?.value(forKey: "name") as? String == "Woolf")
            #expect((stored.value(forKey: "tags") as? NSSet)?.count == 1)
        }
    }

    /// A separated object is not inserted with its former relatives.
    @Test func anEmptiedRelationshipConnectsNothing() throws {
        let context = try Library.context()
        context.performAndWait {
            let (author, first, second) = (Self.author("Woolf"), Self.book("Orlando"), Self.book("The Waves"))
            author.setValue(NSSet(array: [first, second]), forKey: "books")
            first.setValue(nil, forKey: "author")
            context.insert(first)
            #expect(context.insertedObjects == Set<NSManagedObject>([first]))
            author.mutableSetValue(forKey: "books").removeAllObjects()
            context.insert(second)
            #expect(context.insertedObjects == Set<NSManagedObject>([first, second]))
        }
    }

    @Test func unconnectedObjectsAreReleased() {
        weak var released: Author?
        do {
            let (author, book) = (Self.author("Woolf"), Self.book("Orlando"))
            released = author
            book.setValue(author, forKey: "author")
            book.setValue(nil, forKey: "author")
        }
        #expect(released == nil)
    }
}
