// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct PrefetchTests {
    private func names(_ objects: Any?) -> [String] {
        ((objects as? Set<NSManagedObject>) ?? []).compactMap { $0.value(forKey: "name") as? String }.sorted()
    }

    @Test func prefetchedToManyRelationshipsAreLoaded() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let plain = try Shelves.all("Room", by: "name", in: context)
            #expect(plain.allSatisfy { $0.hasFault(forRelationshipNamed: "shelves") })
            context.reset()
            let request = Shelves.sorted("Room", by: "name")
            request.relationshipKeyPathsForPrefetching = ["shelves", "shelves.items"]
            let rooms = try context.fetch(request)
            #expect(rooms.count == 2)
            #expect(rooms.allSatisfy { !$0.hasFault(forRelationshipNamed: "shelves") })
            #expect(names(rooms[0].value(forKey: "shelves")) == ["attic 1", "attic 2"])
            let shelves = (rooms[1].value(forKey: "shelves") as? Set<NSManagedObject> ?? []).sorted {
                names(Set([$0])).joined() < names(Set([$1])).joined()
            }
            #expect(shelves.map { names($0.value(forKey: "items")) } == [["item 2", "item 6"], ["item 3", "item 7"]])
        }
    }

    @Test(arguments: ["shelf.owner", "name", "nothing"]) func aKeyPathWithoutARelationshipIsAnError(_ keyPath: String) throws {
        let context = try FetchRequestTests.filled()
        context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.relationshipKeyPathsForPrefetching = ["shelf", keyPath]
            #expect(Depot.code { _ = try context.fetch(request) } == 134_070)
        }
    }

    @Test func toOneRelationshipsArePrefetchedAcrossTwoSteps() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.relationshipKeyPathsForPrefetching = ["shelf.room", "marks"]
            let items = try context.fetch(request)
            #expect(
                items.map { $0.value(forKeyPath: "shelf.room.name") as? String } == [
                    "attic", "hall", "hall", "attic", "attic", "hall", "hall", nil,
                ])
            #expect(items.allSatisfy { !$0.hasFault(forRelationshipNamed: "marks") })
            #expect(items.map { ($0.value(forKey: "marks") as? NSSet)?.count } == Array(repeating: 0, count: 8))
        }
    }

    @Test func manyToManyRelationshipsArePrefetched() throws {
        let container = try Shelves.container()
        let writer = container.newBackgroundContext()
        try writer.performAndWait {
            try Shelves.fill(writer)
            let items = try Shelves.all("Item", by: "amount", in: writer)
            for number in 0..<3 {
                let mark = Shelves.insert("Mark", ["label": "mark \(number)"], into: writer)
                mark.setValue(NSSet(array: Array(items[number...(number + 1)])), forKey: "items")
            }
            try writer.save()
        }
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let request = Shelves.sorted("Mark", by: "label")
            request.relationshipKeyPathsForPrefetching = ["items.shelf"]
            let marks = try context.fetch(request)
            #expect(marks.allSatisfy { !$0.hasFault(forRelationshipNamed: "items") })
            #expect(
                marks.map { names($0.value(forKey: "items")) } == [["item 1", "item 2"], ["item 2", "item 3"], ["item 3", "item 4"]])
            #expect(names(marks[1].value(forKeyPath: "items.shelf")) == ["hall 1", "hall 2"])
        }
    }

    @Test func unsavedChangesOverlayPrefetchedRows() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let rooms = try Shelves.all("Room", by: "name", in: context)
            let shelves = try Shelves.all("Shelf", by: "name", in: context)
            shelves[0].setValue(rooms[1], forKey: "room")
            shelves[1].setValue("renamed", forKey: "name")
            context.delete(shelves[2])
            Shelves.insert("Shelf", ["name": "new", "room": rooms[0]], into: context)
            let request = Shelves.sorted("Room", by: "name")
            request.relationshipKeyPathsForPrefetching = ["shelves.items"]
            let again = try context.fetch(request)
            #expect(again == rooms)
            #expect(names(rooms[0].value(forKey: "shelves")) == ["new", "renamed"])
            #expect(names(rooms[1].value(forKey: "shelves")) == ["attic 1", "hall 2"])
        }
    }

    @Test func prefetchedRelationshipsFollowSavesAndMerges() throws {
        let container = try Shelves.container()
        let (reader, writer) = (container.newBackgroundContext(), container.newBackgroundContext())
        try writer.performAndWait { try Shelves.fill(writer) }
        reader.automaticallyMergesChangesFromParent = true
        var items: [NSManagedObject] = []
        try reader.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.relationshipKeyPathsForPrefetching = ["shelf.room"]
            items = try reader.fetch(request)
            let shelf = try #require(items[0].value(forKey: "shelf") as? NSManagedObject)
            shelf.setValue("mine", forKey: "name")
            try reader.save()
        }
        try writer.performAndWait {
            writer.refreshAllObjects()
            for room in try Shelves.all("Room", by: "name", in: writer) { room.setValue("their room", forKey: "name") }
            let shelf = try #require(
                try Shelves.all("Shelf", by: "name", in: writer).first { $0.value(forKey: "name") as? String == "hall 2" })
            shelf.setValue("theirs", forKey: "name")
            try writer.save()
        }
        reader.performAndWait {
            #expect(items[0].value(forKeyPath: "shelf.name") as? String == "mine")
            #expect(items[2].value(forKeyPath: "shelf.name") as? String == "theirs")
            #expect(items[1].value(forKeyPath: "shelf.name") as? String == "hall 1")
            #expect(items[0].value(forKeyPath: "shelf.room.name") as? String == "their room")
        }
    }

    @Test func batchedFetchesPrefetchRelationships() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Shelf", by: "name")
            request.fetchBatchSize = 2
            request.relationshipKeyPathsForPrefetching = ["items", "room"]
            let shelves = try context.fetch(request)
            #expect(shelves.map { $0.value(forKey: "name") as? String } == ["attic 1", "attic 2", "hall 1", "hall 2"])
            #expect(shelves.allSatisfy { !$0.hasFault(forRelationshipNamed: "items") })
            #expect(shelves.map { ($0.value(forKey: "items") as? NSSet)?.count } == [1, 2, 2, 2])
            #expect(shelves.map { $0.value(forKeyPath: "room.name") as? String } == ["attic", "attic", "hall", "hall"])
        }
    }
}
