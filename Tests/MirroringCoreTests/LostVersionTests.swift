// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import TestBasics
import Testing
import ValueSimulation

/// A server that is restored from a backup, and devices with different versions of records that the backup lacks.
@Suite struct LostVersionTests {
    /// Devices of one user. A device learns of a restore as it does from `historyLost`: if its token is newer than the backup.
    private struct World {
        var server = ServerModel()
        var devices: [Replica]
        var backup = ServerModel()
        /// Whether the server names the last change of the backup.
        var isComparable = true
        private var lost: Set<Int> = []

        init(devices: Int, isComparable: Bool = true) {
            self.devices = (0..<devices).map { Replica(["T", "P", "W"][$0]) }
            self.isComparable = isComparable
        }

        mutating func sync(_ numbers: Int...) { for number in numbers { sync(number) } }

        mutating func sync(_ number: Int) {
            fetch(number)
            devices[number].sync(&server)
        }

        /// Fetches, and sends nothing.
        mutating func fetch(_ number: Int) {
            if lost.remove(number) != nil { devices[number].loseHistory(after: isComparable ? version : nil) }
            devices[number].importAll(from: server)
        }

        private var version: RestoredVersion? { RestoredVersion(changeTag: backup.lastChangeTag) }

        mutating func restore() {
            server = backup
            let last = Int(backup.lastChangeTag, radix: 36) ?? 0
            for (number, device) in devices.enumerated() where device.token.flatMap({ Int($0) }) ?? 0 > last { lost.insert(number) }
        }

        mutating func set(_ property: String, to value: String, on number: Int) {
            guard let key = devices[number].keys(of: "Post").first else { return }
            devices[number].set(property, of: key, to: .string(value))
        }

        func value(_ property: String, on number: Int) -> String? {
            guard let key = devices[number].keys(of: "Post").first, case .string(let text)? = devices[number].value(property, of: key)
            else { return nil }
            return text
        }

        /// The texts in the conflict log of a device.
        func log(of number: Int) -> Set<String> {
            Set(devices[number].conflicts.compactMap { if case .string(let text)? = $0.losing { text } else { nil } })
        }
    }

    /// The backup has the title "four", the tablet has seen "five", and the phone has replaced that by "six".
    private func threeVersions(isComparable: Bool) -> World {
        var world = World(devices: 2, isComparable: isComparable)
        world.devices[0].insert("Post", ["title": .string("four")])
        world.sync(0, 1)
        world.backup = world.server
        world.set("title", to: "five", on: 0)
        world.sync(0, 1)
        world.set("title", to: "six", on: 1)
        world.sync(1)
        world.restore()
        return world
    }

    @Test(arguments: [[0, 1], [1, 0]], [true, false])
    func theDeviceThatSyncsLastWinsAndLogsTheOtherLostVersion(order: [Int], isComparable: Bool) {
        var world = threeVersions(isComparable: isComparable)
        for number in order { world.sync(number) }
        for number in order { world.sync(number) }
        let versions = ["five", "six"], (first, last) = (order[0], order[1])
        for number in order { #expect(world.value("title", on: number) == versions[last]) }
        #expect(world.log(of: last).contains(versions[first]))
        #expect(world.log(of: first) == ["four"])
        #expect(world.devices.map(\.isIdle) == [true, true])
    }

    /// The phone plans its deletion before the tablet creates the record again, and sends it after that.
    @Test func aDeletionOfALostVersionDoesNotReplaceAnEditThatTheDeviceHasNotRead() throws {
        var world = World(devices: 2)
        world.devices[0].insert("Tag")
        world.sync(0, 1)
        world.backup = world.server
        let post = world.devices[0].insert("Post", ["title": .string("four")])
        world.sync(0, 1)
        world.restore()
        world.fetch(1)
        world.devices[1].delete(try #require(world.devices[1].keys(of: "Post").first))
        world.devices[1].scan()
        let plan = world.devices[1].planBatch()
        world.devices[0].set("title", of: post, to: .string("five"))
        world.sync(0)
        let (outcomes, assets) = world.devices[1].send(plan, to: &world.server)
        _ = world.devices[1].settle(plan, outcomes, assets)
        world.sync(1, 0, 1)
        for device in world.devices { #expect(device.keys(of: "Post").isEmpty) }
        #expect(world.log(of: 1) == ["five"])
        #expect(world.devices.map(\.isIdle) == [true, true])
    }

    /// The tablet has edited the version that it has seen, without sending the edit.
    @Test(arguments: [[0, 1], [1, 0]]) func anUnsentEditOfALostVersionIsShownOrLogged(order: [Int]) {
        var world = threeVersions(isComparable: true)
        world.set("title", to: "edited", on: 0)
        world.set("content", to: "added", on: 0)
        for _ in 0..<2 { for number in order { world.sync(number) } }
        let shown = world.value("title", on: 0)
        #expect(shown == (order.last == 0 ? "edited" : "six"))
        #expect(world.value("title", on: 1) == shown)
        #expect(world.value("content", on: 1) == "added")
        #expect(world.log(of: 0).union(world.log(of: 1)).isSuperset(of: Set(["edited", "six"]).subtracting([shown ?? ""])))
    }

    /// The phone misses an edit that the tablet sent after the first restore. Its version of the record is in the backup.
    @Test func aVersionThatTheBackupHasDoesNotWinAfterASecondRestore() {
        var world = World(devices: 2)
        world.devices[0].insert("Post", ["title": .string("four")])
        world.sync(0, 1)
        world.backup = world.server
        world.restore()
        world.devices[1].insert("Tag", ["name": .string("of the phone")])
        world.sync(1, 0)
        world.set("title", to: "five", on: 0)
        world.sync(0)
        world.restore()
        world.sync(0, 1, 0)
        #expect(world.value("title", on: 0) == "five")
        #expect(world.devices[1].dump == world.devices[0].dump)
        #expect(world.devices[0].dump.contains("of the phone"))
        #expect(world.log(of: 1) == [])
    }

    /// No value that a device saved is dropped silently, and all devices converge: with up to three restores of one backup.
    @Test(arguments: SeedPart.of(1...60 as ClosedRange<UInt64>)) func everyValueIsShownOrLogged(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var world = World(devices: 3, isComparable: seed % 3 > 0)
        /// Values that no later save of a device that saw them replaced, by object and property.
        var current: [[String: Set<String>]] = []
        let backupStep = Int.random(in: 5..<25, using: &random)
        var restores = 0
        for step in 0..<90 {
            let number = Int.random(in: 0..<3, using: &random)
            if step == backupStep { world.backup = world.server }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<10:
                let key = world.devices[number].insert("Post", ["title": .string("t\(step)")])
                world.devices[number].set("views", of: key, to: .int(Int64(current.count)))
                current.append(["title": ["t\(step)"], "content": []])
            case 10..<55:
                guard let key = world.devices[number].liveKeys.randomElement(using: &random),
                    case .int(let object)? = world.devices[number].value("views", of: key)
                else { continue }
                let property = random.chance(50) ? "title" : "content"
                if case .string(let old)? = world.devices[number].value(property, of: key) { current[Int(object)][property]?.remove(old) }
                world.devices[number].set(property, of: key, to: .string("\(property.first ?? "?")\(step)"))
                current[Int(object)][property]?.insert("\(property.first ?? "?")\(step)")
            case 55..<60 where step > backupStep && restores < 3:
                world.restore()
                restores += 1
            default: world.sync(number)
            }
        }
        for _ in 0..<3 { world.sync(0, 1, 2) }
        #expect(world.devices[1].dump == world.devices[0].dump)
        #expect(world.devices[2].dump == world.devices[0].dump)
        #expect(world.devices[0].liveKeys.count == current.count)
        let log = (0..<3).reduce(into: Set<String>()) { $0.formUnion(world.log(of: $1)) }
        for key in world.devices[0].liveKeys {
            guard case .int(let object)? = world.devices[0].value("views", of: key) else { continue }
            for (property, values) in current[Int(object)] {
                let shown: Set<String> =
                    if case .string(let text)? = world.devices[0].value(property, of: key) { [text] } else { [] }
                #expect(values.subtracting(log).subtracting(shown) == [], "seed \(seed): \(property) of \(object)")
            }
        }
    }

    // MARK: Encrypted values

    private static let encrypted: RecordMapping = {
        var value = Attribute(name: "x", type: .string)
        value.allowsCloudEncryption = true
        do {
            return RecordMapping(model: try ResolvedModel(Model(entities: [Entity(name: "Thing", attributes: [value])])))
        } catch {
            preconditionFailure("the model is valid: \(error)")
        }
    }()

    /// A page with one record, as the border delivers it.
    private func page(_ value: String?, number: UInt64, tag: String, version: String, fetch: Int64) -> ImportPage {
        var record = Record(recordName: "t", recordType: "CD_Thing", recordChangeTag: version)
        record.created = RecordStamp(timestamp: 1, userRecordName: "_user")
        record.fields["CD_entityName"] = Field(.string("Thing"))
        if let value { record.fields["CD_x"] = Field(.string(value), isEncrypted: true) }
        var states = FieldStates()
        states["CD_x"] = FieldStates.Entry(version: number, tag: tag)
        record.fieldStates = states
        return ImportPage(records: [record], deletions: [], askedWith: nil, token: version, moreComing: false, generation: fetch)
    }

    /// Two devices that send a record again number its encrypted values independently: a number is no evidence of an older value then.
    @Test(arguments: ["mine", nil] as [String?], [5, 6] as [UInt64])
    func anEncryptedValueOfAnotherLostVersionIsLogged(own: String?, number: UInt64) throws {
        var device = Replica("T", mapping: Self.encrypted)
        device.apply(page(own, number: 6, tag: "aa", version: "6", fetch: 1), from: ServerModel())
        device.loseHistory(after: RestoredVersion(changeTag: "4"))
        device.apply(page("other", number: number, tag: "bb", version: "5", fetch: 2), from: ServerModel())
        let key = try #require(device.liveKeys.first)
        #expect(device.value("x", of: key) == own.map { StoredValue.string($0) } ?? .null)
        #expect(device.conflicts.map(\.losing) == [.string("other")])
        #expect(device.records["t"]?.fieldStates.hasQuarantined == false)
        let sent = try #require(device.planBatch().items.first)
        #expect(sent.record.fields["CD_x"]?.value == own.map { FieldValue.string($0) })
        #expect(sent.versions == ["CD_x": 7])
    }

    /// The device lacks the key of the server's value, which another device sends again. Its own value is earlier than that.
    @Test func aNewRecordCountsNoQuarantinedNumber() throws {
        var device = Replica("T", mapping: Self.encrypted)
        device.apply(page("mine", number: 3, tag: "aa", version: "5", fetch: 1), from: ServerModel())
        device.startFullFetch()
        var later = page(nil, number: 9, tag: "bb", version: "6", fetch: 2)
        var states = FieldStates()
        states["CD_x"] = FieldStates.Entry(version: 9, problem: .missingKey("cc"))
        later.records[0].fieldStates = states
        device.apply(later, from: ServerModel())
        #expect(device.records["t"]?.fieldStates["CD_x"]?.quarantinedVersion == 9)
        device.loseHistory(after: RestoredVersion(changeTag: "4"))
        let sent = try #require(device.planBatch().items.first)
        #expect(sent.record.fields["CD_x"]?.value == .string("mine"))
        #expect(sent.versions == ["CD_x": 4])
    }
}
