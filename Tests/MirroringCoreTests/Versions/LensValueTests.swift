// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
@testable import MirroringCore
import Testing
import ValueSimulation

/// Values that lenses translate, on devices that were updated and on new ones.
@Suite struct LensValueTests {
    private static func mapping(_ attributes: [Attribute], lens: String? = nil) throws -> RecordMapping {
        var entity = Entity(name: "Thing", attributes: attributes + [Attribute(name: "title", type: .string)])
        entity.userInfo["syncLens"] = lens
        return RecordMapping(model: try ResolvedModel(Model(entities: [entity])))
    }

    private func value(_ property: String, _ replica: Replica) -> StoredValue? {
        replica.liveKeys.first.flatMap { replica.value(property, of: $0) }
    }

    /// The default value of a required attribute is also the earlier form of no level.
    @Test func anUpdatedDeviceShowsWhatANewDeviceShows() throws {
        let flag = Attribute(name: "flag", type: .boolean, isOptional: false, defaultValue: .int(0))
        let later = try Self.mapping([flag, Attribute(name: "level", type: .integer16)], lens: "flag -> level")
        let cases: [(sent: Int64, level: StoredValue)] = [(0, .null), (1, .int(1))]
        for (sent, level) in cases {
            var server = ServerModel()
            var old = Replica("O", mapping: try Self.mapping([flag])), new = Replica("N", mapping: later)
            let key = old.insertThing(["flag": .int(sent)])
            old.sync(&server)
            new.sync(&server)
            #expect(value("level", new) == level)
            old.upgrade(to: later)
            #expect(value("level", old) == level)
            // An edit of something else is not one of the level.
            old.set("title", of: key, to: .string("edited"))
            old.sync(&server)
            #expect(server.records["O1"]?.fields["CD_level"] == nil)
        }
    }

    /// Without a default value in the later version, "false" is a value: devices show its level, and one that is cleared stays so.
    @Test func anEarlierAttributeThatBecomesOptionalHasAllItsValues() throws {
        var flag = Attribute(name: "flag", type: .boolean, isOptional: false, defaultValue: .int(0))
        let first = try Self.mapping([flag])
        flag.isOptional = true
        let later = try Self.mapping([flag, Attribute(name: "level", type: .integer16)], lens: "flag -> level")
        var server = ServerModel()
        var old = Replica("O", mapping: first), new = Replica("N", mapping: later), other = Replica("M", mapping: later)
        let key = old.insertThing(["flag": .int(0)])
        old.sync(&server)
        new.sync(&server)
        other.sync(&server)
        #expect(value("level", new) == .int(0))
        new.set("level", of: new.liveKeys[0], to: .null)
        new.sync(&server)
        old.sync(&server)
        other.sync(&server)
        #expect(value("level", new) == .null)
        #expect(value("level", other) == .null)
        #expect(old.value("flag", of: key) == .int(0))
    }

    /// The server has no record that other devices read.
    @Test func anUnsentObjectIsTranslated() throws {
        let flag = Attribute(name: "flag", type: .boolean, isOptional: false, defaultValue: .int(0))
        let later = try Self.mapping([flag, Attribute(name: "level", type: .integer16)], lens: "flag -> level")
        var server = ServerModel()
        var old = Replica("O", mapping: try Self.mapping([flag])), new = Replica("N", mapping: later)
        old.insertThing(["flag": .int(0)])
        old.upgrade(to: later)
        #expect(value("level", old) == .int(0))
        old.sync(&server)
        new.sync(&server)
        #expect(value("level", new) == .int(0))
    }

    /// Both names together are longer than a field. The row of the device that sent them has no earlier form.
    @Test func anEarlierFormInAnAssetSurvivesOtherEdits() throws {
        let name = Attribute(name: "name", type: .string)
        let names = ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
        let later = try Self.mapping([name] + names, lens: "name -> firstName lastName")
        let first = String(repeating: "a", count: 380_000), last = String(repeating: "b", count: 380_000)
        var server = ServerModel()
        var old = Replica("O", mapping: try Self.mapping([name])), new = Replica("N", mapping: later), other = Replica("M", mapping: later)
        let key = new.insertThing(["firstName": .string(first), "lastName": .string(last)])
        new.sync(&server)
        new.set("title", of: key, to: .string("edited"))
        for _ in 0..<2 {
            new.sync(&server)
            other.sync(&server)
        }
        old.sync(&server)
        for replica in [new, other] {
            #expect(value("firstName", replica) == .string(first))
            #expect(value("lastName", replica) == .string(last))
        }
        #expect(value("name", old) == .string("\(first) \(last)"))
        other.set("title", of: other.liveKeys[0], to: .string("again"))
        other.sync(&server)
        old.sync(&server)
        #expect(value("name", old) == .string("\(first) \(last)"))
        #expect(value("title", old) == .string("again"))
    }

    /// A lens does not translate a text in an asset. The server lost its records, and has them again from a later version.
    @Test func aTextInAnAssetIsSentAgain() throws {
        let (body, text) = (Attribute(name: "body", type: .string), Attribute(name: "text", type: .string))
        let long = String(repeating: "a", count: 760_000)
        var server = ServerModel(), restored = ServerModel()
        var old = Replica("O", mapping: try Self.mapping([body])), other = old
        var new = Replica("N", mapping: try Self.mapping([body, text], lens: "body -> text"))
        old.insertThing(["body": .string(long)])
        old.sync(&server)
        new.sync(&server)
        #expect(value("text", new) == .null)
        new.loseHistory(after: nil)
        new.sync(&restored)
        other.sync(&restored)
        #expect(value("body", other) == .string(long))
    }

    /// The merge base has no digest of its asset, as after edits that waited for a relocation.
    @Test func aTextInAnAssetWithoutDigestIsKept() throws {
        let (body, text) = (Attribute(name: "body", type: .string), Attribute(name: "text", type: .string))
        let mapping = try Self.mapping([body, text], lens: "body -> text")
        var device = Replica("N", mapping: mapping)
        let key = device.insertThing(["body": .string(String(repeating: "a", count: 760_000))])
        let row = try #require(device.rows[key]), entity = try #require(mapping.entities[0])
        let base = Ancestor(fields: ["CD_body_ckAsset": Field(.asset(AssetValue(fileChecksum: "C", size: 760_000)))])
        #expect(entity.downgraded(row, since: base, shown: entity.upgraded(base)) == row)
    }

    /// 0.1 in single precision is 0.10000000149011612 in double precision.
    @Test func aNumberOfSinglePrecisionHasItsOwnDigits() throws {
        let weight = Attribute(name: "weight", type: .float)
        let types: [(type: AttributeType, value: StoredValue)] = [
            (.string, .string("0.1")), (.decimal, .decimal(Decimal(1) / 10)), (.double, .double(Double(Float(0.1)))),
        ]
        for (type, translated) in types {
            var server = ServerModel()
            var old = Replica("O", mapping: try Self.mapping([weight]))
            var new = Replica(
                "N", mapping: try Self.mapping([weight, Attribute(name: "amount", type: type)], lens: "weight -> amount"))
            old.insertThing(["weight": .double(0.1)])
            old.sync(&server)
            new.sync(&server)
            #expect(value("amount", new) == translated)
            new.set("title", of: new.liveKeys[0], to: .string("edited"))
            new.sync(&server)
            #expect(server.records["O1"]?.fields["CD_amount"] == nil)
        }
    }
}
