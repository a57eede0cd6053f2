// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import Synchronization
import TestBasics
import Testing

/// Permissions in the public database, by the roles of the server's schema.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct PermissionTests {
    private static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Moderators;
            RECORD TYPE CD_Post (
                CD_entityName STRING, CD_title STRING, CD_content STRING,
                GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world",
                GRANT READ, CREATE, WRITE TO Moderators
            );
            RECORD TYPE CD_Tag (
                CD_entityName STRING, CD_name STRING,
                GRANT READ TO "_world", GRANT READ, CREATE, WRITE TO Moderators
            );
        """

    private func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    private struct Answer: Equatable, CustomStringConvertible {
        var update: Bool
        var delete: Bool

        init(_ update: Bool, _ delete: Bool) { (self.update, self.delete) = (update, delete) }

        var description: String { "\(update) \(delete)" }
    }

    private func answer(_ device: Device, _ entity: String, _ text: String) throws -> Answer {
        let id = try device.read { context in
            try #require(try context.all(entity).first { $0.value(forKey: entity == "Post" ? "title" : "name") as? String == text })
                .objectID
        }
        return Answer(
            device.container.canUpdateRecord(forManagedObjectWith: id), device.container.canDeleteRecord(forManagedObjectWith: id))
    }

    private final class HandClock: Sendable {
        private let time = Mutex(0.0)

        var now: Date { Date(timeIntervalSinceReferenceDate: time.withLock { $0 }) }

        func advance(by seconds: Double) { time.withLock { $0 += seconds } }
    }

    private func mayModify(_ device: Device) -> Bool {
        device.container.canModifyManagedObjects(in: device.container.persistentStoreCoordinator.persistentStores[0])
    }

    @Test func rolesOfTheSchemaCountAndAreFollowedWhenTheyChange() async throws {
        let cloud = try InProcessCloud()
        try await cloud.importSchema(Self.schema, into: Device.containerIdentifier)
        let tablet = try await cloud.addUser("mia", device: "tablet")
        let transport = try await cloud.addUser("bo", device: "phone")
        try await cloud.setRoles(["Moderators"], of: "mia", container: Device.containerIdentifier)
        let mia = try Device("mia's", tablet, describe: publish)
        let clock = HandClock()
        let bo = try Device("bo's", transport, describe: publish, configure: { $0.now = { clock.now } })
        let visitor = try Device("visitor's", cloud.addVisitor(device: "kiosk"), describe: publish)
        try mia.edit { context in
            context.insert("Post", ["title": "Mia's"])
            context.insert("Tag", ["name": "game"])
        }
        try bo.edit { $0.insert("Post", ["title": "Bo's"]) }
        try await sync(mia, bo, visitor, mia)
        // A moderator may do everything, other users only with their own records, and tags belong to none of them.
        #expect(try answer(mia, "Post", "Bo's") == Answer(true, true))
        #expect(try answer(mia, "Tag", "game") == Answer(true, true))
        #expect(try answer(bo, "Post", "Bo's") == Answer(true, true))
        #expect(try answer(bo, "Post", "Mia's") == Answer(false, false))
        #expect(try answer(bo, "Tag", "game") == Answer(false, false))
        #expect(try answer(visitor, "Post", "Bo's") == Answer(false, false))
        #expect(mayModify(mia))
        #expect(mayModify(bo))
        #expect(!mayModify(visitor))
        // A new object may be sent only with the permission to create it; its deletion is always allowed.
        bo.container.pauseSyncing()
        try bo.edit { context in
            context.insert("Tag", ["name": "forbidden"])
            context.insert("Post", ["title": "Allowed"])
        }
        #expect(try answer(bo, "Tag", "forbidden") == Answer(false, true))
        #expect(try answer(bo, "Post", "Allowed") == Answer(true, true))
        try bo.edit { context in
            for tag in try context.all("Tag") where tag.value(forKey: "name") as? String == "forbidden" { context.delete(tag) }
        }
        bo.container.resumeSyncing()

        // Bo becomes a moderator and Mia loses the role. Offline devices don't know that.
        try await cloud.setRoles(["Moderators"], of: "bo", container: Device.containerIdentifier)
        try await cloud.setRoles([], of: "mia", container: Device.containerIdentifier)
        try await mia.kill()
        mia.transport.goOffline()
        let again = try Device("mia's", mia.transport, file: mia.file, describe: publish)
        try await again.until { $0.activity == .offline }
        #expect(try answer(again, "Post", "Bo's") == Answer(true, true))
        mia.transport.goOnline()
        // The server is asked at launch, and then as often as the public database is.
        try await sync(again, bo)
        #expect(try answer(again, "Post", "Bo's") == Answer(false, false))
        #expect(try answer(again, "Post", "Mia's") == Answer(true, true))
        #expect(try answer(again, "Tag", "game") == Answer(false, false), "who made it has no right without the role")
        #expect(try answer(bo, "Post", "Mia's") == Answer(false, false))
        clock.advance(by: 1_800)
        try await sync(bo)
        #expect(try answer(bo, "Post", "Mia's") == Answer(true, true))
        #expect(try answer(bo, "Tag", "game") == Answer(true, true))
    }
}

/// Users without a permission.
extension PermissionTests {
    @Test func missingPermissionsAreReportedForTheStore() async throws {
        let cloud = try InProcessCloud()
        try await cloud.importSchema(
            ["Post", "Tag", "Attachment", "ImageData"].reduce("DEFINE SCHEMA\n") {
                $0 + "RECORD TYPE CD_\($1) (CD_entityName STRING, GRANT READ TO \"_world\");\n"
            }, into: Device.containerIdentifier)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try await sync(bo)
        #expect(!mayModify(bo))
    }
}
