// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudCollaboration
import CoreData
import Foundation
import Testing

/// Texts and lists over the objects of one context.
@Suite struct ContributedTextTests {
    static func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
        let attribute = NSAttributeDescription()
        (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
        return attribute
    }

    static func pair(_ one: (NSEntityDescription, String, Int), _ other: (NSEntityDescription, String, Int)) {
        let (near, far) = (NSRelationshipDescription(), NSRelationshipDescription())
        (near.name, near.maxCount, near.destinationEntity, near.inverseRelationship) = (one.1, one.2, other.0, far)
        (far.name, far.maxCount, far.destinationEntity, far.inverseRelationship) = (other.1, other.2, one.0, near)
        for relationship in [near, far] { (relationship.isOptional, relationship.deleteRule) = (true, .nullifyDeleteRule) }
        one.0.properties.append(near)
        other.0.properties.append(far)
    }

    private func context(isOrdered: Bool = false) throws -> NSManagedObjectContext {
        let (post, content) = (NSEntityDescription(), NSEntityDescription())
        (post.name, content.name) = ("Post", "PostContent")
        post.properties = [Self.attribute("title", .stringAttributeType)]
        content.properties = [
            Self.attribute("text", .stringAttributeType), Self.attribute("author", .stringAttributeType),
            Self.attribute("clock", .integer64AttributeType), Self.attribute("offset", .integer64AttributeType),
            Self.attribute("count", .integer64AttributeType),
        ]
        Self.pair((post, "contents", 0), (content, "post", 1))
        Self.pair((content, "children", 0), (content, "parent", 1))
        post.relationshipsByName["contents"]?.isOrdered = isOrdered
        let model = NSManagedObjectModel()
        model.entities = [post, content]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        _ = try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        return context
    }

    @Test func settingATextContributesTheDifference() throws {
        let context = try context()
        try context.performAndWait {
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            let text = ContributedText(of: post, "contents", by: "tablet")
            #expect(text.string == "")
            var texts = [
                "Hello", "Hello world", "Hello, big world", "Hello, world", "", "𝄞 é 👨‍👩‍👧 ü", "𝄞 é 👨‍👩 ü", "a quick brown fox",
                "the quick red fox!",
            ]
            texts += (0..<40).map { number in String((0..<30).map { "abc".randomElement(at: number * 31 + $0 * $0) }) }
            for wanted in texts {
                text.string = wanted
                #expect(text.string == wanted)
            }
            try context.save()
            context.reset()
            let again = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post")).first)
            #expect(ContributedText(of: again, "contents", by: "phone").string == texts.last)
        }
    }

    /// The order of contributions depends on their contents, not on the relationship's order.
    @Test func contributionsMayBeAnOrderedRelationship() throws {
        let context = try context(isOrdered: true)
        try context.performAndWait {
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            let text = ContributedText(of: post, "contents", by: "tablet")
            for wanted in ["Hello", "Hello world", "Hello, world"] {
                text.string = wanted
                #expect(text.string == wanted)
            }
            try context.save()
            context.reset()
            let again = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post")).first)
            #expect(ContributedText(of: again, "contents", by: "phone").string == "Hello, world")
        }
    }

    @Test func maximalClocksOfOtherDevicesDoNotBlockEdits() throws {
        let context = try context()
        context.performAndWait {
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            let text = ContributedText(of: post, "contents", by: "tablet")
            text.string = "one"
            let contributions = post.value(forKey: "contents") as? Set<NSManagedObject> ?? []
            for contribution in contributions { contribution.setValue(Int64.max, forKey: "clock") }
            text.string = "one two"
            #expect(text.string == "one two")
        }
    }

    @Test func settingTheSameTextContributesNothing() throws {
        let context = try context()
        context.performAndWait {
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            let text = ContributedText(of: post, "contents", by: "tablet")
            text.string = "one two three"
            text.string = "one two three"
            #expect((post.value(forKey: "contents") as? Set<NSManagedObject>)?.count == 1)
            text.insert("zero ", at: 0)
            text.replace(9..<12, with: "2")
            #expect(text.string == "zero one 2 three")
            // One insertion, one of the two that replace, one removal.
            #expect((post.value(forKey: "contents") as? Set<NSManagedObject>)?.count == 4)
        }
    }

    @Test func aListInsertsRemovesAndMoves() throws {
        let context = try context()
        context.performAndWait {
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            let list = ContributedList(of: post, "contents", by: "tablet")
            for value in ["b", "d"] { list.append(value) }
            list.insert("a", at: 0)
            list.insert("c", at: 2)
            #expect(list.values == ["a", "b", "c", "d"])
            list.move(from: 0, to: 2)
            #expect(list.values == ["b", "c", "a", "d"])
            list.move(from: 3, to: 0)
            list.remove(at: 1)
            #expect(list.values == ["d", "c", "a"])
        }
    }

    /// Two contexts for two devices: each edits its own copy of the contributions, which are exchanged at random.
    @Test(arguments: 1...12) func devicesThatEditTheSameTextConverge(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let devices = try ["a", "b"].map { name in (name: name, context: try context()) }
        var posts: [NSManagedObject] = []
        for device in devices {
            device.context.performAndWait { posts.append(NSEntityDescription.insertNewObject(forEntityName: "Post", into: device.context)) }
        }
        var expected: Set<String> = []
        for round in 0..<6 {
            for (device, post) in zip(devices, posts) {
                for step in 0..<Int.random(in: 0...3, using: &random) {
                    let word = "[\(device.name)\(round)\(step)]"
                    expected.insert(word)
                    let place = Int.random(in: 0...100, using: &random)
                    device.context.performAndWait {
                        let text = ContributedText(of: post, "contents", by: device.name)
                        let old = text.string
                        let gaps = [0] + old.indices.filter { old[$0] == "]" }.map { old.distance(from: old.startIndex, to: $0) + 1 }
                        var new = old
                        new.insert(contentsOf: word, at: old.index(old.startIndex, offsetBy: gaps[place % gaps.count]))
                        text.string = new
                    }
                }
            }
            Exchange.run(from: posts[0], to: posts[1], &random)
            Exchange.run(from: posts[1], to: posts[0], &random)
        }
        let texts = zip(devices, posts).map { device, post in
            device.context.performAndWait { ContributedText(of: post, "contents", by: "x").string }
        }
        #expect(texts[0] == texts[1], "seed \(seed)")
        #expect(Set(texts[0].split(separator: "]").map { "\($0)]" }) == expected, "seed \(seed)")
    }
}

/// Copies contributions that the other side lacks, as syncing does, in a random order.
private enum Exchange {
    private struct Line {
        let id: String
        let parent: String?
        let values: [String: Any]
    }

    private static func id(_ object: NSManagedObject) -> String {
        "\(object.value(forKey: "author") ?? "")-\((object.value(forKey: "clock") as? NSNumber)?.int64Value ?? 0)"
    }

    static func run(from source: NSManagedObject, to target: NSManagedObject, _ random: inout SeededNumbers) {
        guard let (from, to) = zipped(source.managedObjectContext, target.managedObjectContext) else { return }
        let lines = from.performAndWait {
            (source.value(forKey: "contents") as? Set<NSManagedObject> ?? []).map { object in
                Line(
                    id: id(object), parent: (object.value(forKey: "parent") as? NSManagedObject).map(id),
                    values: object.dictionaryWithValues(forKeys: ["text", "author", "clock", "offset", "count"]))
            }
        }.sorted { $0.id < $1.id }.shuffled(using: &random)
        to.performAndWait {
            var known: [String: NSManagedObject] = [:]
            for object in target.value(forKey: "contents") as? Set<NSManagedObject> ?? [] { known[id(object)] = object }
            for line in lines where known[line.id] == nil {
                let object = NSEntityDescription.insertNewObject(forEntityName: "PostContent", into: to)
                object.setValuesForKeys(line.values)
                object.setValue(target, forKey: "post")
                known[line.id] = object
            }
            for line in lines { if let parent = line.parent { known[line.id]?.setValue(known[parent], forKey: "parent") } }
        }
    }

    private static func zipped<T>(_ one: T?, _ other: T?) -> (T, T)? { one.flatMap { one in other.map { (one, $0) } } }
}

extension String {
    fileprivate func randomElement(at number: Int) -> Character { self[index(startIndex, offsetBy: (number * 7 + number / 3) % count)] }
}
