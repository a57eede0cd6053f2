// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Two devices that change the same things before they hear of each other.
@Suite struct MergeTests {
    /// Two devices with one post that both know.
    private struct Pair {
        var server = ServerModel()
        var tablet = Replica("T")
        var phone = Replica("P")
        let name = "T1"

        init() {
            tablet.insert("Post", ["title": .string("old"), "content": .string("old")])
            tablet.sync(&server)
            phone.sync(&server)
        }

        var onTablet: RowKey { tablet.key(named: name) ?? RowKey(store: 0, entity: 0, primaryKey: 0) }
        var onPhone: RowKey { phone.key(named: name) ?? RowKey(store: 0, entity: 0, primaryKey: 0) }

        /// The tablet is first at the server.
        mutating func meet() {
            for _ in 0..<3 {
                tablet.sync(&server)
                phone.sync(&server)
            }
        }

        var conflicts: [String] {
            [tablet, phone].flatMap { replica in
                replica.conflicts.map {
                    "\(replica.device): \($0.entity).\($0.property) lost \($0.losing.map { "\($0)" } ?? "nil"), \($0.winner)"
                }
            }
        }
    }

    @Test func editsOfDifferentFieldsAreMerged() {
        var pair = Pair()
        pair.tablet.set("title", of: pair.onTablet, to: .string("tablet"))
        pair.phone.set("content", of: pair.onPhone, to: .string("phone"))
        pair.meet()
        #expect(pair.tablet.dump == "Post T1  content \"phone\"  title \"tablet\"  views 7")
        #expect(pair.phone.dump == pair.tablet.dump)
        #expect(pair.conflicts.isEmpty)
    }

    @Test func theLaterEditOfAFieldWinsAndTheOtherIsLogged() {
        var pair = Pair()
        pair.tablet.set("title", of: pair.onTablet, to: .string("tablet"))
        pair.phone.set("title", of: pair.onPhone, to: .string("phone"))
        pair.meet()
        #expect(pair.tablet.dump == "Post T1  content \"old\"  title \"phone\"  views 7")
        #expect(pair.phone.dump == pair.tablet.dump)
        #expect(pair.conflicts == ["P: Post.title lost string(\"tablet\"), local"])
        #expect(pair.phone.conflicts[0].losingStamp?.deviceID == "T")
        #expect(pair.phone.conflicts[0].recordName == "T1")
    }

    @Test func equalEditsAndClearedFieldsDoNotConflict() {
        var pair = Pair()
        for device in [\Pair.tablet, \Pair.phone] {
            let key = device == \Pair.tablet ? pair.onTablet : pair.onPhone
            pair[keyPath: device].set("title", of: key, to: .string("same"))
            pair[keyPath: device].set("content", of: key, to: .null)
        }
        pair.meet()
        #expect(pair.phone.dump == "Post T1  title \"same\"  views 7")
        #expect(pair.tablet.dump == pair.phone.dump)
        #expect(pair.conflicts.isEmpty)
    }

    @Test(arguments: [true, false]) func aDeletionWinsOverEditsOfBothDevices(deleterIsFirst: Bool) {
        var pair = Pair()
        if deleterIsFirst {
            pair.tablet.delete(pair.onTablet)
            pair.phone.set("title", of: pair.onPhone, to: .string("edited"))
        } else {
            pair.phone.delete(pair.onPhone)
            pair.tablet.set("title", of: pair.onTablet, to: .string("edited"))
        }
        pair.meet()
        #expect(pair.tablet.dump.isEmpty)
        #expect(pair.phone.dump.isEmpty)
        #expect(pair.server.records.isEmpty)
        #expect(pair.conflicts == ["P: Post.title lost string(\"edited\"), \(deleterIsFirst ? "remoteDeletion" : "localDeletion")"])
    }

    @Test func anUpdateOfADeletedRecordDeletesTheObject() {
        var pair = Pair()
        pair.tablet.delete(pair.onTablet)
        pair.tablet.sync(&pair.server)
        pair.phone.set("title", of: pair.onPhone, to: .string("too late"))
        // Sent before the deletion was heard of.
        pair.phone.export(to: &pair.server)
        #expect(pair.phone.records["T1"]?.stage == .missing)
        #expect(!pair.phone.dump.isEmpty)
        pair.phone.importAll(from: pair.server)
        #expect(pair.phone.dump.isEmpty)
        #expect(pair.phone.records.isEmpty)
        #expect(pair.conflicts == ["P: Post.title lost string(\"too late\"), remoteDeletion"])
    }

    @Test func aDeletionLogsAnEditThatItHadNotReceived() {
        var pair = Pair()
        pair.tablet.delete(pair.onTablet)
        pair.phone.set("title", of: pair.onPhone, to: .string("earlier"))
        pair.phone.sync(&pair.server)
        // Sent before the edit was heard of, and refused; the edit is heard of, and then the deletion is sent again.
        pair.tablet.export(to: &pair.server)
        #expect(pair.server.records.count == 1)
        pair.tablet.sync(&pair.server)
        pair.phone.importAll(from: pair.server)
        #expect(pair.tablet.dump.isEmpty)
        #expect(pair.phone.dump.isEmpty)
        #expect(pair.server.records.isEmpty)
        #expect(pair.conflicts == ["T: Post.title lost string(\"earlier\"), localDeletion"])
    }

    @Test func aLinkToAConcurrentlyDeletedObjectLeavesNoJoinRecord() {
        var pair = Pair()
        let tag = pair.phone.insert("Tag", ["name": .string("n")])
        pair.phone.setLinked(true, pair.onPhone, "tags", tag)
        pair.tablet.delete(pair.onTablet)
        pair.meet()
        #expect(pair.tablet.dump == pair.phone.dump)
        #expect(pair.phone.dump.hasPrefix("Tag "))
        #expect(pair.server.links.isEmpty)
        #expect(pair.phone.links.isEmpty)
        #expect(pair.tablet.links.isEmpty)
    }
}
