// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore

/// Three devices with tags that have unique names, and notes.
package struct UniqueWorld {
    /// Runs one seed until the devices converge.
    ///
    /// - Parameters:
    ///   - output: Prints the events of the run.
    ///   - atEnd: Receives the final state.
    /// - Returns: Violations of invariants.
    package static func violations(
        seed: UInt64, output: (@Sendable (String) -> Void)? = nil, atEnd: (UniqueWorld) -> Void = { _ in }
    ) -> [String] {
        var world = UniqueWorld(seed: seed)
        world.trace = output.map { EventTrace(output: $0) }
        defer { atEnd(world) }
        for _ in 0..<world.steps { world.step() }
        var violations = world.heal(atMost: 30) < 30 ? [] : ["not idle after 30 rounds"]
        let dumps = Set(world.replicas.map(\.dump))
        if dumps.count > 1 { violations.append("the devices differ:\n\(dumps.sorted().joined(separator: "\n--\n"))") }
        violations += world.duplicates
        for replica in world.replicas where Set(replica.records.keys) != Set(world.server.records.keys) {
            violations.append("\(replica.device) has other records than the server")
        }
        // A merge never loses a note.
        if world.notes != world.made { violations.append("\(world.notes) notes of \(world.made)") }
        // Unless tags are deleted, every note has one: a missing tag was merged into another one.
        if !world.deletes, world.strays > 0 { violations.append("\(world.strays) notes without a tag") }
        return violations
    }

    private var random: SeededRandom
    private(set) var server = ServerModel()
    private var table: DeviceTable
    var replicas: [Replica] { table.present }
    private let steps: Int
    private let deletes: Bool
    private var made = 0
    private var trace: EventTrace?

    private static let mapping: RecordMapping = {
        var tag = Entity(
            name: "Tag", attributes: [Attribute(name: "color", type: .string), Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "notes", destination: "Note", inverse: "tag", isToMany: true)])
        tag.uniquenessConstraints = [["name"]]
        let note = Entity(
            name: "Note", attributes: [Attribute(name: "text", type: .string)],
            relationships: [Relationship(name: "tag", destination: "Tag", inverse: "notes")])
        do {
            return RecordMapping(model: try ResolvedModel(Model(entities: [tag, note])), allowing: [.uniquenessConstraints])
        } catch {
            preconditionFailure("the model of the simulation is valid: \(error)")
        }
    }()

    private init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        steps = Int.random(in: 10...120, using: &random)
        deletes = random.chance(60)
        table = DeviceTable(["A", "B", "C"].map { Replica($0, mapping: Self.mapping) })
    }

    private func keys(_ entity: String, of replica: Replica) -> [RowKey] {
        replica.keys(of: entity)
    }

    private mutating func step() {
        let index = Int.random(in: 0..<3, using: &random)
        var replica = table.takeOut(index)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: edit(&replica)
        case 6, 7: replica.apply(replica.fetch(server, limit: Int.random(in: 1...6, using: &random)), from: server)
        default:
            replica.scan()
            let batch = replica.planBatch(itemsMax: Int.random(in: 1...5, using: &random))
            if !batch.items.isEmpty {
                let (outcomes, assets) = replica.send(batch, to: &server)
                _ = replica.settle(batch, outcomes, assets)
            }
        }
        table.putBack(consume replica, at: index)
        note(index)
    }

    private mutating func note(_ index: Int, round: Int? = nil) {
        if trace == nil { return }
        let event = table[index].device + (round.map { ", round \($0)" } ?? "")
        let devices = replicas
        trace?.note(event, devices, [MirrorZone.home: server])
    }

    private mutating func edit(_ replica: inout Replica) {
        let tags = keys("Tag", of: replica)
        let name = StoredValue.string("t\(Int.random(in: 0..<4, using: &random))")
        let isFree = !tags.contains { replica.value("name", of: $0) == name }
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1, 2:
            guard isFree, let entity = replica.mapping.model.entity(named: "Tag") else { return }
            let key = replica.insert(entity: entity)
            replica.set("name", of: key, to: name)
            if random.chance(50) { replica.set("color", of: key, to: .string("c\(Int.random(in: 0..<9, using: &random))")) }
        case 3: if isFree, let key = tags.randomElement(using: &random) { replica.set("name", of: key, to: name) }
        case 4, 5:
            guard let key = tags.randomElement(using: &random), let entity = replica.mapping.model.entity(named: "Note") else { return }
            made += 1
            let note = replica.insert(entity: entity)
            replica.set("text", of: note, to: .string("n\(made)"))
            replica.set("tag", of: note, to: .reference(key))
        case 6: if let key = tags.randomElement(using: &random) { replica.set("color", of: key, to: .string("c\(made)")) }
        default: if deletes, let key = tags.randomElement(using: &random) { replica.delete(key) }
        }
    }

    /// - Returns: Rounds until the devices were idle.
    private mutating func heal(atMost limit: Int) -> Int {
        var before = replicas.map(\.progress)
        for round in 0..<limit {
            for index in table.indices {
                var replica = table.takeOut(index)
                replica.sync(&server, pageSize: 4 + index)
                table.putBack(consume replica, at: index)
                note(index, round: round)
            }
            let replicas = self.replicas
            let isQuiet = replicas.allSatisfy { $0.pendingRecords.isEmpty }
            let after = replicas.map(\.progress)
            if isQuiet, before == after { return round }
            before = after
        }
        return limit
    }

    /// Unique names that two objects of a device have.
    private var duplicates: [String] {
        replicas.flatMap { replica in
            Dictionary(grouping: keys("Tag", of: replica)) { replica.value("name", of: $0) ?? .null }
                .filter { !$0.key.isNull && $0.value.count > 1 }.map { "\(replica.device): \($0.key.text)" }
        }
    }

    /// Notes without a tag; each is created with one.
    private var strays: Int {
        let first = table[0]
        return keys("Note", of: first).count { first.value("tag", of: $0) ?? .null == .null }
    }

    /// Notes, which are never deleted.
    private var notes: Int { keys("Note", of: table[0]).count }
}
