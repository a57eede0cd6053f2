// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import Testing

/// `observe(_:options:changeHandler:)` of managed objects.
@Suite @MainActor struct KeyValueObservingTests {
    private final class Log<Value> {
        var changes: [NSKeyValueObservedChange<Value>] = []
        /// Returns the changes reported since the last call.
        func take() -> [NSKeyValueObservedChange<Value>] {
            defer { changes = [] }
            return changes
        }
    }

    private func context() throws -> NSManagedObjectContext { try Records.container().viewContext }

    private func album(_ songs: [String] = [], in context: NSManagedObjectContext) -> Album {
        let album = Album(context: context)
        for title in songs {
            let song = Song(context: context)
            song.title = title
            album.addToSongs(song)
        }
        return album
    }

    @Test func anAttributeReportsOldAndNewValues() throws {
        let context = try context()
        defer { withExtendedLifetime(context) {} }
        let song = Song(context: context)
        let log = Log<String?>()
        let observation = song.observe(\.title, options: [.old, .new]) { observed, change in
            #expect(observed === song)
            log.changes.append(change)
        }
        song.title = "a"
        song.setValue("b", forKey: "title")
        song.title = nil
        song.plays = 3
        let changes = log.take()
        #expect(changes.map(\.kind) == [.setting, .setting, .setting])
        // A value that is nil is reported as nil, not as missing.
        #expect(changes.map(\.oldValue) == [.some(nil), "a", "b"])
        #expect(changes.map(\.newValue) == ["a", "b", .some(nil)])
        #expect(changes.allSatisfy { !$0.isPrior && $0.indexes == nil })
        observation.invalidate()
        song.title = "c"
        #expect(log.take().isEmpty)
    }

    @Test func optionsSelectTheReportedValues() throws {
        let context = try context()
        defer { withExtendedLifetime(context) {} }
        let song = Song(context: context)
        song.plays = 1
        let (plain, initial, prior) = (Log<Int32>(), Log<Int32>(), Log<Int32>())
        var seen: [Int32] = []
        let observations = [
            song.observe(\.plays) { plain.changes.append($1) },
            song.observe(\.plays, options: [.initial, .new]) { initial.changes.append($1) },
            song.observe(\.plays, options: [.prior, .old, .new]) {
                seen.append($0.plays)
                prior.changes.append($1)
            },
        ]
        song.plays = 2
        withExtendedLifetime(observations) {}
        let one = try #require(plain.changes.first)
        #expect(plain.changes.count == 1)
        #expect(one.oldValue == nil)
        #expect(one.newValue == nil)
        #expect(initial.changes.map(\.newValue) == [1, 2])
        #expect(prior.changes.map(\.isPrior) == [true, false])
        #expect(prior.changes.map(\.oldValue) == [1, 1])
        #expect(prior.changes.map(\.newValue) == [nil, 2])
        #expect(seen == [1, 2])
    }

    @Test func anObservationEndsWithItsLastReference() throws {
        let context = try context()
        defer { withExtendedLifetime(context) {} }
        let song = Song(context: context)
        let log = Log<Int32>()
        var observation: NSKeyValueObservation? = song.observe(\.plays, options: .new) { log.changes.append($1) }
        song.plays = 1
        withExtendedLifetime(observation) {}
        observation = nil
        song.plays = 2
        #expect(log.changes.map(\.newValue) == [1])
    }

    @Test func anObservationDoesNotRetainTheObject() throws {
        let context = try context()
        var song: Song? = Song(context: context)
        try context.save()
        weak let released = song
        let observation = try #require(song).observe(\.plays) { _, _ in }
        song = nil
        #expect(released == nil)
        observation.invalidate()
    }

    @Test func aHandlerMayEndItsObservation() throws {
        let context = try context()
        defer { withExtendedLifetime(context) {} }
        let song = Song(context: context)
        let log = Log<Int32>()
        var observation: NSKeyValueObservation?
        observation = song.observe(\.plays, options: .new) { _, change in
            log.changes.append(change)
            observation?.invalidate()
        }
        song.plays = 1
        song.plays = 2
        #expect(log.changes.map(\.newValue) == [1])
    }

    @Test func bothSidesOfARelationshipReport() throws {
        let context = try context()
        let (first, second, song) = (album(in: context), album(in: context), Song(context: context))
        song.title = "a"
        let (toOne, toMany) = (Log<Album?>(), Log<NSOrderedSet?>())
        var songsSeen: [Int] = []
        let observations = [
            song.observe(\.album, options: [.old, .new]) { song, change in
                songsSeen.append(song.album?.songs?.count ?? 0)
                toOne.changes.append(change)
            },
            first.observe(\.songs, options: [.old, .new]) { album, change in
                #expect(album.songs?.contains(song) == (song.album === album))
                toMany.changes.append(change)
            },
        ]
        song.album = first
        var change = try #require(toMany.take().first)
        #expect(change.kind == .insertion)
        #expect(change.newValue == [song])
        #expect(change.oldValue == nil)
        #expect(change.indexes == [0])
        song.album = second
        change = try #require(toMany.take().first)
        #expect(change.kind == .removal)
        #expect(change.oldValue == [song])
        #expect(change.newValue == nil)
        #expect(change.indexes == [0])
        first.addToSongs(song)
        context.delete(first)
        context.processPendingChanges()
        withExtendedLifetime(observations) {}
        #expect(toOne.changes.map(\.oldValue) == [.some(nil), first, second, first])
        #expect(toOne.changes.map(\.newValue) == [first, second, first, .some(nil)])
        // The inverse had changed, too, when the handler was called.
        #expect(songsSeen == [1, 1, 1, 0])
    }

    @Test func membersOfAnOrderedRelationshipReportTheirIndexes() throws {
        let context = try context()
        let album = album(["a", "b", "c"], in: context)
        let (x, y) = (Song(context: context), Song(context: context))
        let log = Log<NSOrderedSet?>()
        let options: NSKeyValueObservingOptions = [.old, .new]
        let observation: NSKeyValueObservation = album.observe(\.songs, options: options) { log.changes.append($1) }
        let songs = album.mutableOrderedSetValue(forKey: "songs")
        songs.insert([x, y], at: [0, 2])
        var change = try #require(log.take().first)
        #expect(change.kind == .insertion)
        #expect(change.indexes == [0, 2])
        #expect(change.newValue == [x, y])
        songs.removeObject(at: 2)
        change = try #require(log.take().first)
        #expect(change.kind == .removal)
        #expect(change.indexes == [2])
        #expect(change.oldValue == [y])
        album.addToSongs([y])
        change = try #require(log.take().first)
        #expect(change.kind == .insertion)
        #expect(change.indexes == [4])
        let before = try #require(album.songs)
        songs.moveObjects(at: [0], to: 3)
        change = try #require(log.take().first)
        #expect(change.kind == .setting)
        #expect(change.oldValue == before)
        #expect(change.newValue == album.songs)
        #expect(change.indexes == nil)
        album.songs = [x]
        let all = log.take()
        #expect(all.count == 1)
        #expect(all.first?.kind == .setting)
        #expect(all.first?.newValue == [x])
        withExtendedLifetime(observation) {}
    }

    @Test func membersOfAnUnorderedRelationshipReport() throws {
        let context = try context()
        let song = Song(context: context)
        let (rock, folk, jazz) = (Tag(context: context), Tag(context: context), Tag(context: context))
        let log = Log<Set<Tag>>()
        let observation = song.observe(\.tags, options: [.old, .new]) { log.changes.append($1) }
        let tags = song.mutableSetValue(forKey: "tags")
        tags.add(rock)
        tags.union([folk, jazz])
        tags.remove(rock)
        jazz.setValue(Set<Song>(), forKey: "songs")
        withExtendedLifetime(observation) {}
        #expect(log.changes.map(\.kind) == [.insertion, .insertion, .removal, .removal])
        #expect(log.changes.map(\.newValue) == [[rock], [folk, jazz], nil, nil])
        #expect(log.changes.map(\.oldValue) == [nil, nil, [rock], [jazz]])
        #expect(log.changes.allSatisfy { $0.indexes == nil })
    }

    @Test func aPathThroughARelationshipFollowsIt() throws {
        let context = try context()
        let (first, second, song) = (album(in: context), album(in: context), Song(context: context))
        (first.name, second.name) = ("one", "two")
        let log = Log<String?>()
        let observation = song.observe(\.album?.name, options: [.old, .new]) { log.changes.append($1) }
        song.album = first
        first.name = "one, again"
        song.album = second
        first.name = "unseen"
        second.name = "two, again"
        song.album = nil
        #expect(log.changes.map(\.oldValue) == [.some(nil), "one", "one, again", "two", "two, again"])
        #expect(log.changes.map(\.newValue) == ["one", "one, again", "two", "two, again", .some(nil)])
        observation.invalidate()
        song.album = first
        first.name = "over"
        #expect(log.changes.count == 5)
    }

    @Test func aComputedPropertyChangesWithThePropertiesItReads() throws {
        let context = try context()
        let (album, song) = (album(in: context), Song(context: context))
        song.album = album
        let log = Log<String>()
        let observation = song.observe(\.line, options: [.old, .new]) { log.changes.append($1) }
        song.title = "a"
        album.name = "b"
        song.plays = 4
        withExtendedLifetime(observation) {}
        #expect(log.changes.map(\.newValue) == ["a – ", "a – b"])
        #expect(log.changes.map(\.oldValue) == [" – ", "a – "])
    }

    @Test func anObjectThatOutlivedItsContextIsObserved() throws {
        var context: NSManagedObjectContext? = try context()
        let (album, song) = (album(in: try #require(context)), Song(context: try #require(context)))
        context = nil
        let log = Log<String?>()
        let observations = [song.observe(\.title, options: .new) { log.changes.append($1) }, song.observe(\.album?.name) { _, _ in }]
        song.title = "a"
        withExtendedLifetime((observations, album)) {}
        #expect(log.changes.map(\.newValue) == ["a"])
    }

    @Test func accessorsWrittenByHandReport() throws {
        let context = try context()
        defer { withExtendedLifetime(context) {} }
        let song = Song(context: context)
        let log = Log<String?>()
        let observation = song.observe(\.title, options: [.old, .new, .prior]) { log.changes.append($1) }
        song.setPrimitiveValue("quiet", forKey: "title")
        #expect(log.changes.isEmpty)
        song.loudTitle = "loud"
        song.willChangeValue(for: \.title)
        song.setPrimitiveValue("last", forKey: "title")
        song.didChangeValue(for: \.title)
        // Unannounced changes are not reported.
        song.didChangeValue(forKey: "title")
        withExtendedLifetime(observation) {}
        #expect(log.changes.map(\.isPrior) == [true, false, true, false])
        #expect(log.changes.map(\.oldValue) == ["quiet", "quiet", "LOUD", "LOUD"])
        #expect(log.changes.map(\.newValue) == [nil, "LOUD", nil, "last"])
    }

    @Test func announcementsSayHowMembersChange() throws {
        let context = try context()
        let song = Song(context: context)
        let (rock, folk) = (Tag(context: context), Tag(context: context))
        song.tags = [rock]
        let album = album(["a"], in: context)
        let (tags, songs) = (Log<Set<Tag>>(), Log<NSOrderedSet?>())
        let observations = [
            song.observe(\.tags, options: [.old, .new]) { tags.changes.append($1) },
            album.observe(\.songs, options: [.old, .new]) { songs.changes.append($1) },
        ]
        for (mutation, objects) in [(NSKeyValueSetMutationKind.union, [folk]), (.minus, [rock]), (.intersect, [folk]), (.set, [folk])] {
            song.willChangeValue(forKey: "tags", withSetMutation: mutation, using: Set<AnyHashable>(objects))
            song.didChangeValue(forKey: "tags", withSetMutation: mutation, using: Set<AnyHashable>(objects))
        }
        #expect(tags.changes.map(\.kind) == [.insertion, .removal, .removal, .replacement])
        #expect(tags.changes.map(\.newValue) == [[folk], nil, nil, [folk]])
        #expect(tags.changes.map(\.oldValue) == [nil, [rock], [rock], [rock]])
        for kind in [NSKeyValueChange.insertion, .removal, .replacement, .setting] {
            album.willChange(kind, valuesAt: [0], forKey: "songs")
            album.didChange(kind, valuesAt: [0], forKey: "songs")
        }
        withExtendedLifetime(observations) {}
        #expect(songs.changes.map(\.kind) == [.insertion, .removal, .replacement, .setting])
        #expect(songs.changes.map(\.newValue) == [album.songs, nil, album.songs, album.songs])
        #expect(songs.changes.map(\.oldValue) == [nil, album.songs, album.songs, album.songs])
    }

    @Test func rollbackUndoAndMergesReportChanges() throws {
        let context = try context()
        let song = Song(context: context)
        (song.title, song.plays) = ("a", 1)
        try context.save()
        let (titles, plays) = (Log<String?>(), Log<Int32>())
        let observations = [
            song.observe(\.title, options: [.old, .new]) { titles.changes.append($1) },
            song.observe(\.plays, options: [.old, .new]) { plays.changes.append($1) },
        ]
        defer { withExtendedLifetime(observations) {} }
        song.title = "b"
        _ = titles.take()
        context.rollback()
        var change = try #require(titles.take().first)
        #expect(change.oldValue == "b")
        #expect(change.newValue == "a")

        let undo = UndoManager()
        context.undoManager = undo
        song.title = "c"
        context.processPendingChanges()
        _ = titles.take()
        context.undo()
        context.processPendingChanges()
        change = try #require(titles.take().first)
        #expect(change.oldValue == "c")
        #expect(change.newValue == "a")
        context.undoManager = nil
        context.rollback()
        #expect(plays.take().isEmpty)

        let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        other.persistentStoreCoordinator = context.persistentStoreCoordinator
        let id = song.objectID
        nonisolated(unsafe) var saved: Notification?
        let observer = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: other, queue: nil) {
            saved = $0
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        try other.performAndWait {
            other.object(with: id).setValue("d", forKey: "title")
            try other.save()
        }
        context.mergeChanges(fromContextDidSave: try #require(saved))
        change = try #require(titles.take().first)
        #expect(change.oldValue == "a")
        #expect(change.newValue == "d")
        #expect(plays.take().isEmpty)
    }

    @Test func aMergeReportsNewMembersToTheirOwner() throws {
        let context = try context()
        let album = album(["a"], in: context)
        try context.save()
        let log = Log<NSOrderedSet?>()
        let observation = album.observe(\.songs, options: [.old, .new]) { log.changes.append($1) }
        defer { withExtendedLifetime(observation) {} }
        let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        other.persistentStoreCoordinator = context.persistentStoreCoordinator
        let id = album.objectID
        nonisolated(unsafe) var saved: Notification?
        let observer = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: other, queue: nil) {
            saved = $0
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        try other.performAndWait {
            Song(context: other).album = other.object(with: id) as? Album
            try other.save()
        }
        context.mergeChanges(fromContextDidSave: try #require(saved))
        let change = try #require(log.take().first)
        #expect(change.kind == .setting)
        #expect(change.oldValue??.count == 1)
        #expect(change.newValue??.count == 2)
    }

    @Test func turningIntoAFaultReportsEachProperty() throws {
        let context = try context()
        let song = Song(context: context)
        song.title = "a"
        try context.save()
        let log = Log<String?>()
        let observation = song.observe(\.title) { log.changes.append($1) }
        context.refresh(song, mergeChanges: false)
        #expect(song.isFault)
        #expect(log.take().count == 1)
        // A fault has no value to replace.
        context.refresh(song, mergeChanges: false)
        context.refresh(song, mergeChanges: true)
        #expect(log.take().isEmpty)
        _ = song.title
        context.refresh(song, mergeChanges: true)
        #expect(log.take().isEmpty)
        withExtendedLifetime(observation) {}
    }

    @Test func aHandlerMayChangeTheGraph() throws {
        let context = try context()
        let (first, second, song) = (album(in: context), album(in: context), Song(context: context))
        let observation = song.observe(\.album) { song, _ in if song.album === first { song.album = second } }
        song.album = first
        withExtendedLifetime(observation) {}
        #expect(song.album === second)
        #expect(first.songs?.count == 0)
        #expect(second.songs?.array as? [Song] == [song])
    }
}

enum Records {
    private static var model: Model {
        let song = Entity(
            name: "Song", className: "ObservedSong",
            attributes: [Attribute(name: "title", type: .string), Attribute(name: "plays", type: .integer32, defaultValue: .int(0))],
            relationships: [
                Relationship(name: "album", destination: "Album", inverse: "songs"),
                Relationship(name: "tags", destination: "Tag", inverse: "songs", isToMany: true),
            ])
        let album = Entity(
            name: "Album", className: "ObservedAlbum", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "songs", destination: "Song", inverse: "album", isToMany: true, isOrdered: true)])
        let tag = Entity(
            name: "Tag", className: "ObservedTag", attributes: [Attribute(name: "label", type: .string)],
            relationships: [Relationship(name: "songs", destination: "Song", inverse: "tags", isToMany: true)])
        return Model(entities: [song, album, tag])
    }

    static func container() throws -> NSPersistentContainer { try Library.container(model: model) }
}

private typealias Song = ObservedSong
private typealias Album = ObservedAlbum
private typealias Tag = ObservedTag

// Classes with accessors as the model compiler writes them.

final class ObservedSong: NSManagedObject {
    private enum Keys {
        static let title = ManagedPropertyKey("title")
        static let plays = ManagedPropertyKey("plays")
        static let album = ManagedPropertyKey("album")
        static let tags = ManagedPropertyKey("tags")
    }
    var title: String? {
        get { _string(Keys.title) }
        set { _setString(Keys.title, newValue) }
    }
    var plays: Int32 {
        get { _int32(Keys.plays) }
        set { _setInt32(Keys.plays, newValue) }
    }
    var album: ObservedAlbum? {
        get { _object(Keys.album, as: ObservedAlbum.self) }
        set { _setObject(Keys.album, newValue) }
    }
    var tags: Set<ObservedTag> {
        get { _objectSet(Keys.tags, of: ObservedTag.self) ?? [] }
        set { setValue(newValue, forKey: "tags") }
    }

    var line: String { "\(title ?? "") – \(album?.name ?? "")" }
    var loudTitle: String? {
        get { title }
        set {
            willChangeValue(forKey: "title")
            setPrimitiveValue(newValue?.uppercased(), forKey: "title")
            didChangeValue(forKey: "title")
        }
    }
}

final class ObservedAlbum: NSManagedObject {
    private enum Keys {
        static let name = ManagedPropertyKey("name")
        static let songs = ManagedPropertyKey("songs")
    }
    var name: String? {
        get { _string(Keys.name) }
        set { _setString(Keys.name, newValue) }
    }
    var songs: NSOrderedSet? {
        get { _orderedObjects(Keys.songs) }
        set { _setOrderedObjects(Keys.songs, newValue) }
    }
    func addToSongs(_ value: ObservedSong) { _addObject(Keys.songs, value) }
    func addToSongs(_ values: NSOrderedSet) { _addObjects(Keys.songs, values) }
}

final class ObservedTag: NSManagedObject {}
