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

/// Required attributes and relationships on several devices.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RequiredTests {
    /// Boards with columns with cards, each of which requires its owner; a card and its history require each other.
    private static func model(isStrict: Bool = true) -> Model {
        Model(entities: [
            Entity(
                name: "Board", attributes: [Attribute(name: "name", type: .string, isOptional: !isStrict)],
                relationships: [
                    Relationship(name: "columns", destination: "Column", inverse: "board", isToMany: true, deleteRule: .cascade)
                ]),
            Entity(
                name: "Column", attributes: [Attribute(name: "name", type: .string)],
                relationships: [
                    Relationship(name: "board", destination: "Board", inverse: "columns", isOptional: !isStrict),
                    Relationship(name: "cards", destination: "Card", inverse: "column", isToMany: true, deleteRule: .cascade),
                    Relationship(name: "labels", destination: "Label", inverse: "columns", isToMany: true),
                ]),
            Entity(
                name: "Label", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "columns", destination: "Column", inverse: "labels", isToMany: true)]),
            Entity(
                name: "Card", attributes: [Attribute(name: "name", type: .string), Attribute(name: "image", type: .binaryData)],
                relationships: [
                    Relationship(name: "column", destination: "Column", inverse: "cards", isOptional: !isStrict),
                    Relationship(name: "story", destination: "Story", inverse: "card", isOptional: !isStrict, deleteRule: .cascade),
                ]),
            Entity(
                name: "Story", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "card", destination: "Card", inverse: "story", isOptional: !isStrict)]),
        ])
    }

    private func device(
        _ name: String, _ transport: InProcessTransport, over faults: Faults? = nil, isStrict: Bool = true, pageSize: Int? = nil
    ) throws -> Device {
        try Device(
            name, transport, over: faults, model: Self.model(isStrict: isStrict),
            describe: { if isStrict { $0.cloudKitContainerOptions?.modelExtensions = [.requiredValues] } },
            configure: { environment in
                guard let pageSize else { return }
                (environment.limits.recordsPerResponse, environment.limits.recordsPerLargePage) = (pageSize, pageSize)
            })
    }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    private func names(_ device: Device) throws -> String {
        try device.read { context in
            try ["Board", "Column", "Card", "Story"].flatMap { try context.all($0).map { $0.value(forKey: "name") as? String ?? "–" } }
                .sorted().joined(separator: " ")
        }
    }

    /// Whether everything that is there may be saved.
    private func isValid(_ device: Device) throws -> Bool {
        try device.read { context in
            for entity in ["Board", "Column", "Card", "Story"] { for object in try context.all(entity) { try object.validateForUpdate() } }
            return true
        }
    }

    private static func find(_ entity: String, _ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
        try #require(try context.all(entity).first { $0.value(forKey: "name") as? String == name })
    }

    private func make(_ device: Device, image: Data? = nil) throws {
        try device.edit { context in
            let board = context.insert("Board", ["name": "board"])
            let column = context.insert("Column", ["name": "column", "board": board])
            let story = context.insert("Story", ["name": "story"])
            let card = context.insert("Card", ["name": "card", "column": column, "story": story])
            card.setValue(image, forKey: "image")
        }
    }

    /// The later version of the app requires nothing. The record does not change.
    @Test func aLaterVersionShowsWhatAnEarlierOneWithheld() async throws {
        let cloud = try InProcessCloud()
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"), isStrict: false)
        let transport = try await cloud.addDevice("phone", of: "mia")
        let phone = try device("phone", transport)
        try tablet.edit { context in
            context.insert("Column", ["name": "column"])
            context.insert("Board", ["name": "board"])
        }
        try await sync(tablet, phone)
        #expect(try names(phone) == "board")
        #expect(phone.container.syncStatus.incompleteCount == 1)
        try await phone.kill()
        let updated = try Device("phone", transport, file: phone.file, model: Self.model(isStrict: false))
        try await sync(updated)
        #expect(try names(updated) == "board column")
        #expect(updated.container.syncStatus.incompleteCount == 0)
        #expect(try updated.container.conflicts().isEmpty)
    }

    @Test func objectsThatRequireEachOtherArriveTogether() async throws {
        let cloud = try InProcessCloud()
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try make(tablet)
        try await sync(tablet, phone)
        #expect(try names(phone) == "board card column story")
        #expect(try isValid(phone))
        #expect(phone.container.syncStatus.incompleteCount == 0)
        try tablet.edit { $0.delete(try Self.find("Board", "board", $0)) }
        try await sync(tablet, phone)
        #expect(try names(phone).isEmpty)
        #expect(try phone.container.conflicts().isEmpty)
    }

    /// The object was removed and inserted again: with another object ID, and without the edit.
    @Test func anObjectStaysWhileItsNewRequiredObjectIsOnALaterPage() async throws {
        var limits = Limits()
        (limits.recordsPerResponse, limits.recordsPerLargePage) = (5, 5)
        let cloud = try InProcessCloud(limits: limits)
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"), pageSize: 5)
        let transport = try await cloud.addDevice("phone", of: "mia")
        let phone = try device("phone", transport, pageSize: 5)
        try make(tablet)
        try await sync(tablet, phone)
        let before = try phone.read { try Self.find("Column", "column", $0).objectID }
        transport.goOffline()
        try phone.edit { try Self.find("Card", "card", $0).setValue("edited", forKey: "name") }
        try await phone.until { $0.activity == .offline }
        try tablet.edit { context in
            let board = context.insert("Board", ["name": "new"])
            try Self.find("Column", "column", context).setValue(board, forKey: "board")
        }
        try await sync(tablet)
        // The new board is on a later page than the column.
        try tablet.edit { context in for number in 0..<12 { context.insert("Label", ["name": "\(number)"]) } }
        try await sync(tablet)
        try tablet.edit { try Self.find("Board", "new", $0).setValue("newer", forKey: "name") }
        try await sync(tablet)
        transport.goOnline()
        try await sync(phone, tablet)
        #expect(transport.log.count { $0 == "changes/zone" } > 3)
        #expect(try phone.read { try Self.find("Column", "column", $0).objectID } == before)
        #expect(try phone.read { try Self.find("Column", "column", $0).value(forKeyPath: "board.name") as? String } == "newer")
        #expect(try names(tablet) == "board column edited newer story")
        #expect(try phone.container.conflicts().isEmpty)
    }

    /// An older version of the app, without requirements, creates objects that the newer one cannot show.
    @Test func incompleteObjectsAreWithheldUntilComplete() async throws {
        let cloud = try InProcessCloud()
        let old = try device("tablet", try await cloud.addUser("mia", device: "tablet"), isStrict: false)
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        let image = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try old.edit { context in
            let column = context.insert("Column", ["name": "column"])
            let story = context.insert("Story", ["name": "story"])
            context.insert("Card", ["name": "card", "column": column, "story": story, "image": image])
            context.insert("Board", [:])
        }
        try await sync(old, phone)
        #expect(try names(phone).isEmpty)
        #expect(phone.container.syncStatus.incompleteCount == 4)
        #expect(String(decoding: try phone.container.supportBundle(), as: UTF8.self).contains("\"objectsWaitingForWhatTheyNeed\" : 4"))
        // The board gets its name, and the column a board: everything follows.
        try old.edit { context in
            let board = try #require(try context.all("Board").first)
            board.setValue("board", forKey: "name")
        }
        try await sync(old, phone)
        #expect(try names(phone) == "board")
        try old.edit { try Self.find("Column", "column", $0).setValue(try Self.find("Board", "board", $0), forKey: "board") }
        try await sync(old, phone)
        #expect(try names(phone) == "board card column story")
        #expect(try isValid(phone))
        #expect(phone.container.syncStatus.incompleteCount == 0)
        #expect(try phone.read { try Self.find("Card", "card", $0).value(forKey: "image") as? Data } == image)
    }

    /// Unsent objects stay when the user deletes the app's data elsewhere, unless they require a deleted object.
    @Test func objectsThatRequireADeletedOneAreDeletedAndLogged() async throws {
        let cloud = try InProcessCloud()
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in context.insert("Board", ["name": "old"]) }
        try await sync(tablet)
        tablet.container.pauseSyncing()
        try tablet.edit { context in
            let column = context.insert("Column", ["name": "column", "board": try Self.find("Board", "old", context)])
            let story = context.insert("Story", ["name": "story"])
            context.insert("Card", ["name": "card", "column": column, "story": story])
            context.insert("Column", ["name": "free", "board": context.insert("Board", ["name": "new"])])
        }
        try await cloud.deleteZone(
            "com.apple.coredata.cloudkit.zone", of: "mia", because: .purged, container: Device.containerIdentifier)
        tablet.container.resumeSyncing()
        try await sync(tablet)
        #expect(try names(tablet) == "free new")
        #expect(try isValid(tablet))
        #expect(Set(try tablet.container.conflicts().compactMap { $0.losingValue as? String }) == ["card", "column", "story"])
        #expect(try await cloud.records(ofType: "CD_Card").isEmpty)
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await sync(phone)
        #expect(try names(phone) == "free new")
        #expect(phone.container.syncStatus.incompleteCount == 0)
    }

    @Test func objectsThatStayIncompleteAreForgottenWhenDeleted() async throws {
        let cloud = try InProcessCloud()
        let old = try device("tablet", try await cloud.addUser("mia", device: "tablet"), isStrict: false)
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try old.edit { context in for name in ["one", "two"] { context.insert("Column", ["name": name]) } }
        try await sync(old, phone)
        try phone.edit { $0.insert("Board", ["name": "board"]) }
        try await sync(phone, old)
        #expect(try await cloud.records(ofType: "CD_Column").count == 2)
        #expect(try names(old) == "board one two")
        #expect(try names(phone) == "board")
        #expect(phone.container.syncStatus.incompleteCount == 2)
        try old.edit { $0.delete(try Self.find("Column", "one", $0)) }
        try await sync(old, phone)
        #expect(phone.container.syncStatus.incompleteCount == 1)
    }

    /// An expired token loses the deletion, and the fetch returns the required object. The deleted one was shown.
    @Test func aWithheldObjectThatAFullFetchDoesNotReturnIsForgotten() async throws {
        let cloud = try InProcessCloud()
        let old = try device("tablet", try await cloud.addUser("mia", device: "tablet"), isStrict: false)
        let transport = try await cloud.addDevice("phone", of: "mia")
        let faults = Faults(transport)
        let phone = try device("phone", transport, over: faults)
        try old.edit { context in
            let board = context.insert("Board", [:])
            for name in ["kept", "deleted"] { context.insert("Column", ["name": name, "board": board]) }
        }
        try await sync(old, phone)
        #expect(phone.container.syncStatus.incompleteCount == 3)
        phone.container.pauseSyncing()
        try old.edit { context in
            try context.all("Board").first?.setValue("board", forKey: "name")
            context.delete(try Self.find("Column", "deleted", context))
        }
        try await sync(old)
        faults.plan(
            "changes/zone",
            .refuse(status: 400, WireError(.badRequest, "the token has expired", nativeCode: .changeTokenExpired)))
        phone.container.resumeSyncing()
        try await sync(phone)
        #expect(faults.isSpent)
        #expect(try names(phone) == "board kept")
        #expect(phone.container.syncStatus.incompleteCount == 0)
    }

    /// A client without the links deletes the object: no device had deleted them.
    @Test func linksOfAWithheldObjectAreDeletedWithIt() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let old = try device("tablet", transport, isStrict: false)
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try old.edit { context in
            let board = context.insert("Board", ["name": "board"])
            let column = context.insert("Column", ["name": "column", "board": board])
            column.mutableSetValue(forKey: "labels").add(context.insert("Label", ["name": "label"]))
        }
        try await sync(old, phone)
        try old.edit { try Self.find("Column", "column", $0).setValue(nil, forKey: "board") }
        try await sync(old)
        old.container.pauseSyncing()
        try await sync(phone)
        #expect(phone.container.syncStatus.incompleteCount == 1)
        #expect(try await cloud.records(ofType: "CDMR").count { !$0.isDeleted } == 1)
        let column = try #require(try await cloud.records(ofType: "CD_Column").first { !$0.isDeleted })
        try await transport.forceDelete(column.recordName, ofType: "CD_Column")
        try await sync(phone)
        #expect(phone.container.syncStatus.incompleteCount == 0)
        #expect(try await cloud.records(ofType: "CDMR").allSatisfy(\.isDeleted))
    }

    @Test func anObjectUnderAConcurrentlyDeletedParentIsShownUnderItsNewOne() async throws {
        let cloud = try InProcessCloud()
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet")),
            phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try make(tablet)
        try tablet.edit { context in context.insert("Column", ["name": "done", "board": try Self.find("Board", "board", context)]) }
        try await sync(tablet, phone)
        phone.container.pauseSyncing()
        try phone.edit { context in
            let card = try Self.find("Card", "card", context)
            card.setValue(try Self.find("Column", "done", context), forKey: "column")
            card.setValue("moved", forKey: "name")
        }
        try tablet.edit { $0.delete(try Self.find("Column", "done", $0)) }
        try await sync(tablet)
        phone.container.resumeSyncing()
        try await sync(phone, tablet)
        for device in [tablet, phone] {
            #expect(try names(device) == "board column moved story")
            #expect(try isValid(device))
            #expect(try device.read { try Self.find("Card", "moved", $0).value(forKeyPath: "column.name") as? String } == "column")
            #expect(device.container.syncStatus.incompleteCount == 0)
        }
    }

    @Test func anObjectThatLosesARequiredValueIsWithheldAndRestored() async throws {
        let cloud = try InProcessCloud()
        let old = try device("tablet", try await cloud.addUser("mia", device: "tablet"), isStrict: false)
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        try old.edit { context in
            let board = context.insert("Board", ["name": "board"])
            context.insert("Column", ["name": "column", "board": board])
        }
        try await sync(old, phone)
        #expect(try names(phone) == "board column")
        // The older version clears the name: the newer one keeps its value and sends it again.
        try old.edit { try Self.find("Board", "board", $0).setValue(nil, forKey: "name") }
        try await sync(old, phone, old)
        #expect(try names(phone) == "board column")
        #expect(try names(old) == "board column")
        // And the board.
        phone.container.pauseSyncing()
        try phone.edit { try Self.find("Column", "column", $0).setValue("edited", forKey: "name") }
        try old.edit { try Self.find("Column", "column", $0).setValue(nil, forKey: "board") }
        try await sync(old)
        phone.container.resumeSyncing()
        try await sync(phone)
        #expect(try names(phone) == "board")
        #expect(try isValid(phone))
        #expect(phone.container.syncStatus.incompleteCount == 1)
        #expect(try phone.container.conflicts().contains { $0.losingValue as? String == "edited" })
        try old.edit { try Self.find("Column", "column", $0).setValue(try Self.find("Board", "board", $0), forKey: "board") }
        try await sync(old, phone)
        #expect(try names(phone) == "board column")
        #expect(phone.container.syncStatus.incompleteCount == 0)
    }
}
