// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore

/// Four devices with two versions of a model: people with a name or two names, and an amount that is a text or a number. Some get the later
/// version, which has lenses, during the run.
package struct VersionWorld {
    /// Runs one seed until the devices converge.
    ///
    /// - Parameters:
    ///   - hasLenses: Whether the later version declares its lenses: without them, the devices differ.
    ///   - output: Prints the events of the run.
    ///   - atEnd: Receives the final state.
    /// - Returns: Violations of invariants.
    package static func violations(
        seed: UInt64, hasLenses: Bool = true, output: (@Sendable (String) -> Void)? = nil, atEnd: (VersionWorld) -> Void = { _ in }
    ) -> [String] {
        var world = VersionWorld(seed: seed, hasLenses: hasLenses)
        world.trace = output.map { EventTrace(output: $0) }
        defer { atEnd(world) }
        return world.violations()
    }

    private var random: SeededRandom
    private(set) var server = ServerModel()
    private(set) var devices: [Replica]
    private var isLater: [Bool]
    private let later: RecordMapping
    private var trace: EventTrace?
    /// Every value that a device wrote, in its later form.
    private var written: Set<String> = []
    private var count: Int64 = 0

    private static let first = mapping(of: entity)
    private static let second = mapping(of: secondEntity)
    private static let withLenses: RecordMapping = {
        var entity = secondEntity
        entity.userInfo["syncLens"] = "name -> firstName lastName; amount -> sum"
        return mapping(of: entity)
    }()

    private static var entity: Entity {
        let texts = ["name", "amount"].map { Attribute(name: $0, type: .string) }
        return Entity(name: "Person", attributes: [Attribute(name: "id", type: .integer64)] + texts)
    }

    private static var secondEntity: Entity {
        var entity = entity
        entity.attributes += ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
        entity.attributes.append(Attribute(name: "sum", type: .integer64))
        return entity
    }

    private static func mapping(of entity: Entity) -> RecordMapping {
        do {
            return RecordMapping(model: try ResolvedModel(Model(entities: [entity])))
        } catch {
            preconditionFailure("the model of the simulation is valid: \(error)")
        }
    }

    private init(seed: UInt64, hasLenses: Bool) {
        random = SeededRandom(seed: seed)
        later = hasLenses ? Self.withLenses : Self.second
        isLater = [false, true, false, true]
        devices = zip(["A", "B", "C", "D"], isLater).map { [later] name, isLater in Replica(name, mapping: isLater ? later : Self.first) }
    }

    private mutating func violations() -> [String] {
        for _ in 0..<Int.random(in: 10...60, using: &random) { step() }
        for index in devices.indices where !isLater[index] && random.chance(50) { update(index) }
        for round in 0..<12 {
            let before = server.lastChangeTag
            for index in devices.indices {
                devices[index].sync(&server)
                note(index, round: round)
            }
            // No device sent anything, and each has read all changes: further rounds are equal to this one.
            if server.lastChangeTag == before { break }
        }
        var found = devices.filter { !$0.pendingRecords.isEmpty }.map { "\($0.device) is not idle" }
        let states = devices.indices.map { state(of: $0) }
        for index in devices.indices.dropFirst() where states[index] != states[0] {
            found.append("\(devices[index].device) shows \(states[index]), \(devices[0].device) \(states[0])")
        }
        for value in states[1].values.joined() where value != "–" && !written.contains(value) { found.append("no device wrote \(value)") }
        return found
    }

    private mutating func step() {
        let index = Int.random(in: 0..<devices.count, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1:
            count += 1
            devices[index].insertThing(["id": .int(count)])
        case 2..<11: edit(index)
        case 11..<14: devices[index].importAll(from: server, pageSize: Int.random(in: 1...4, using: &random))
        case 14..<16: devices[index].export(to: &server)
        case 16: if !isLater[index] { update(index) }
        default: devices[index].sync(&server)
        }
        note(index)
    }

    private mutating func note(_ index: Int, round: Int? = nil) {
        if trace == nil { return }
        trace?.note(devices[index].device + (round.map { ", round \($0)" } ?? ""), devices, [MirrorZone.home: server])
    }

    private mutating func update(_ index: Int) {
        devices[index].upgrade(to: later)
        devices[index].startFullFetch()
        isLater[index] = true
    }

    private mutating func edit(_ index: Int) {
        guard let key = devices[index].liveKeys.randomElement(using: &random) else { return }
        count += 1
        let (first, last, sum) = ("f\(count)", "l\(count)", "\(count)")
        let isAmount = random.chance(30), draw = Int.random(in: 0..<3, using: &random)
        written.formUnion([first, last, sum])
        guard isLater[index] else {
            return devices[index].set(isAmount ? "amount" : "name", of: key, to: .string(isAmount ? sum : "\(first) \(last)"))
        }
        if isAmount { return devices[index].set("sum", of: key, to: .int(count)) }
        // A last name alone has no form that the earlier version splits again.
        let isNew = devices[index].value("firstName", of: key)?.isNull != false
        if isNew || draw != 0 { devices[index].set("firstName", of: key, to: .string(first)) }
        if isNew || draw != 1 { devices[index].set("lastName", of: key, to: .string(last)) }
    }

    /// Names and amounts by number of the object, in their later form.
    private func state(of index: Int) -> [String: [String]] {
        var state: [String: [String]] = [:]
        let device = devices[index]
        for key in device.liveKeys {
            func text(_ name: String) -> String {
                switch device.value(name, of: key) {
                case .string(let text)?: text
                case .int(let number)?: "\(number)"
                default: "–"
                }
            }
            let names: [String]
            if isLater[index] {
                names = [text("firstName"), text("lastName")]
            } else {
                let name = text("name")
                names = name == "–" ? ["–", "–"] : name.split(separator: " ", maxSplits: 1).map { String($0) }
            }
            state[text("id")] = names + [isLater[index] ? text("sum") : text("amount")]
        }
        return state
    }
}
