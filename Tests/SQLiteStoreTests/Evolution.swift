// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

/// A model with random inferable changes, and the expected objects after each.
struct Evolution {
    struct Thing {
        var entity: String
        /// By attribute.
        var values: [String: StoredValue]
    }

    struct Pair: Hashable, Comparable {
        var owner: Int64
        var member: Int64
        static func < (a: Pair, b: Pair) -> Bool { (a.owner, a.member) < (b.owner, b.member) }
    }

    var model = Model()
    var things: [Int64: Thing] = [:]
    /// By relationship; names are unique in a model. An ordered one's pairs are in order.
    var links: [String: [Pair]] = [:]
    /// The steps so far, for diagnosis.
    var log: [String] = []
    private var names = 0
    private var identifiers: Int64 = 0
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        for _ in 0..<Int.random(in: 2...4, using: &random) { addEntity(under: nil) }
        for _ in 0..<3 { addEntity(under: pick(model.entities)?.name) }
        for _ in 0..<8 { addAttribute() }
        for _ in 0..<5 { addRelationship() }
        for _ in 0..<40 { addThing() }
        for name in links.keys.sorted() { addLinks(name) }
        log = []
    }

    // MARK: Steps

    /// Changes the model; renaming identifiers record the changes.
    mutating func step() {
        log = []
        for entity in model.entities.indices {
            model.entities[entity].renamingIdentifier = nil
            model.entities[entity].userInfo["was"] = model.entities[entity].name
            for place in model.entities[entity].attributes.indices { model.entities[entity].attributes[place].mark() }
            for place in model.entities[entity].relationships.indices { model.entities[entity].relationships[place].mark() }
        }
        for _ in 0..<Int.random(in: 1...4, using: &random) { change() }
        for entity in model.entities.indices {
            let was = model.entities[entity].userInfo["was"]
            if was != model.entities[entity].name { model.entities[entity].renamingIdentifier = was }
            for place in model.entities[entity].attributes.indices { model.entities[entity].attributes[place].identify() }
            for place in model.entities[entity].relationships.indices { model.entities[entity].relationships[place].identify() }
        }
        settle()
    }

    private mutating func change() {
        switch Int.random(in: 0..<16, using: &random) {
        case 0: addAttribute()
        case 1: removeAttribute()
        case 2: renameAttribute()
        case 3: renameEntity()
        case 4: addEntity(under: Bool.random(using: &random) ? pick(model.entities)?.name : nil)
        case 5: removeEntity()
        case 6: addRelationship()
        case 7: removeRelationship()
        case 8: renameRelationship()
        case 9: widenRelationship()
        case 10: toggleOrder()
        case 11: moveAttributeUp()
        case 12: moveAttributeDown()
        case 13: insertParent()
        case 14: moveEntity()
        default: require()
        }
    }

    // MARK: The model

    private mutating func name(_ prefix: String) -> String {
        names += 1
        return prefix + String(names)
    }

    private mutating func pick<T>(_ all: [T]) -> T? { all.randomElement(using: &random) }

    func index(_ name: String) -> Int { model.entities.firstIndex { $0.name == name } ?? 0 }

    /// From the entity up to the root.
    func chain(_ name: String) -> [Entity] {
        let entity = model.entities[index(name)]
        return [entity] + (entity.superentity.map(chain) ?? [])
    }

    func isKind(_ name: String, of ancestor: String) -> Bool { chain(name).contains { $0.name == ancestor } }

    private static let uid = Attribute(name: "uid", type: .integer64)

    private mutating func addEntity(under parent: String?) {
        var entity = Entity(name: name("E"), superentity: parent)
        if parent == nil { entity.attributes = [Self.uid] }
        model.entities.append(entity)
        log.append("add \(entity.name) under \(parent ?? "nothing")")
    }

    private mutating func removeEntity() {
        let candidates = model.entities.filter { entity in
            !model.entities.contains { $0.superentity == entity.name } && entity.relationships.isEmpty
                && !model.entities.contains { $0.relationships.contains { $0.destination == entity.name } }
        }
        guard let entity = pick(candidates), model.entities.count > 2 else { return }
        model.entities.remove(at: index(entity.name))
        things = things.filter { $0.value.entity != entity.name }
        log.append("remove \(entity.name)")
    }

    private mutating func renameEntity() {
        guard let entity = pick(model.entities) else { return }
        let new = name("E")
        for place in model.entities.indices {
            if model.entities[place].name == entity.name { model.entities[place].name = new }
            if model.entities[place].superentity == entity.name { model.entities[place].superentity = new }
            for relationship in model.entities[place].relationships.indices
            where model.entities[place].relationships[relationship].destination == entity.name {
                model.entities[place].relationships[relationship].destination = new
            }
        }
        for (uid, thing) in things where thing.entity == entity.name { things[uid]?.entity = new }
        log.append("rename \(entity.name) to \(new)")
    }

    private mutating func addAttribute() {
        guard let entity = pick(model.entities) else { return }
        var attribute = Attribute(name: name("a"), type: Bool.random(using: &random) ? .string : .integer32)
        if Bool.random(using: &random) {
            attribute.isOptional = false
            attribute.defaultValue = attribute.type == .string ? .string("new") : .int(7)
        }
        model.entities[index(entity.name)].attributes.append(attribute)
        log.append("add \(entity.name).\(attribute.name) \(attribute.defaultValue)")
    }

    private mutating func attribute() -> (entity: Int, place: Int)? {
        let all = model.entities.indices.flatMap { entity in
            model.entities[entity].attributes.indices.map { (entity, $0) }
        }.filter { model.entities[$0.0].attributes[$0.1].name != "uid" }
        return pick(all)
    }

    private mutating func removeAttribute() {
        guard let (entity, place) = attribute() else { return }
        log.append("remove \(model.entities[entity].name).\(model.entities[entity].attributes[place].name)")
        model.entities[entity].attributes.remove(at: place)
    }

    private mutating func renameAttribute() {
        guard let (entity, place) = attribute() else { return }
        let (old, new) = (model.entities[entity].attributes[place].name, name("a"))
        model.entities[entity].attributes[place].name = new
        for uid in things.keys { if let value = things[uid]?.values.removeValue(forKey: old) { things[uid]?.values[new] = value } }
        log.append("rename \(model.entities[entity].name).\(old) to \(new)")
    }

    private mutating func require() {
        guard let (entity, place) = attribute() else { return }
        var attribute = model.entities[entity].attributes[place]
        guard attribute.isOptional else { return }
        attribute.isOptional = false
        attribute.defaultValue = attribute.type == .string ? .string("must") : .int(9)
        model.entities[entity].attributes[place] = attribute
        // Rows of an earlier version without a value need one now.
        for (uid, thing) in things where isKind(thing.entity, of: model.entities[entity].name) {
            if thing.values[attribute.name] == .null { things[uid]?.values[attribute.name] = attribute.defaultValue }
        }
        log.append("require \(model.entities[entity].name).\(attribute.name)")
    }

    private mutating func moveAttributeUp() {
        guard let (entity, place) = attribute(), let parent = model.entities[entity].superentity else { return }
        let attribute = model.entities[entity].attributes[place]
        guard attribute.isOptional || !attribute.defaultValue.isNull else { return }
        model.entities[entity].attributes.remove(at: place)
        model.entities[index(parent)].attributes.append(attribute)
        log.append("move \(model.entities[entity].name).\(attribute.name) up")
    }

    private mutating func moveAttributeDown() {
        guard let (entity, place) = attribute() else { return }
        let parent = model.entities[entity].name
        let heirs = model.entities.filter { $0.superentity == parent }
        guard let heir = pick(heirs) else { return }
        let attribute = model.entities[entity].attributes.remove(at: place)
        model.entities[index(heir.name)].attributes.append(attribute)
        log.append("move \(parent).\(attribute.name) down to \(heir.name)")
    }

    private mutating func insertParent() {
        guard let entity = pick(model.entities.filter { $0.superentity == nil }) else { return }
        var parent = Entity(name: name("E"))
        parent.attributes = [Self.uid]
        model.entities[index(entity.name)].attributes.removeAll { $0.name == "uid" }
        model.entities[index(entity.name)].superentity = parent.name
        model.entities.append(parent)
        log.append("put \(parent.name) above \(entity.name)")
    }

    private mutating func moveEntity() {
        guard let entity = pick(model.entities) else { return }
        let target = Bool.random(using: &random) ? pick(model.entities.filter { !isKind($0.name, of: entity.name) })?.name : nil
        guard target != entity.superentity else { return }
        let place = index(entity.name)
        model.entities[place].attributes.removeAll { $0.name == "uid" }
        if target == nil { model.entities[place].attributes.append(Self.uid) }
        model.entities[place].superentity = target
        log.append("move \(entity.name) under \(target ?? "nothing")")
    }

    // MARK: Relationships

    private mutating func addRelationship() {
        guard let owner = pick(model.entities), let member = pick(model.entities) else { return }
        let (there, back) = (name("r"), name("r"))
        let isToMany = Bool.random(using: &random)
        let hasInverse = Int.random(in: 0..<3, using: &random) > 0
        var relationship = Relationship(
            name: there, destination: member.name, inverse: hasInverse ? back : nil, isToMany: isToMany,
            isOrdered: isToMany && Bool.random(using: &random))
        relationship.maximumCount = isToMany ? 0 : 1
        model.entities[index(owner.name)].relationships.append(relationship)
        links[there] = []
        if hasInverse {
            let isBackToMany = Bool.random(using: &random)
            model.entities[index(member.name)].relationships.append(
                Relationship(
                    name: back, destination: owner.name, inverse: there, isToMany: isBackToMany,
                    isOrdered: isBackToMany && Bool.random(using: &random)))
            links[back] = []
        }
        log.append("add \(owner.name).\(there) to \(member.name)\(hasInverse ? " and back \(back)" : "")")
    }

    private mutating func relationship() -> (entity: Int, place: Int)? {
        pick(model.entities.indices.flatMap { entity in model.entities[entity].relationships.indices.map { (entity, $0) } })
    }

    func find(_ relationship: String) -> (entity: Int, place: Int)? {
        for entity in model.entities.indices {
            if let place = model.entities[entity].relationships.firstIndex(where: { $0.name == relationship }) { return (entity, place) }
        }
        return nil
    }

    private mutating func removeRelationship() {
        guard let (entity, place) = relationship() else { return }
        let relationship = model.entities[entity].relationships.remove(at: place)
        links[relationship.name] = nil
        if let inverse = relationship.inverse, let (entity, place) = find(inverse) {
            model.entities[entity].relationships.remove(at: place)
            links[inverse] = nil
        }
        log.append("remove \(model.entities[entity].name).\(relationship.name)")
    }

    private mutating func renameRelationship() {
        guard let (entity, place) = relationship() else { return }
        let (old, new) = (model.entities[entity].relationships[place].name, name("r"))
        model.entities[entity].relationships[place].name = new
        if let inverse = model.entities[entity].relationships[place].inverse, let (entity, place) = find(inverse) {
            model.entities[entity].relationships[place].inverse = new
        }
        links[new] = links.removeValue(forKey: old)
        log.append("rename \(model.entities[entity].name).\(old) to \(new)")
    }

    private mutating func widenRelationship() {
        guard let (entity, place) = relationship(), !model.entities[entity].relationships[place].isToMany else { return }
        let relationship = model.entities[entity].relationships[place]
        // Without an inverse a member belongs to one owner.
        if relationship.inverse == nil, Set((links[relationship.name] ?? []).map(\.member)).count < (links[relationship.name] ?? []).count {
            return
        }
        model.entities[entity].relationships[place].isToMany = true
        model.entities[entity].relationships[place].maximumCount = 0
        log.append("widen \(model.entities[entity].name).\(relationship.name)")
    }

    private mutating func toggleOrder() {
        guard let (entity, place) = relationship(), model.entities[entity].relationships[place].isToMany else { return }
        model.entities[entity].relationships[place].isOrdered.toggle()
        log.append("order of \(model.entities[entity].name).\(model.entities[entity].relationships[place].name)")
    }

    // MARK: Objects

    private mutating func addThing() {
        guard let entity = pick(model.entities) else { return }
        identifiers += 1
        var values: [String: StoredValue] = [:]
        for attribute in chain(entity.name).flatMap(\.attributes) where attribute.name != "uid" {
            let isNull = attribute.isOptional && Bool.random(using: &random)
            let number = Int64.random(in: 0...99, using: &random)
            values[attribute.name] = isNull ? .null : attribute.type == .string ? .string("t\(number)") : .int(number)
        }
        things[identifiers] = Thing(entity: entity.name, values: values)
    }

    private mutating func addLinks(_ name: String) {
        guard let (entity, place) = find(name), links[name]?.isEmpty == true else { return }
        let relationship = model.entities[entity].relationships[place]
        let inverse = relationship.inverse.flatMap(find).map { model.entities[$0.entity].relationships[$0.place] }
        let owners = things.filter { isKind($0.value.entity, of: model.entities[entity].name) }.keys.sorted()
        let members = things.filter { isKind($0.value.entity, of: relationship.destination) }.keys.sorted()
        var pairs: [Pair] = []
        for _ in 0..<20 {
            guard let owner = pick(owners), let member = pick(members) else { continue }
            if pairs.contains(where: { $0 == Pair(owner: owner, member: member) }) { continue }
            if !relationship.isToMany, pairs.contains(where: { $0.owner == owner }) { continue }
            let isMemberSingle = inverse.map { !$0.isToMany } ?? relationship.isToMany
            if isMemberSingle, pairs.contains(where: { $0.member == member }) { continue }
            pairs.append(Pair(owner: owner, member: member))
        }
        links[name] = pairs
        if let inverse { links[inverse.name] = pairs.map { Pair(owner: $0.member, member: $0.owner) } }
    }

    /// Removes data that the model no longer allows, and adds what it requires now.
    private mutating func settle() {
        for (uid, thing) in things {
            var values: [String: StoredValue] = [:]
            for attribute in chain(thing.entity).flatMap(\.attributes) where attribute.name != "uid" {
                values[attribute.name] = thing.values[attribute.name] ?? attribute.defaultValue
            }
            things[uid]?.values = values
        }
        for (name, pairs) in links {
            guard let (entity, place) = find(name) else {
                links[name] = nil
                continue
            }
            let destination = model.entities[entity].relationships[place].destination
            links[name] = pairs.filter { pair in
                guard let owner = things[pair.owner], let member = things[pair.member] else { return false }
                return isKind(owner.entity, of: model.entities[entity].name) && isKind(member.entity, of: destination)
            }
        }
    }
}

extension Attribute {
    mutating func mark() {
        renamingIdentifier = nil
        userInfo["was"] = name
    }
    mutating func identify() { if let was = userInfo["was"], was != name { renamingIdentifier = was } }
}

extension Relationship {
    mutating func mark() {
        renamingIdentifier = nil
        userInfo["was"] = name
    }
    mutating func identify() { if let was = userInfo["was"], was != name { renamingIdentifier = was } }
}
