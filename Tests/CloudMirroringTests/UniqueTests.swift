// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Uniqueness constraints on several devices.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct UniqueTests {
    /// Tags with unique names and notes about them, and people with two unique attributes.
    private static func model(isUnique: Bool = true) -> Model {
        var tag = Entity(
            name: "Tag",
            attributes: [
                Attribute(name: "name", type: .string), Attribute(name: "color", type: .string), Attribute(name: "comment", type: .string),
                Attribute(name: "count", type: .integer32, isOptional: false, defaultValue: .int(0)),
            ],
            relationships: [
                Relationship(name: "notes", destination: "Note", inverse: "tag", isToMany: true, deleteRule: .cascade),
                Relationship(name: "posts", destination: "Post", inverse: "tags", isToMany: true),
                Relationship(name: "cover", destination: "Cover", inverse: "tag"),
            ])
        var person = Entity(
            name: "Person",
            attributes: [
                Attribute(name: "first", type: .string), Attribute(name: "last", type: .string), Attribute(name: "email", type: .string),
            ])
        if isUnique {
            tag.uniquenessConstraints = [["name"]]
            person.uniquenessConstraints = [["email"], ["first", "last"]]
        }
        return Model(entities: [
            tag, person,
            Entity(
                name: "Note", attributes: [Attribute(name: "text", type: .string)],
                relationships: [Relationship(name: "tag", destination: "Tag", inverse: "notes")]),
            Entity(
                name: "Post", attributes: [Attribute(name: "text", type: .string)],
                relationships: [Relationship(name: "tags", destination: "Tag", inverse: "posts", isToMany: true)]),
            Entity(
                name: "Cover", attributes: [Attribute(name: "text", type: .string)],
                relationships: [Relationship(name: "tag", destination: "Tag", inverse: "cover")]),
            Entity(name: "Hashtag", superentity: "Tag", attributes: [Attribute(name: "page", type: .string)]),
        ])
    }

    private func device(
        _ name: String, _ transport: InProcessTransport, over wire: (any CloudTransport)? = nil, file: URL? = nil, model: Model = model()
    ) throws -> Device {
        try Device(
            name, transport, over: wire, file: file, model: model,
            describe: {
                $0.cloudKitContainerOptions?.modelExtensions = [.uniquenessConstraints]
            })
    }

    private func devices(_ names: String...) async throws -> (InProcessCloud, [Device]) {
        let cloud = try InProcessCloud()
        var devices = [try device(names[0], try await cloud.addUser("mia", device: names[0]))]
        for name in names.dropFirst() { devices.append(try device(name, try await cloud.addDevice(name, of: "mia"))) }
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
        return (cloud, devices)
    }

    private func pause(_ devices: [Device]) { for device in devices { device.container.pauseSyncing() } }

    /// Each device in turn, until all have seen everything.
    private func sync(_ devices: [Device]) async throws {
        for device in devices {
            device.container.resumeSyncing()
            try await device.container.sync(timeout: .seconds(600))
        }
        for _ in 0..<2 { for device in devices { try await device.container.sync(timeout: .seconds(600)) } }
    }

    private static func find(_ entity: String, _ key: String, _ value: String, _ context: NSManagedObjectContext) throws -> NSManagedObject
    {
        try #require(try context.all(entity).first { $0.value(forKey: key) as? String == value })
    }

    /// Every tag, person and note with its values and related objects.
    private func dump(_ device: Device) throws -> [String] {
        try device.read { context in
            var lines: [String] = []
            for tag in try context.all("Tag") {
                func texts(_ relationship: String, _ key: String) -> String {
                    ((tag.value(forKey: relationship) as? Set<NSManagedObject>) ?? []).compactMap { $0.value(forKey: key) as? String }
                        .sorted().joined(separator: ",")
                }
                let values = ["name", "color", "comment"].map { tag.value(forKey: $0) as? String ?? "–" }
                let cover = (tag.value(forKey: "cover") as? NSManagedObject)?.value(forKey: "text") as? String ?? "–"
                lines.append(
                    "Tag \(values.joined(separator: " ")) \(tag.value(forKey: "count") ?? 0) [\(texts("notes", "text"))] [\(texts("posts", "text"))] \(cover)"
                )
            }
            for note in try context.all("Note") where note.value(forKey: "tag") == nil {
                lines.append("Note \(note.value(forKey: "text") ?? "–") alone")
            }
            for person in try context.all("Person") {
                lines.append(
                    "Person " + ["first", "last", "email"].map { person.value(forKey: $0) as? String ?? "–" }.joined(separator: " "))
            }
            return lines.sorted()
        }
    }

    private func expectAll(_ devices: [Device], _ expected: String..., at location: SourceLocation = #_sourceLocation) throws {
        for device in devices {
            let shown = try dump(device)
            #expect(shown == expected, "\(device.name)", sourceLocation: location)
        }
    }

    /// The backup, or another device, has the object under its first name. Its record name follows from that.
    @Test(arguments: [true, false]) func aRenamedObjectStaysOneAfterARestore(isInBackup: Bool) async throws {
        let (cloud, devices) = try await devices("tablet", "phone")
        let (tablet, phone) = (devices[0], devices[1])
        let backup = TestScope.temporaryFolder().appendingPathComponent("backup").path
        if !isInBackup { try await cloud.backUp(to: backup) }
        try tablet.edit { $0.insert("Tag", ["name": "t0"]) }
        try await sync(devices)
        if isInBackup { try await cloud.backUp(to: backup) }
        pause([phone])
        try tablet.edit { try Self.find("Tag", "name", "t0", $0).setValue("t9", forKey: "name") }
        try await tablet.container.sync(timeout: .seconds(600))
        pause([tablet])
        try await cloud.restore(from: backup)
        try await sync([phone, tablet])
        try expectAll(devices, "Tag t9 – – 0 [] [] –")
    }

    /// The server executed the creation, the response was lost, and no backup says that another device has received the object.
    @Test func anObjectOfARequestInDoubtStaysOneAfterARestore() async throws {
        let (cloud, devices) = try await devices("tablet", "phone")
        let (tablet, phone) = (devices[0], devices[1])
        let backup = TestScope.temporaryFolder().appendingPathComponent("backup").path
        try await cloud.backUp(to: backup)
        // Other requests than the creation are complete.
        try await tablet.until { _ in cloud.listeners == 2 }
        try await tablet.settles()
        tablet.transport.loseNextAnswers()
        try tablet.edit { $0.insert("Tag", ["name": "t0"]) }
        try await tablet.until { $0.activity == .offline }
        pause([tablet])
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try dump(phone) == ["Tag t0 – – 0 [] [] –"])
        try await cloud.restore(from: backup)
        try tablet.edit { try Self.find("Tag", "name", "t0", $0).setValue("t9", forKey: "name") }
        try await sync([phone, tablet])
        try expectAll(devices, "Tag t9 – – 0 [] [] –")
    }

    /// The names of the records follow from the names that the tags were made with: that of "t3" is smaller than that of "t0".
    @Test func aDuplicateOfADeletedObjectIsKept() async throws {
        let (cloud, devices) = try await devices("tablet", "phone")
        let (tablet, phone) = (devices[0], devices[1])
        try tablet.edit { $0.insert("Tag", ["name": "t3"]) }
        try tablet.edit { try Self.find("Tag", "name", "t3", $0).setValue("t0", forKey: "name") }
        try await sync(devices)
        pause([phone])
        try phone.edit { context in
            let tag = try Self.find("Tag", "name", "t0", context)
            context.insert("Note", ["text": "of the phone", "tag": tag])
            context.insert("Post", ["text": "A", "tags": Set([tag])])
        }
        // The phone hears of another tag with the name on one page, and on a later one that its own is gone.
        try tablet.edit { try Self.find("Tag", "name", "t0", $0).setValue("t9", forKey: "name") }
        try tablet.edit { $0.insert("Tag", ["name": "t0", "color": "red"]) }
        try await tablet.container.sync(timeout: .seconds(600))
        try tablet.edit { context in for number in 0..<500 { context.insert("Person", ["email": "\(number)"]) } }
        try await tablet.container.sync(timeout: .seconds(600))
        try tablet.edit { $0.delete(try Self.find("Tag", "name", "t9", $0)) }
        try await tablet.container.sync(timeout: .seconds(600))
        try await sync([phone, tablet])
        for device in devices {
            #expect(try dump(device).filter { !$0.hasPrefix("Person") } == ["Tag t0 red – 0 [of the phone] [A] –"], "\(device.name)")
        }
        #expect(try await cloud.records(ofType: "CD_Tag").count == 1)
    }

    @Test func devicesThatMakeTheSameThingMakeOne() async throws {
        let (cloud, devices) = try await devices("tablet", "phone")
        pause(devices)
        try devices[0].edit { context in
            let tag = context.insert("Tag", ["name": "swift", "color": "orange", "count": 3])
            context.insert("Note", ["text": "from the tablet", "tag": tag])
            context.insert("Post", ["text": "A", "tags": Set([tag])])
        }
        try devices[1].edit { context in
            let tag = context.insert("Tag", ["name": "swift", "color": "red", "comment": "a bird"])
            context.insert("Note", ["text": "from the phone", "tag": tag])
            context.insert("Post", ["text": "B", "tags": Set([tag])])
        }
        try await sync(devices)
        // The phone's color reached the server later.
        try expectAll(devices, "Tag swift red a bird 3 [from the phone,from the tablet] [A,B] –")
        let records = try await cloud.records(ofType: "CD_Tag")
        #expect(records.count == 1)
        // One record, with a name that both devices derived: nothing was ever deleted.
        #expect(try devices[1].container.conflicts().map { $0.losingValue as? String } == ["orange"])
    }

    @Test func objectsThatBecomeEqualLaterAreMerged() async throws {
        let (cloud, devices) = try await devices("tablet", "phone", "watch")
        try devices[0].edit { context in
            let cover = context.insert("Cover", ["text": "front"])
            let tag = context.insert("Tag", ["name": "bird", "comment": "feathers", "cover": cover])
            context.insert("Note", ["text": "old", "tag": tag])
            context.insert("Post", ["text": "A", "tags": Set([tag])])
        }
        try await sync(devices)
        pause(devices)
        try devices[0].edit { context in
            let tag = context.insert("Tag", ["name": "swift", "color": "orange"])
            context.insert("Note", ["text": "new", "tag": tag])
        }
        try devices[1].edit { try Self.find("Tag", "name", "bird", $0).setValue("swift", forKey: "name") }
        try await sync(devices)
        try expectAll(devices, "Tag swift orange feathers 0 [new,old] [A] front")
        #expect(try await cloud.records(ofType: "CD_Tag").count == 1)
        #expect(try await cloud.records(ofType: "CDMR").count == 1)
    }

    /// The watch never sees both.
    @Test func aLateDeviceFollowsAMergeWithItsEdits() async throws {
        let (_, devices) = try await devices("tablet", "phone", "watch")
        try devices[0].edit { $0.insert("Tag", ["name": "bird", "color": "brown"]) }
        try await sync(devices)
        pause(devices)
        try devices[2].edit { context in
            let tag = try Self.find("Tag", "name", "bird", context)
            tag.setValue("swift", forKey: "name")
            context.insert("Note", ["text": "from the watch", "tag": tag])
        }
        try devices[0].edit { $0.insert("Tag", ["name": "swift", "color": "orange"]) }
        try devices[1].edit { try Self.find("Tag", "name", "bird", $0).setValue("swift", forKey: "name") }
        try await sync(Array(devices.prefix(2)))
        try await sync(devices)
        try expectAll(devices, "Tag swift orange – 0 [from the watch] [] –")
    }

    /// In one of the two cases the watch's tag is deleted, and its values do not lead to the survivor.
    @Test(arguments: [("bird", "swift"), ("swift", "bird")])
    func aRedirectToARenamedRecordIsFollowed(known: String, new: String) async throws {
        let (cloud, devices) = try await devices("tablet", "phone", "watch", "desk")
        try devices[0].edit { $0.insert("Tag", ["name": known, "color": "brown"]) }
        try await sync(devices)
        pause(devices)
        try devices[2].edit { context in
            let tag = try Self.find("Tag", "name", known, context)
            context.insert("Note", ["text": "from the watch", "tag": tag])
            context.insert("Post", ["text": "A", "tags": Set([tag])])
        }
        try devices[0].edit { $0.insert("Tag", ["name": new, "color": "orange"]) }
        try devices[1].edit { try Self.find("Tag", "name", known, $0).setValue(new, forKey: "name") }
        try await sync(Array(devices.prefix(2)))
        try devices[0].edit { try Self.find("Tag", "name", new, $0).setValue("falcon", forKey: "name") }
        try await sync(Array(devices.prefix(2)))
        try await sync(devices)
        let color = try #require(try dump(devices[0]).first).contains("orange") ? "orange" : "brown"
        try expectAll(devices, "Tag falcon \(color) – 0 [from the watch] [A] –")
        #expect(try await cloud.records(ofType: "CD_Tag").count == 1)
        // And the records name it.
        let witness = try device("witness", try await cloud.addDevice("witness", of: "mia"))
        try await witness.container.sync(timeout: .seconds(600))
        try expectAll([witness], "Tag falcon \(color) – 0 [from the watch] [A] –")
    }

    @Test func anObjectInsertedAgainAfterARemoteDeletionStays() async throws {
        let (_, devices) = try await devices("tablet", "phone")
        pause([devices[1]])
        try devices[1].edit { $0.insert("Tag", ["name": "swift", "color": "red"]) }
        try devices[0].edit { $0.insert("Tag", ["name": "swift", "color": "orange"]) }
        try await devices[0].container.sync(timeout: .seconds(600))
        try devices[0].edit { context in for tag in try context.all("Tag") { context.delete(tag) } }
        try await devices[0].container.sync(timeout: .seconds(600))
        try await sync(devices)
        try expectAll(devices, "Tag swift red – 0 [] [] –")
        // And deleted and made again on one device.
        try devices[0].edit { context in
            for tag in try context.all("Tag") { context.delete(tag) }
            try context.save()
            context.insert("Tag", ["name": "swift", "color": "blue"])
        }
        try await sync(devices)
        try expectAll(devices, "Tag swift blue – 0 [] [] –")
    }

    @Test func aNameWhoseOwnerHasOtherValuesNowIsNotTaken() async throws {
        let (cloud, devices) = try await devices("tablet", "phone", "watch")
        pause(Array(devices.dropFirst()))
        try devices[0].edit { context in
            let tag = context.insert("Tag", ["name": "first"])
            context.insert("Note", ["text": "of the first", "tag": tag])
        }
        try await sync([devices[0]])
        pause(devices)
        try devices[0].edit { try Self.find("Tag", "name", "first", $0).setValue("renamed", forKey: "name") }
        for device in devices.dropFirst() {
            try device.edit { context in
                let tag = context.insert("Tag", ["name": "first", "comment": "another"])
                context.insert("Note", ["text": "by the \(device.name)", "tag": tag])
                context.insert("Post", ["text": "at the \(device.name)", "tags": Set([tag])])
            }
        }
        try await sync(devices)
        try expectAll(
            devices, "Tag first – another 0 [by the phone,by the watch] [at the phone,at the watch] –",
            "Tag renamed – – 0 [of the first] [] –")
        #expect(try await cloud.records(ofType: "CD_Tag").count == 2)
    }

    /// The join record is sent together with the tag's, which is rejected: by then another object has the name.
    @Test func linksOfACollidingNameFollowTheRename() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let late = Holding(transport) { path, body in path.hasSuffix("records/modify") && body.firstRange(of: Array("CDMR".utf8)) != nil }
        let tablet = try device("tablet", transport, over: late), phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { $0.insert("Post", ["text": "Cove"]) }
        try await sync([tablet, phone])
        try tablet.edit { context in
            context.insert("Tag", ["name": "sea"]).setValue(Set([try Self.find("Post", "text", "Cove", context)]), forKey: "posts")
        }
        try await late.gate.reached()
        try phone.edit { $0.insert("Tag", ["name": "sea", "color": "blue"]) }
        try await phone.container.sync(timeout: .seconds(600))
        try tablet.edit { try Self.find("Tag", "name", "sea", $0).setValue("beach", forKey: "name") }
        late.gate.open()
        try await sync([tablet, phone])
        try expectAll([tablet, phone], "Tag beach – – 0 [] [Cove] –", "Tag sea blue – 0 [] [] –")
        #expect(try await cloud.records(ofType: "CDMR").filter { !$0.isDeleted }.count == 1)
    }

    /// Another client deleted a tag, and left its join record.
    @Test func aNameForWhichALinkWaitsIsNotTaken() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try device("tablet", transport), phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        phone.container.pauseSyncing()
        try tablet.edit { context in
            context.insert("Tag", ["name": "sea"]).setValue(Set([context.insert("Post", ["text": "Cove"])]), forKey: "posts")
        }
        try await tablet.container.sync(timeout: .seconds(600))
        tablet.container.pauseSyncing()
        let deleted = try #require(try await cloud.records(ofType: "CD_Tag").first)
        try await transport.forceDelete(deleted.recordName, ofType: "CD_Tag")
        phone.container.resumeSyncing()
        try await phone.container.sync(timeout: .seconds(600))
        try phone.edit { $0.insert("Tag", ["name": "sea", "color": "blue"]) }
        try await phone.container.sync(timeout: .seconds(600))
        let tags = try await cloud.records(ofType: "CD_Tag").filter { !$0.isDeleted }
        #expect(tags.count == 1)
        #expect(tags.allSatisfy { $0.recordName != deleted.recordName })
        try expectAll([phone], "Tag sea blue – 0 [] [] –")
    }

    @Test func objectsFromBeforeThereWasAConstraintMeetNewOnes() async throws {
        let cloud = try InProcessCloud()
        let old = try device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.model(isUnique: false))
        try old.edit { $0.insert("Tag", ["name": "swift", "comment": "before"]) }
        try await old.container.sync(timeout: .seconds(600))
        let new = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try new.edit { $0.insert("Tag", ["name": "swift", "color": "red"]) }
        try await new.container.sync(timeout: .seconds(600))
        try await old.container.sync(timeout: .seconds(600))
        try expectAll([old, new], "Tag swift red before 0 [] [] –")
    }

    @Test func severalConstraintsAndNilAndHeirs() async throws {
        let (_, devices) = try await devices("tablet", "phone")
        pause(devices)
        try devices[0].edit { context in
            context.insert("Person", ["first": "Mia", "last": "May"])
            context.insert("Person", ["first": "Bo", "email": "bo@example.org"])
            context.insert("Person", ["first": "Bo"])
            context.insert("Tag", ["name": "heir", "color": "green"])
        }
        try devices[1].edit { context in
            // The first by name, the second by address.
            context.insert("Person", ["first": "Mia", "last": "May", "email": "mia@example.org"])
            context.insert("Person", ["last": "Bolt", "email": "bo@example.org"])
            context.insert("Person", ["first": "Bo"])
            context.insert("Hashtag", ["name": "heir"])
        }
        try await sync(devices)
        try expectAll(
            devices, "Person Bo Bolt bo@example.org", "Person Bo – –", "Person Bo – –", "Person Mia May mia@example.org",
            "Tag heir green – 0 [] [] –")
    }
}
