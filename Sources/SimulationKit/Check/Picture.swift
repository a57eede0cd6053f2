// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The visible state of one device: every object by its label, independent of the device.
struct Picture: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        var entity: String
        /// Attributes, and to-one relationships by the label of their target.
        var values: [String: String] = [:]
        /// To-many relationships by the labels of their targets, sorted unless the relationship is ordered.
        var links: [String: [String]] = [:]
    }

    private(set) var entries: [String: Entry] = [:]
    /// Violations inside this state.
    private(set) var faults: [String] = []

    init(_ context: NSManagedObjectContext, where isIncluded: (NSManagedObject) -> Bool = { _ in true }) throws {
        let names = context.persistentStoreCoordinator?.managedObjectModel.entities.compactMap(\.name).sorted() ?? []
        for name in names {
            for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: name)) where isIncluded(object) {
                add(object, name)
            }
        }
        for (name, labels) in topicsByName where labels.count > 1 { faults.append("\(labels.sorted()) all have the name \(name)") }
    }

    private mutating func add(_ object: NSManagedObject, _ name: String) {
        guard let label = object.value(forKey: "label") as? String else { return faults.append("a \(name) has no label") }
        guard entries[label] == nil else { return faults.append("\(label) is there twice") }
        var entry = Entry(entity: object.entity.firstName)
        for attribute in object.entity.attributesByName.keys.sorted() where attribute != "label" {
            for (key, value) in ModelChanges.shown(Self.text(object.value(forKey: attribute)), of: attribute, in: object.entity) {
                entry.values[key] = value
            }
        }
        for (relationship, description) in object.entity.relationshipsByName.sorted(by: { $0.key < $1.key }) {
            let targets: [NSManagedObject]
            if description.isToMany {
                targets = Self.members(object.value(forKey: relationship))
                let labels = targets.map(Self.label)
                let key = description.renamingIdentifier ?? relationship
                if !targets.isEmpty { entry.links[key] = description.isOrdered ? labels : labels.sorted() }
            } else {
                targets = [object.value(forKey: relationship) as? NSManagedObject].compactMap(\.self)
                entry.values[relationship] = targets.first.map(Self.label)
            }
            for target in targets where !Self.refersBack(target, description.inverseRelationship, to: object) {
                faults.append("\(label).\(relationship) has \(Self.label(target)), which does not have \(label)")
            }
        }
        entries[label] = entry
    }

    private static func refersBack(_ target: NSManagedObject, _ inverse: NSRelationshipDescription?, to object: NSManagedObject) -> Bool {
        guard let inverse else { return true }
        let value = target.value(forKey: inverse.name)
        return inverse.isToMany ? members(value).contains(object) : value as? NSManagedObject === object
    }

    /// Members of a to-many relationship, in order if it is ordered.
    static func members(_ value: Any?) -> [NSManagedObject] {
        if let list = value as? NSOrderedSet { return list.array.compactMap { $0 as? NSManagedObject } }
        return Array(value as? Set<NSManagedObject> ?? [])
    }

    static func label(_ object: NSManagedObject) -> String { object.value(forKey: "label") as? String ?? "?" }

    /// A value as the reference model and the conflict log compare it.
    static func text(_ value: Any?) -> String? {
        switch value {
        case let text as String: text
        case let number as NSNumber: "\(number.int64Value)"
        case let number as Int64: "\(number)"
        case let number as Int: "\(number)"
        case let data as Data: String(decoding: data, as: UTF8.self)
        default: nil
        }
    }

    /// Omits changes without permission.
    func without(_ changed: [String: Set<String>]) -> Picture {
        var picture = self
        for (label, keys) in changed {
            for key in keys {
                picture.entries[label]?.values[key] = nil
                picture.entries[label]?.links[key] = nil
            }
        }
        return picture
    }

    /// The differences of two states, for people.
    func difference(from other: Picture) -> [String] {
        var lines: [String] = []
        for label in Set(entries.keys).union(other.entries.keys).sorted() where entries[label] != other.entries[label] {
            guard let here = entries[label] else { lines.append("\(label) is missing"); continue }
            guard let there = other.entries[label] else { lines.append("\(label) is too many"); continue }
            for key in Set(here.values.keys).union(there.values.keys).sorted() where here.values[key] != there.values[key] {
                lines.append("\(label).\(key) is \(here.values[key] ?? "nil"), elsewhere \(there.values[key] ?? "nil")")
            }
            for key in Set(here.links.keys).union(there.links.keys).sorted() where here.links[key] != there.links[key] {
                lines.append("\(label).\(key) is \(here.links[key] ?? []), elsewhere \(there.links[key] ?? [])")
            }
        }
        return lines
    }
}
