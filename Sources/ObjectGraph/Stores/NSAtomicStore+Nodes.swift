// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// One object of an atomic store: attributes by name, nodes for to-one and sets of nodes for to-many relationships.
///
/// Source: developer.apple.com/documentation/coredata/nsatomicstorecachenode
open class NSAtomicStoreCacheNode: NSObject {
    /// The ID of the object.
    open private(set) var objectID: NSManagedObjectID
    /// The node's values by property name.
    open var propertyCache: NSMutableDictionary?

    /// Creates a node without values.
    public init(objectID moid: NSManagedObjectID) { objectID = moid }

    /// Returns a value by property name.
    open func value(forKey key: String) -> Any? { propertyCache?[key] }

    /// Sets a value by property name.
    open func setValue(_ value: Any?, forKey key: String) {
        if propertyCache == nil { propertyCache = NSMutableDictionary() }
        propertyCache?[key] = value
    }
}

// Conversion between nodes, objects and rows.

extension NSAtomicStore {
    func copy(_ object: NSManagedObject, to node: NSAtomicStoreCacheNode) {
        for (slot, definition) in object.layout.entity.slots.enumerated() {
            switch definition {
            case .attribute(let attribute):
                guard !attribute.isTransient else { continue }
                node.setValue(object.primitiveValue(forKey: attribute.name), forKey: attribute.name)
            case .toOne(let relationship):
                node.setValue(object.values[slot].reference.flatMap(self.node), forKey: relationship.name)
            }
        }
        for (index, relationship) in object.layout.entity.toMany.enumerated() {
            let members = object.toManyKeys(index).compactMap(self.node)
            let isOrdered = relationship.declaration.isOrdered
            node.setValue(isOrdered ? NSOrderedSet(array: members) : NSSet(array: members), forKey: relationship.name)
        }
    }

    func row(of node: NSAtomicStoreCacheNode, _ key: RowKey) throws -> Row {
        guard let layout = layout(key) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store was removed from its coordinator.")
        }
        var values = layout.defaults
        for (slot, definition) in layout.entity.slots.enumerated() {
            let value = node.value(forKey: definition.name)
            switch definition {
            case .attribute(let attribute):
                guard !attribute.isTransient else { continue }
                guard let stored = AttributeCoding.stored(value, as: attribute.type) else {
                    throw CocoaError(
                        .persistentStoreOperation,
                        sentence: "The store's value for \(layout.name).\(attribute.name) isn't of type \(attribute.type).")
                }
                values[slot] = stored
            case .toOne:
                // A reference to a removed node is nil.
                let destination = (value as? NSAtomicStoreCacheNode)?.objectID.key
                values[slot] = destination.flatMap { self.node($0) }.map { .reference($0.objectID.key) } ?? .null
            }
        }
        return Row(key: key, version: version(key), values: values)
    }

    func members(_ value: Any?) -> [RowKey] {
        let members: [Any] =
            switch value {
            case let set as NSSet: set.allObjects
            case let set as NSOrderedSet: set.array
            case let set as Set<NSAtomicStoreCacheNode>: Array(set)
            case let array as [Any]: array
            default: []
            }
        return members.compactMap { ($0 as? NSAtomicStoreCacheNode)?.objectID.key }.filter { node($0) != nil }
    }

    /// The results of a query, in its order, without its window.
    func matching(_ query: StoreQuery) throws -> [(key: RowKey, node: NSAtomicStoreCacheNode)] {
        guard let layouts = persistentStoreCoordinator?.layouts else { return [] }
        let entities = query.includesSubentities ? Set(layouts[query.entity].entity.hierarchy) : [query.entity]
        let now = { Date().timeIntervalSinceReferenceDate }
        var matches = nodes(of: entities)
        if let predicate = query.predicate {
            do {
                matches = try matches.filter { try predicate.evaluate(on: .object(PredicateObject(NodeSubject($0.key, self))), now: now) }
            } catch let failure as PredicateFailure {
                throw CocoaError(.persistentStoreOperation, sentence: "The predicate cannot be evaluated: \(failure.description).")
            }
        }
        guard !query.sort.isEmpty else { return matches }
        let keyed = matches.map { element in
            let subject = PredicateValue.object(PredicateObject(NodeSubject(element.key, self)))
            return (element, query.sort.map { subject.value(at: $0.keyPath[...]) })
        }
        let sorted = keyed.sorted { first, second in
            for (index, key) in query.sort.enumerated() {
                let order = key.order(first.1[index], second.1[index])
                if order != 0 { return (order < 0) == key.ascending }
            }
            return first.0.key.primaryKey < second.0.key.primaryKey
        }
        return sorted.map(\.0)
    }
}

/// A node as the subject of a predicate.
private final class NodeSubject: PredicateSubject, RowIdentified {
    private let key: RowKey
    private let store: NSAtomicStore

    init(_ key: RowKey, _ store: NSAtomicStore) {
        self.key = key
        self.store = store
    }

    var rowKey: RowKey? { key }

    func predicateValue(forKey name: String) -> PredicateValue {
        guard let layout = store.layout(key), let node = store.node(key), let location = layout.entity.location(of: name) else {
            return .null
        }
        switch location {
        case .toMany(let index):
            return .list(
                store.members(node.value(forKey: layout.entity.toMany[index].name)).map { .object(PredicateObject(NodeSubject($0, store))) }
            )
        case .slot(let slot):
            guard case .attribute(let attribute) = layout.entity.slots[slot] else {
                let destination = (node.value(forKey: name) as? NSAtomicStoreCacheNode)?.objectID.key
                return destination.flatMap { store.node($0) }.map { .object(PredicateObject(NodeSubject($0.objectID.key, store))) } ?? .null
            }
            // Read in the row's form, so that all stores compare the same values.
            return AttributeCoding.stored(node.value(forKey: name), as: attribute.type).map { PredicateValue($0, attribute) } ?? .null
        }
    }
}

extension PredicateValue {
    /// A predicate's value for an attribute's stored value.
    init(_ stored: StoredValue, _ attribute: Attribute) {
        self =
            switch stored {
            case .null, .reference: .null
            case .object(let box): PredicateValue(box.value)
            case .int(let value): attribute.type == .boolean ? .bool(value != 0) : .int(value)
            case .double(let value): .double(value)
            case .decimal(let value): .decimal(value)
            case .string(let value): .string(value)
            case .date(let value): .date(value)
            case .data(let value): .data(value)
            case .uuid(let value): .uuid(value)
            case .url(let value): .url(value)
            }
    }
}
