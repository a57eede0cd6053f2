// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// The changes of one save, by labels: read from a context before it is saved.
struct Edit: Sendable {
    enum Change: Sendable {
        case insert(label: String, entity: String)
        /// An attribute or a to-one relationship. `nil` means no value.
        case set(label: String, key: String, old: String?, new: String?)
        /// - Parameter seen: The object's values at its deletion.
        case delete(label: String, seen: [Seen])
        case link(Pair)
        case unlink(Pair)
        /// The order of a list was decided, beyond the removal of members.
        case arrange(label: String, key: String, members: [String])

        /// The changed object.
        var label: String {
            switch self {
            case .insert(let label, _), .set(let label, _, _, _), .delete(let label, _), .arrange(let label, _, _): label
            case .link(let pair), .unlink(let pair): pair.first
            }
        }
    }

    /// A value of an object.
    struct Seen: Sendable {
        let key: String
        let value: String
    }

    /// Two objects in a many-to-many relationship.
    struct Pair: Hashable, Sendable {
        let relationship: String
        let first: String
        let second: String

        init(_ relationship: String, _ one: String, _ other: String) {
            self.relationship = relationship
            (first, second) = relationship == "related" && other < one ? (other, one) : (one, other)
        }
    }

    private(set) var changes: [Change] = []

    /// The side of each many-to-many relationship that is compared.
    private static let linkKeys: Set<String> = ["tags", "related", "topics"]

    init(_ context: NSManagedObjectContext) {
        context.processPendingChanges()
        for object in Self.sorted(context.insertedObjects) {
            changes.append(.insert(label: Picture.label(object), entity: object.entity.firstName))
            addValues(of: object, old: { _ in nil })
        }
        for object in Self.sorted(context.updatedObjects) {
            let committed = object.committedValues(forKeys: nil)
            addValues(of: object) { committed[$0] }
        }
        for object in Self.sorted(context.deletedObjects) {
            let committed = object.committedValues(forKeys: nil)
            let seen = committed.sorted { $0.key < $1.key }.flatMap { key, value -> [Seen] in
                if key == "label" { return [] }
                return ModelChanges.shown(Self.text(value), of: key, in: object.entity).compactMap { key, value in
                    value.map { Seen(key: key, value: $0) }
                }
            }
            changes.append(.delete(label: committed["label"] as? String ?? "?", seen: seen))
        }
    }

    /// Splits the changes by the owners of their objects, in order.
    func split(by owner: (String) -> String) -> [(owner: String, part: Edit)] {
        var parts: [(owner: String, part: Edit)] = []
        for change in changes {
            let name = owner(change.label)
            if parts.last?.owner != name { parts.append((name, Edit())) }
            parts[parts.count - 1].part.changes.append(change)
        }
        return parts
    }

    private init() {}

    private mutating func addValues(of object: NSManagedObject, old: (String) -> Any?) {
        let label = Picture.label(object)
        for (key, value) in object.changedValues().sorted(by: { $0.key < $1.key }) where key != "label" {
            if let relationship = object.entity.relationshipsByName[key], relationship.isToMany {
                let before = Picture.members(old(key)), after = Picture.members(value), first = relationship.renamingIdentifier ?? key
                if relationship.isOrdered { arrange(label, first, from: before, to: after) }
                guard Self.linkKeys.contains(first) else { continue }
                let labels = Set(before.map(Self.committedLabel)), newLabels = Set(after.map(Self.committedLabel))
                // The deletion of an object removes its links.
                for other in newLabels.subtracting(labels).sorted() { changes.append(.link(Pair(first, label, other))) }
                for other in labels.subtracting(newLabels).sorted() { changes.append(.unlink(Pair(first, label, other))) }
            } else {
                let before = ModelChanges.shown(Self.text(old(key)), of: key, in: object.entity)
                for (index, after) in ModelChanges.shown(Self.text(value), of: key, in: object.entity).enumerated()
                where before[index].value != after.value {
                    changes.append(.set(label: label, key: after.key, old: before[index].value, new: after.value))
                }
            }
        }
    }

    private mutating func arrange(_ label: String, _ key: String, from before: [NSManagedObject], to after: [NSManagedObject]) {
        let members = after.map(Self.committedLabel)
        let left = before.map(Self.committedLabel).filter { members.contains($0) }
        if left != members { changes.append(.arrange(label: label, key: key, members: members)) }
    }

    private static func text(_ value: Any?) -> String? {
        if let object = value as? NSManagedObject { return committedLabel(object) }
        return Picture.text(value)
    }

    /// The label, also of a deleted object.
    private static func committedLabel(_ object: NSManagedObject) -> String {
        if let label = object.value(forKey: "label") as? String { return label }
        return object.committedValues(forKeys: ["label"])["label"] as? String ?? "?"
    }

    private static func sorted(_ objects: Set<NSManagedObject>) -> [NSManagedObject] {
        objects.sorted { committedLabel($0) < committedLabel($1) }
    }
}
