// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite("Ordered relationships")
struct OrderedRelationshipTests {
    /// A saved playlist with tracks a, b, c, d.
    private func saved(_ context: NSManagedObjectContext) throws -> Playlist {
        let list = Playlist.inserted("list", context)
        list.setValue(NSOrderedSet(array: ["a", "b", "c", "d"].map { Track.inserted($0, context) }), forKey: "tracks")
        try context.save()
        return list
    }

    @Test func anOrderedSetLeavesOtherRelationshipsUnread() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let (list, other) = (try saved(context), try saved(context))
            context.refresh(other, mergeChanges: false)
            let tracks = list.orderedMembers("tracks")
            Track.inserted("e", context).setValue(other, forKey: "playlist")
            #expect(other.hasFault(forRelationshipNamed: "tracks"))
            #expect(other.memberNames("tracks") == ["a", "b", "c", "d", "e"])
            #expect(tracks.count == 4)
        }
    }

    private func names(_ set: NSMutableOrderedSet) -> [String] { set.array.compactMap { ($0 as? NSManagedObject)?.nameValue } }

    @Test func anOrderedSetFollowsChangesAfterARollback() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let tracks = list.orderedMembers("tracks")
            tracks.add(Track.inserted("x", context))
            list.orderedMembers("tracks").add(Track.inserted("y", context))
            #expect(names(tracks) == ["a", "b", "c", "d", "x", "y"])
            tracks.removeObjects(at: IndexSet([0, 2]))
            #expect(names(tracks) == ["b", "d", "x", "y"])
            // As many members as the set shows.
            context.rollback()
            Track.inserted("n", context).setValue(list, forKey: "playlist")
            #expect(names(tracks) == ["a", "b", "c", "d", "n"])
            #expect(list.memberNames("tracks") == ["a", "b", "c", "d", "n"])
        }
    }

    @Test func aSetCountsUnsavedMembers() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let (a, x) = (try #require(list.orderedMembers("tracks").firstObject), Track.inserted("x", context))
            let tracks = list.mutableSetValue(forKey: "tracks")
            tracks.add(x)
            #expect(tracks.count == 5)
            #expect(tracks.contains(x))
            tracks.remove(a)
            #expect(tracks.count == 4)
            #expect(!tracks.contains(a))
            tracks.remove(x)
            #expect(tracks.count == 3)
            #expect(!tracks.contains(x))
        }
    }

    /// No change of one member may copy all: that would take many minutes here.
    @Test(.timeLimit(.minutes(2))) func manyMembersAreAppendedOneByOneAndRemoved() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let held = list.orderedMembers("tracks")
            for number in 0..<30_000 {
                let track = Track.inserted("\(number)", context)
                if number.isMultiple(of: 2) { held.add(track) } else { list.orderedMembers("tracks").add(track) }
            }
            #expect(held.count == 30_004)
            #expect((held.lastObject as? Track)?.nameValue == "29999")
            let members = try #require(list.value(forKey: "tracks") as? NSOrderedSet)
            #expect(members.count == 30_004)
            held.removeAllObjects()
            #expect(held.count == 0)
            #expect(list.memberNames("tracks").isEmpty)
        }
    }

    @Test(arguments: Change.all)
    func changesByOrderedSetMethodsAreSaved(_ change: Change) throws {
        let container = try Music.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let new = ["x", "y"].map { Track.inserted($0, context) }
            change.body(list.orderedMembers("tracks"), new)
            #expect(list.memberNames("tracks") == change.result)
            #expect(list.isUpdated)
            try context.save()
            #expect(list.memberNames("tracks") == change.result)
            context.refresh(list, mergeChanges: false)
            #expect(list.memberNames("tracks") == change.result)
            let other = container.newBackgroundContext()
            let id = list.objectID
            other.performAndWait {
                let there = other.object(with: id)
                #expect(there.memberNames("tracks") == change.result)
                for case let track as Track in there.value(forKey: "tracks") as? NSOrderedSet ?? [] {
                    #expect(track.value(forKey: "playlist") as? NSManagedObject == there)
                }
            }
        }
    }

    struct Change: CustomTestStringConvertible, @unchecked Sendable {
        // Unchecked: the body captures nothing.
        let testDescription: String
        let result: [String]
        let body: (NSMutableOrderedSet, [Track]) -> Void

        static func letters(_ text: String) -> [String] { text.map(String.init) }
        init(_ name: String, _ result: String, _ body: @escaping (NSMutableOrderedSet, [Track]) -> Void) {
            testDescription = name
            self.result = Self.letters(result)
            self.body = body
        }

        static let all = [
            Change("add", "abcdx") { $0.add($1[0]) },
            Change("add an existing member", "abcd") { set, new in
                set.add(set[1])
                set.insert(set[2], at: 0)
                set.exchangeObject(at: 0, withObjectAt: 1)
                set.exchangeObject(at: 0, withObjectAt: 1)
            },
            Change("insert", "xabcd") { $0.insert($1[0], at: 0) },
            Change("insert several", "xaybcd") { $0.insert($1, at: IndexSet([0, 2])) },
            Change("remove at", "acd") { set, _ in set.removeObject(at: 1) },
            Change("remove several", "bd") { set, _ in set.removeObjects(at: IndexSet([0, 2])) },
            Change("remove range", "ad") { set, _ in set.removeObjects(in: NSRange(location: 1, length: 2)) },
            Change("remove all, add", "y") { set, new in
                set.removeAllObjects()
                set.add(new[1])
            },
            Change("replace", "axcd") { $0.replaceObject(at: 1, with: $1[0]) },
            Change("replace several", "xbyd") { $0.replaceObjects(at: IndexSet([0, 2]), with: $1) },
            Change("exchange", "dbca") { set, _ in set.exchangeObject(at: 0, withObjectAt: 3) },
            Change("move", "bcda") { set, _ in set.moveObjects(at: IndexSet(integer: 0), to: 3) },
            Change("move two", "cdab") { set, _ in set.moveObjects(at: IndexSet([0, 1]), to: 2) },
            Change("union", "abcdxy") { $0.union(NSOrderedSet(array: $1)) },
            Change("minus", "cd") { set, _ in set.minus(NSOrderedSet(array: [set[0], set[1]])) },
            Change("intersect", "bc") { set, new in set.intersect(NSOrderedSet(array: [set[1], set[2], new[0]])) },
            Change("add and remove", "bcdxa") { set, new in
                let first = set[0]
                set.remove(first)
                set.add(new[0])
                set.add(first)
            },
            Change("sort", "dcba") { set, _ in
                set.sort { (one: Any, other: Any) in
                    let names = [other, one].compactMap { ($0 as? NSManagedObject)?.nameValue }
                    return names[0].compare(names[1])
                }
            },
        ]
    }

    @Test func aMemberAddedByItsToOneSideComesLast() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let other = Playlist.inserted("other", context)
            let new = Track.inserted("x", context)
            new.setValue(list, forKey: "playlist")
            #expect(list.memberNames("tracks") == ["a", "b", "c", "d", "x"])
            let first = try #require(list.orderedMembers("tracks").firstObject as? Track)
            first.setValue(other, forKey: "playlist")
            #expect(list.memberNames("tracks") == ["b", "c", "d", "x"])
            #expect(other.memberNames("tracks") == ["a"])
            first.setValue(list, forKey: "playlist")
            #expect(list.memberNames("tracks") == ["b", "c", "d", "x", "a"])
            try context.save()
            context.refreshAllObjects()
            #expect(list.memberNames("tracks") == ["b", "c", "d", "x", "a"])
            #expect(other.memberNames("tracks") == [])
        }
    }

    @Test func addingToAnUnreadRelationshipKeepsTheOrderOfOthers() throws {
        let container = try Music.container()
        let context = container.newBackgroundContext()
        let id = try context.performAndWait { try saved(context).objectID }
        let other = container.newBackgroundContext()
        try other.performAndWait {
            let list = other.object(with: id)
            for name in ["x", "y", "z"] { Track.inserted(name, other).setValue(list, forKey: "playlist") }
            #expect(list.hasFault(forRelationshipNamed: "tracks"))
            try other.save()
            #expect(list.memberNames("tracks") == ["a", "b", "c", "d", "x", "y", "z"])
            list.orderedMembers("tracks").exchangeObject(at: 0, withObjectAt: 6)
            try other.save()
            let last = Track.inserted("w", other)
            last.setValue(list, forKey: "playlist")
            try other.save()
            other.refresh(list, mergeChanges: false)
            #expect(list.memberNames("tracks") == ["z", "b", "c", "d", "x", "y", "a", "w"])
        }
    }

    @Test func bothSidesOfAManyToManyRelationshipHaveTheirOwnOrder() throws {
        let container = try Music.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let tracks = ["a", "b", "c"].map { Track.inserted($0, context) }
            let moods = ["calm", "loud", "odd"].map { Mood.inserted($0, context) }
            tracks[0].setValue(NSOrderedSet(array: [moods[2], moods[0], moods[1]]), forKey: "moods")
            tracks[1].setValue(NSOrderedSet(array: [moods[1], moods[2]]), forKey: "moods")
            moods[2].orderedMembers("tracks").insert(tracks[2], at: 0)
            try context.save()
            for object in tracks + moods as [NSManagedObject] { context.refresh(object, mergeChanges: false) }
            #expect(tracks[0].memberNames("moods") == ["odd", "calm", "loud"])
            #expect(tracks[1].memberNames("moods") == ["loud", "odd"])
            #expect(tracks[2].memberNames("moods") == ["odd"])
            #expect(moods[2].memberNames("tracks") == ["c", "a", "b"])
            #expect(moods[0].memberNames("tracks") == ["a"])
            moods[2].orderedMembers("tracks").moveObjects(at: IndexSet(integer: 2), to: 0)
            tracks[0].orderedMembers("moods").removeObject(at: 0)
            try context.save()
            context.refreshAllObjects()
            #expect(moods[2].memberNames("tracks") == ["b", "c"])
            #expect(tracks[0].memberNames("moods") == ["calm", "loud"])
        }
    }

    @Test func aReorderingIsAChangeAndCanBeUndone() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            #expect(!list.hasChanges)
            list.orderedMembers("tracks").exchangeObject(at: 0, withObjectAt: 1)
            #expect(list.hasChanges)
            #expect(list.hasPersistentChangedValues)
            #expect(list.changedValues().keys.sorted() == ["tracks"])
            #expect((list.changedValues()["tracks"] as? NSOrderedSet)?.count == 4)
            let before = list.committedValues(forKeys: ["tracks"])["tracks"] as? NSOrderedSet
            #expect(before?.compactMap { ($0 as? Track)?.nameValue } == ["a", "b", "c", "d"])
            context.rollback()
            #expect(list.memberNames("tracks") == ["a", "b", "c", "d"])
            #expect(!list.hasChanges)
            list.orderedMembers("tracks").exchangeObject(at: 0, withObjectAt: 1)
            context.refresh(list, mergeChanges: false)
            #expect(list.memberNames("tracks") == ["a", "b", "c", "d"])
            list.orderedMembers("tracks").exchangeObject(at: 0, withObjectAt: 1)
            context.refresh(list, mergeChanges: true)
            #expect(list.memberNames("tracks") == ["b", "a", "c", "d"])
        }
    }

    @Test func deletedMembersLeaveTheOrderOfOthers() throws {
        let container = try Music.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let second = try #require(list.orderedMembers("tracks")[1] as? Track)
            context.delete(second)
            context.processPendingChanges()
            #expect(list.memberNames("tracks") == ["a", "c", "d"])
            try context.save()
            #expect(list.memberNames("tracks") == ["a", "c", "d"])
            context.refreshAllObjects()
            #expect(list.memberNames("tracks") == ["a", "c", "d"])
        }
    }

    @Test func mergedOrderKeepsLocallyAddedMembersAtTheEnd() throws {
        let container = try Music.container()
        let context = container.newBackgroundContext()
        let other = container.newBackgroundContext()
        other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        let id = try context.performAndWait { try saved(context).objectID }
        other.performAndWait {
            let list = other.object(with: id)
            #expect(list.memberNames("tracks") == ["a", "b", "c", "d"])
            Track.inserted("x", other).setValue(list, forKey: "playlist")
        }
        try context.performAndWait {
            let list = context.object(with: id)
            list.orderedMembers("tracks").moveObjects(at: IndexSet(integer: 3), to: 0)
            try context.save()
        }
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: [id]], into: [other])
        try other.performAndWait {
            let list = other.object(with: id)
            #expect(list.memberNames("tracks") == ["d", "a", "b", "c", "x"])
            try other.save()
            other.refreshAllObjects()
            #expect(list.memberNames("tracks") == ["d", "a", "b", "c", "x"])
        }
    }

    @Test func concurrentOrdersConflictAndFollowTheMergePolicy() throws {
        let container = try Music.container()
        let context = container.newBackgroundContext()
        let id = try context.performAndWait { try saved(context).objectID }
        let other = container.newBackgroundContext()
        other.performAndWait { other.object(with: id).orderedMembers("tracks").exchangeObject(at: 0, withObjectAt: 3) }
        try context.performAndWait {
            context.object(with: id).orderedMembers("tracks").exchangeObject(at: 1, withObjectAt: 2)
            try context.save()
        }
        try other.performAndWait {
            #expect { try other.save() } throws: { ($0 as NSError).code == 133020 }
            other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            try other.save()
            other.refreshAllObjects()
            #expect(other.object(with: id).memberNames("tracks") == ["d", "b", "c", "a"])
        }
    }

    @Test func aMutableOrderedSetReflectsLaterChanges() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = try saved(context)
            let set = list.orderedMembers("tracks")
            let track = Track.inserted("x", context)
            track.setValue(list, forKey: "playlist")
            #expect(set.count == 5)
            #expect(set.contains(track))
            #expect(set.array.count == 5)
            track.setValue(nil, forKey: "playlist")
            #expect(!set.contains(track))
            set.add(track)
            #expect(track.value(forKey: "playlist") as? Playlist == list)
            #expect(set.index(of: track) == 4)
            #expect((set.lastObject as? Track) == track)
        }
    }
}

@Suite("Mutable sets of relationships")
struct MutableSetTests {
    @Test(arguments: Change.all)
    func changesBySetMethodsAreSaved(_ change: Change) throws {
        let context = try Library.context()
        try context.performAndWait {
            let book = Book(context: context)
            let tags = ["a", "b", "c", "x", "y"].map { label in
                let tag = Tag(context: context)
                tag.setValue(label, forKey: "label")
                return tag
            }
            book.setValue(Set(tags[..<3]), forKey: "tags")
            try context.save()
            change.body(book.mutableSetValue(forKey: "tags"), tags)
            func labels() -> [String] {
                (book.value(forKey: "tags") as? Set<Tag> ?? []).compactMap { $0.value(forKey: "label") as? String }.sorted()
            }
            #expect(labels() == change.result)
            #expect(book.mutableSetValue(forKey: "tags").count == change.result.count)
            try context.save()
            context.refreshAllObjects()
            #expect(labels() == change.result)
            for tag in tags {
                let isMember = change.result.contains(tag.value(forKey: "label") as? String ?? "")
                #expect((tag.value(forKey: "books") as? Set<Book>)?.contains(book) == isMember)
            }
        }
    }

    struct Change: CustomTestStringConvertible, @unchecked Sendable {
        // Unchecked: the body captures nothing.
        let testDescription: String
        let result: [String]
        let body: (NSMutableSet, [Tag]) -> Void

        init(_ name: String, _ result: [String], _ body: @escaping (NSMutableSet, [Tag]) -> Void) {
            testDescription = name
            self.result = result
            self.body = body
        }

        static let all = [
            Change("add", ["a", "b", "c", "x"]) { $0.add($1[3]) },
            Change("addObjects", ["a", "b", "c", "x", "y"]) { $0.addObjects(from: Array($1[2...])) },
            Change("remove", ["b", "c"]) { $0.remove($1[0]) },
            Change("removeAllObjects", []) { set, _ in set.removeAllObjects() },
            Change("union", ["a", "b", "c", "x"]) { $0.union([$1[0], $1[3]]) },
            Change("minus", ["b", "c"]) { $0.minus([$1[0], $1[3]]) },
            Change("intersect", ["a"]) { $0.intersect([$1[0], $1[3]]) },
            Change("setSet", ["c", "y"]) { $0.setSet([$1[2], $1[4]]) },
        ]
    }
}
