// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import PredicateKit
import class PredicateKit.NSExpression
import Testing

class AlbumRecord: NSManagedObject {
    private enum Keys {
        static let title = ManagedPropertyKey("title")
        static let year = ManagedPropertyKey("year")
        static let tracks = ManagedPropertyKey("tracks")
        static let artist = ManagedPropertyKey("artist")
    }
    var title: String? {
        get { _string(Keys.title) }
        set { _setString(Keys.title, newValue) }
    }
    var year: Int32 {
        get { _int32(Keys.year) }
        set { _setInt32(Keys.year, newValue) }
    }
    var tracks: Set<TrackRecord> { _objects(Keys.tracks) as? Set<TrackRecord> ?? [] }
    var artist: ArtistRecord? {
        get { _object(Keys.artist, as: ArtistRecord.self) }
        set { _setObject(Keys.artist, newValue) }
    }
    var titleLength: Int { (title ?? "").count }
    /// Reads one attribute of its own type.
    var heading: String? { title }
}

final class BoxSetRecord: AlbumRecord {}

final class TrackRecord: NSManagedObject {
    private enum Keys { static let name = ManagedPropertyKey("name") }
    var name: String? { _string(Keys.name) }
}

final class ArtistRecord: NSManagedObject {
    private enum Keys { static let name = ManagedPropertyKey("name") }
    var name: String? { _string(Keys.name) }
}

/// `#Predicate`, `SortDescriptor` and key paths of properties in fetches.
@Suite struct MacroPredicateTests {
    private static let model: Model = {
        let album = Entity(
            name: "Album", className: "AlbumRecord",
            attributes: [Attribute(name: "title", type: .string), Attribute(name: "year", type: .integer32, defaultValue: .int(0))],
            relationships: [
                Relationship(name: "tracks", destination: "Track", inverse: "album", isToMany: true),
                Relationship(name: "artist", destination: "Artist", inverse: "albums"),
            ])
        let box = Entity(name: "BoxSet", className: "BoxSetRecord", superentity: "Album")
        let track = Entity(
            name: "Track", className: "TrackRecord", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "album", destination: "Album", inverse: "tracks")])
        let artist = Entity(
            name: "Artist", className: "ArtistRecord", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "albums", destination: "Album", inverse: "artist", isToMany: true)])
        return Model(entities: [album, box, track, artist])
    }()

    private static func albums() throws -> NSManagedObjectContext {
        let context = try Library.container(model: model).newBackgroundContext()
        try context.performAndWait {
            func insert(_ entity: String, _ values: [String: Any]) -> NSManagedObject {
                let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
                for (key, value) in values { object.setValue(value, forKey: key) }
                return object
            }
            let ada = insert("Artist", ["name": "Ada"])
            func tracks(_ names: String...) -> NSSet { NSSet(array: names.map { insert("Track", ["name": $0]) }) }
            _ = insert("Album", ["title": "One", "year": 1990, "artist": ada, "tracks": tracks("a", "b")])
            _ = insert("Album", ["title": "Två", "year": 2000, "tracks": tracks("b")])
            _ = insert("BoxSet", ["title": "Three", "year": 2010, "artist": ada])
            _ = insert("Album", ["year": 1980])
            try context.save()
        }
        return context
    }

    private func years(
        _ made: NSPredicate?, _ context: NSManagedObjectContext, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [Int32] {
        let predicate = try #require(made, sourceLocation: sourceLocation)
        return try context.performAndWait {
            let request = NSFetchRequest<AlbumRecord>(entityName: "Album")
            request.predicate = predicate
            let all = try context.fetch(NSFetchRequest<AlbumRecord>(entityName: "Album"))
            let found = try context.fetch(request)
            #expect(Set(all.filter { request.predicate?.evaluate(with: $0) == true }) == Set(found))
            return found.map(\.year).sorted()
        }
    }

    @Test func aSwiftPredicateIsRunByTheStore() throws {
        let context = try Self.albums()
        let (name, list, range) = ("One", ["One", "Two"], 1985...2000 as ClosedRange<Int32>)
        let none: String? = nil
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title == "One" }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title == name && $0.year > 1980 }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title != name }), context) == [1980, 2000, 2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title == none }), context) == [1980])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title == nil || !($0.year < 2010) }), context) == [1980, 2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { range.contains($0.year) }), context) == [1990, 2000])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { (1990..<2000).contains($0.year) }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { list.contains($0.title ?? "") }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title?.starts(with: "T") == true }), context) == [2000, 2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.title?.contains("ne") ?? false }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { ($0.title ?? "").localizedStandardContains("TVA") }), context) == [2000])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.year + 10 == 2000 }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.year % 20 == 0 }), context) == [1980, 2000])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.artist?.name == "Ada" }), context) == [1990, 2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.artist == nil }), context) == [1980, 2000])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.tracks.count > 1 }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.tracks.isEmpty }), context) == [1980, 2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.tracks.contains { $0.name == "b" } }), context) == [1990, 2000])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.tracks.allSatisfy { $0.name == "b" } }), context) == [1980, 2000, 2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.tracks.filter { $0.name == "a" }.count == 1 }), context) == [1990])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0 is BoxSetRecord }), context) == [2010])
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { _ in true }), context).count == 4)
    }

    @Test func untranslatableMacroPredicatesAreNil() throws {
        let context = try Self.albums()
        #expect(NSPredicate(#Predicate<AlbumRecord> { $0.titleLength == 3 }) == nil)
        #expect(NSPredicate(#Predicate<AlbumRecord> { ($0.title ?? "").contains(/ne$/) }) == nil)
        #expect(try years(NSPredicate(#Predicate<AlbumRecord> { $0.heading == "One" }), context) == [1990])
    }

    @Test func swiftDescriptorsAndKeyPathsNameProperties() throws {
        let context = try Self.albums()
        func sorted(_ descriptors: NSSortDescriptor...) throws -> [Int32] {
            try context.performAndWait {
                let request = NSFetchRequest<AlbumRecord>(entityName: "Album")
                request.sortDescriptors = descriptors
                let found = try context.fetch(request)
                let array = (found.reversed() as NSArray).sortedArray(using: descriptors) as? [AlbumRecord]
                #expect(array == found)
                return found.map(\.year)
            }
        }
        #expect(try sorted(NSSortDescriptor(SortDescriptor(\AlbumRecord.year, order: .reverse))) == [2010, 2000, 1990, 1980])
        #expect(try sorted(NSSortDescriptor(keyPath: \AlbumRecord.title, ascending: true)) == [1980, 1990, 2010, 2000])
        #expect(NSExpression(forKeyPath: \AlbumRecord.artist?.name).keyPath == "artist.name")
        #expect(throws: CocoaError.self) {
            try sorted(NSSortDescriptor(keyPath: \AlbumRecord.title, ascending: true, comparator: { _, _ in .orderedSame }))
        }
        #expect(throws: CocoaError.self) { try sorted(NSSortDescriptor(keyPath: \AlbumRecord.titleLength, ascending: true)) }
    }

    @Test func entitiesAndIdentifiersAreComparedInAStoreAndInMemory() throws {
        let context = try Self.albums()
        let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
        let box = try #require(model.entitiesByName["BoxSet"])
        #expect(try years(NSPredicate(format: "entity == %@", box), context) == [2010])
        #expect(try years(NSPredicate(format: "entity.name == 'Album'"), context) == [1980, 1990, 2000])
        #expect(try years(NSPredicate(format: "NOT (entity IN %@)", [box]), context) == [1980, 1990, 2000])
        #expect(try years(NSPredicate(format: "artist.entity.name == 'Artist'"), context) == [1990, 2010])
        let first = try context.performAndWait { try context.fetch(NSFetchRequest<AlbumRecord>(entityName: "BoxSet"))[0].objectID }
        #expect(try years(NSPredicate(format: "objectID == %@", first), context) == [2010])
        #expect(try years(NSPredicate(format: "objectID IN %@", [first]), context) == [2010])
    }
}
