// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

/// Names of key paths of classes without a model.
@Suite struct KeyPathNameTests {
    @Test func attributesAndRelationshipsHaveNamesBeforeAModelIsLoaded() {
        #expect((\Quote.text)._kvcKeyPathString == "text")
        #expect((\Quote.count)._kvcKeyPathString == "count")
        #expect((\Quote.isPublic)._kvcKeyPathString == "isPublic")
        #expect((\Quote.price)._kvcKeyPathString == "price")
        #expect((\Quote.tags)._kvcKeyPathString == "tags")
        #expect((\Quote.ordered)._kvcKeyPathString == "ordered")
        #expect((\Quote.color)._kvcKeyPathString == "color")
        #expect((\Quote.kind)._kvcKeyPathString == "kind")
        #expect((\Quote.speaker)._kvcKeyPathString == "speaker")
        #expect((\Quote.speaker?.name)._kvcKeyPathString == "speaker.name")
        #expect((\Speaker.best?.speaker?.name)._kvcKeyPathString == "best.speaker.name")
    }

    @Test func aPropertyThatReadsTwoAttributesHasNoName() {
        #expect((\Quote.both)._kvcKeyPathString == nil)
    }

    @Test func sortDescriptorsHaveTheKeysOfTheirKeyPaths() {
        #expect(NSSortDescriptor(keyPath: \Quote.text, ascending: true).key == "text")
        #expect(NSSortDescriptor(keyPath: \Quote.count, ascending: false).key == "count")
        #expect(NSSortDescriptor(keyPath: \Quote.speaker?.name, ascending: false).key == "speaker.name")
        #expect(NSSortDescriptor(key: nil, ascending: true).key == nil)
    }

    @Test func expressionsAreMadeOfKeyPaths() {
        #expect(NSExpression(forKeyPath: \Quote.speaker?.name).keyPath == "speaker.name")
    }

    @Test func storedPropertiesOfOtherTypesHaveNames() {
        struct Point { var x = 0, y: Point2? = nil }
        struct Point2 { var z = 0 }
        #expect((\Point.x)._kvcKeyPathString == "x")
        #expect((\Point.y?.z)._kvcKeyPathString == "y.z")
        #expect((\Point.self)._kvcKeyPathString == nil)
        #expect((\[Int].count)._kvcKeyPathString == nil)
        #expect((\[Int][0])._kvcKeyPathString == nil)
    }
}

/// As the model compiler writes it.
private class Quote: NSManagedObject {
    private enum PropertyKeys {
        static let text = ManagedPropertyKey("text")
        static let count = ManagedPropertyKey("count")
        static let isPublic = ManagedPropertyKey("isPublic")
        static let price = ManagedPropertyKey("price")
        static let tags = ManagedPropertyKey("tags")
        static let ordered = ManagedPropertyKey("ordered")
        static let color = ManagedPropertyKey("color")
        static let kind = ManagedPropertyKey("kind")
        static let speaker = ManagedPropertyKey("speaker")
    }
    enum Kind: Int16 { case plain }

    var text: String? { _string(PropertyKeys.text) }
    var count: Int64 { _int64(PropertyKeys.count) }
    var isPublic: Bool { _bool(PropertyKeys.isPublic) }
    var price: NSDecimalNumber? { _decimal(PropertyKeys.price) }
    var tags: NSSet? { _objects(PropertyKeys.tags) }
    var ordered: NSOrderedSet? { _orderedObjects(PropertyKeys.ordered) }
    var color: NSObject? { _transformable(PropertyKeys.color, as: NSObject.self) }
    var kind: Kind? { _value(PropertyKeys.kind) }
    var speaker: Speaker? { _object(PropertyKeys.speaker, as: Speaker.self) }
    var both: String { (text ?? "") + "\(count)" }
}

private class Speaker: NSManagedObject {
    private enum PropertyKeys {
        static let name = ManagedPropertyKey("name")
        static let best = ManagedPropertyKey("best")
    }
    var name: String? { _string(PropertyKeys.name) }
    var best: Quote? { _object(PropertyKeys.best, as: Quote.self) }
}
