// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Devices with an earlier version of a model and with a later one, which has lenses. Some are updated.
@Suite struct LensSimulationTests {
    @Test(arguments: 1...300) func versionsConverge(seed: UInt64) throws {
        var world = try VersionWorld(seed: seed)
        let violations = world.violations()
        #expect(violations == [], "seed \(seed)")
    }

    /// The checks find a later version that does not fill its rows.
    @Test func aLensThatIsMissingIsFound() throws {
        let isFound = try (1...40).contains { seed in
            var world = try VersionWorld(seed: UInt64(seed), hasLenses: false)
            return !world.violations().isEmpty
        }
        #expect(isFound)
    }
}

/// People with a name or two names, and an amount that is a text or a number.
private struct VersionWorld {
    private var random: SeededRandom
    private var server = ServerModel()
    private var devices: [Replica]
    private var isLater: [Bool]
    private let later: RecordMapping
    /// Every value that a device wrote, in its later form.
    private var written: Set<String> = []
    private var count: Int64 = 0

    init(seed: UInt64, hasLenses: Bool = true) throws {
        random = SeededRandom(seed: seed)
        let texts = ["name", "amount"].map { Attribute(name: $0, type: .string) }
        var entity = Entity(name: "Person", attributes: [Attribute(name: "id", type: .integer64)] + texts)
        let first = RecordMapping(model: try ResolvedModel(Model(entities: [entity])))
        entity.attributes +=
            ["firstName", "lastName"].map { Attribute(name: $0, type: .string) } + [Attribute(name: "sum", type: .integer64)]
        if hasLenses { entity.userInfo["syncLens"] = "name -> firstName lastName; amount -> sum" }
        later = RecordMapping(model: try ResolvedModel(Model(entities: [entity])))
        isLater = [false, true, false, true]
        devices = zip(["A", "B", "C", "D"], isLater).map { [later] name, isLater in Replica(name, mapping: isLater ? later : first) }
    }

    mutating func violations() -> [String] {
        for _ in 0..<Int.random(in: 10...60, using: &random) { step() }
        for index in devices.indices where !isLater[index] && random.chance(50) { update(index) }
        for _ in 0..<12 { for index in devices.indices { devices[index].sync(&server) } }
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
        for key in devices[index].liveKeys {
            func text(_ name: String) -> String {
                switch devices[index].value(name, of: key) {
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
