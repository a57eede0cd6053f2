// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// The names of a contribution's properties in a model.
///
///     PostContent  text String · author String · clock Integer 64 · offset Integer 64 · count Integer 64
///                  parent → PostContent (inverse children, to many) · post → Post (inverse contents, to many, cascade)
///
/// All are optional, as for every synced entity. `offset` is negative at the beginning of the sequence; `count` is 0 for
/// an insertion, and the number of removed elements for a removal.
public struct ContributionNames: Hashable, Sendable {
    /// The attribute of the inserted text.
    public var text: String
    /// The attribute of the author.
    public var author: String
    /// The attribute of the clock.
    public var clock: String
    /// The attribute of the offset in the parent.
    public var offset: String
    /// The attribute of the number of removed elements.
    public var count: String
    /// The relationship to the parent.
    public var parent: String

    /// Creates names, by default those of the example.
    public init(
        text: String = "text", author: String = "author", clock: String = "clock", offset: String = "offset",
        count: String = "count", parent: String = "parent"
    ) {
        self.text = text
        self.author = author
        self.clock = clock
        self.offset = offset
        self.count = count
        self.parent = parent
    }
}

/// The contributions of one object, read from its context and inserted into it.
///
/// - Precondition: The relationship is to-many and has an inverse, and its destination has the named properties.
struct Contributions {
    let owner: NSManagedObject
    let relationship: String
    let author: String
    let names: ContributionNames
    private let entity: NSEntityDescription
    private let inverse: String

    init(_ owner: NSManagedObject, _ relationship: String, _ author: String, _ names: ContributionNames) {
        guard let description = owner.entity.relationshipsByName[relationship], description.isToMany,
            let entity = description.destinationEntity, let inverse = description.inverseRelationship?.name
        else {
            preconditionFailure("\(owner.entity.name ?? "?").\(relationship) isn't a to-many relationship with an inverse")
        }
        for name in [names.text, names.author, names.clock, names.offset, names.count, names.parent]
        where entity.propertiesByName[name] == nil {
            preconditionFailure("\(entity.name ?? "?") has no property \(name), which a contribution needs")
        }
        (self.owner, self.relationship, self.author, self.names) = (owner, relationship, author, names)
        (self.entity, self.inverse) = (entity, inverse)
    }

    /// - Parameters:
    ///   - objects: The objects of ``all``.
    ///   - elements: Splits a contribution's text into elements.
    func tree<Element>(of objects: Set<NSManagedObject>, _ elements: (String) -> [Element]) -> CausalTree<ObjectIdentifier, Element> {
        typealias Contribution = CausalTree<ObjectIdentifier, Element>.Contribution
        return CausalTree(
            objects.map { object in
                let offset = number(object, names.offset)
                let count = number(object, names.count)
                let parent = object.value(forKey: names.parent) as? NSManagedObject
                let place: Contribution.Place =
                    if offset < 0 { .beginning } else if let parent {
                        .within(ObjectIdentifier(parent), offset: Int(clamping: offset))
                    } else { .unknown }
                return Contribution(
                    key: ObjectIdentifier(object), place: place, clock: number(object, names.clock),
                    author: object.value(forKey: names.author) as? String ?? "",
                    change: count > 0
                        ? .removal(count: Int(clamping: count)) : .insertion(elements(object.value(forKey: names.text) as? String ?? "")))
            })
    }

    /// Retained while keys are used: a key is an object's address.
    ///
    /// Members are cast one by one: a cast to a Swift set searches the process for a conformance, and fails for an
    /// ordered relationship.
    var all: Set<NSManagedObject> {
        let value = owner.value(forKey: relationship)
        let members = (value as? NSSet)?.allObjects ?? (value as? NSOrderedSet)?.array ?? []
        return Set(members.compactMap { $0 as? NSManagedObject })
    }

    func add<Element>(
        _ text: String?, removing count: Int = 0, at place: CausalTree<ObjectIdentifier, Element>.Contribution.Place, clock: Int64,
        among objects: Set<NSManagedObject>
    ) {
        guard let context = owner.managedObjectContext, let name = entity.name else {
            preconditionFailure("an object has to be in a context to be contributed to")
        }
        let contribution = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
        contribution.setValue(author, forKey: names.author)
        contribution.setValue(clock, forKey: names.clock)
        contribution.setValue(Int64(count), forKey: names.count)
        contribution.setValue(text, forKey: names.text)
        switch place {
        case .beginning, .unknown: contribution.setValue(Int64(-1), forKey: names.offset)
        case .within(let key, let offset):
            contribution.setValue(Int64(offset), forKey: names.offset)
            contribution.setValue(objects.first { ObjectIdentifier($0) == key }, forKey: names.parent)
        }
        contribution.setValue(owner, forKey: inverse)
    }

    private func number(_ object: NSManagedObject, _ name: String) -> Int64 { (object.value(forKey: name) as? NSNumber)?.int64Value ?? 0 }
}
