// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Synchronization
import TestBasics
import Testing

/// The talk's container with three stores: one that stays here, one of the app's, one that several apps have.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SeveralStoresTests {
    private static let apps = "iCloud.com.example.demo", common = "iCloud.com.example.shared"

    private static var model: Model {
        var model = Posts.model
        model.entities.append(Entity(name: "Location", attributes: ["latitude", "longitude"].map { Attribute(name: $0, type: .double) }))
        model.entities.append(Entity(name: "Template", attributes: [Attribute(name: "name", type: .string)]))
        model.configurations = [
            "Local": ["Location"], "Cloud": ["Post", "Tag", "Attachment", "ImageData"], "Shared": ["Template"],
        ]
        return model
    }

    /// The stores of an app on one device.
    private final class App: Sendable {
        let container: NSPersistentCloudKitContainer
        let folder: URL
        let wires: [String: Faults]

        init(_ transport: InProcessTransport, configurations: [String], in model: Model = SeveralStoresTests.model) throws {
            let wires = [SeveralStoresTests.apps: Faults(transport), SeveralStoresTests.common: Faults(transport)]
            self.wires = wires
            folder = TestScope.temporaryFolder()
            container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(model))
            var environment = SyncEnvironment.live
            environment.connect = { identifier, scope in
                guard let wire = wires[identifier] else { throw CKError(.badContainer, "no such container") }
                return CloudDatabaseClient(containerIdentifier: identifier, environment: .development, scope: scope.wire, transport: wire)
            }
            container.environment = environment
            container.persistentStoreDescriptions = configurations.map { name in
                let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(name.lowercased()).sqlite"))
                description.configuration = name
                if name == "Cloud" {
                    description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(
                        containerIdentifier: SeveralStoresTests.apps)
                }
                if name == "Shared" {
                    description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(
                        containerIdentifier: SeveralStoresTests.common)
                }
                return description
            }
            TestScope.close(self) { [container] in
                await container.stopSyncing()
                for store in container.persistentStoreCoordinator.persistentStores {
                    try container.persistentStoreCoordinator.remove(store)
                }
                return []
            }
            try container.load()
        }

        func edit(_ body: @Sendable (NSManagedObjectContext) throws -> Void) throws {
            let context = container.newBackgroundContext()
            try context.performAndWait {
                try body(context)
                try context.save()
            }
        }

        func count(_ entity: String) throws -> Int {
            let context = container.newBackgroundContext()
            return try context.performAndWait { try context.all(entity).count }
        }

        func sync() async throws { try await container.sync(timeout: .seconds(600)) }
    }

    @Test func eachObjectIsInItsStoreAndContainer() async throws {
        let cloud = try InProcessCloud()
        let one = try App(try await cloud.addUser("mia", device: "tablet"), configurations: ["Local", "Cloud", "Shared"])
        try one.edit { context in
            context.insert("Post", ["title": "Here"])
            context.insert("Template", ["name": "Letter"])
            context.insert("Location", ["latitude": 1.0, "longitude": 2.0])
        }
        try await one.sync()
        let stores = one.container.persistentStoreCoordinator.persistentStores
        let context = one.container.newBackgroundContext()
        try context.performAndWait {
            for (entity, file) in [("Post", "cloud.sqlite"), ("Template", "shared.sqlite"), ("Location", "local.sqlite")] {
                let files = try context.all(entity).map { $0.objectID.persistentStore?.url?.lastPathComponent }
                #expect(files == [file])
            }
        }
        #expect(stores.map(\.configurationName) == ["Local", "Cloud", "Shared"])

        // Another device has all of it, another app the common part.
        let two = try App(try await cloud.addDevice("phone", of: "mia"), configurations: ["Local", "Cloud", "Shared"])
        try await two.sync()
        #expect(try (two.count("Post"), two.count("Template"), two.count("Location")) == (1, 1, 0))
        let other = try App(try await cloud.addDevice("other", of: "mia"), configurations: ["Shared"])
        try other.edit { $0.insert("Template", ["name": "From another app"]) }
        try await other.sync()
        try await two.sync()
        #expect(try two.count("Template") == 2)
    }

    @Test func dataThatStayHereAreNeverLookedAtBySyncing() async throws {
        let cloud = try InProcessCloud()
        let app = try App(try await cloud.addUser("mia", device: "tablet"), configurations: ["Local", "Cloud", "Shared"])
        try await app.sync()
        let before = app.wires.values.map { $0.log.count { $0 == "records/modify" || $0 == "changes/zone" } }
        for round in 0..<20 {
            try app.edit { context in
                for number in 0..<50 { context.insert("Location", ["latitude": Double(round), "longitude": Double(number)]) }
            }
        }
        #expect(app.container.syncStatus.pendingCount == 0)
        #expect(app.wires.values.map { $0.log.count { $0 == "records/modify" || $0 == "changes/zone" } } == before)
        // The changes of that store in the same save are sent, and nothing else.
        try app.edit { context in
            context.insert("Location", ["latitude": 48.0])
            context.insert("Post", ["title": "Here"])
        }
        try await app.sync()
        for wire in app.wires.values { #expect(!wire.bodies.contains { $0.firstRange(of: Array("Location".utf8)) != nil }) }
        let local = try #require(app.container.persistentStoreCoordinator.persistentStores.first)
        let error = #expect(throws: CocoaError.self) { try app.container.conflicts(in: local) }
        #expect(error != nil)
        #expect(app.container.canModifyManagedObjects(in: local))
    }

    @Test func oneContainersTroubleIsNotTheOthers() async throws {
        let cloud = try InProcessCloud()
        let app = try App(try await cloud.addUser("mia", device: "tablet"), configurations: ["Cloud", "Shared"])
        app.wires[Self.common]?.plan("users/caller", .fail(CKError(.badContainer, "no server for this one")))
        try app.edit { context in
            context.insert("Post", ["title": "Sent"])
            context.insert("Template", ["name": "Waits"])
        }
        for await status in app.container.syncStatusUpdates {
            if case .error("no server for this one") = status.activity, status.pendingCount <= 1 { break }
        }
        let other = try App(try await cloud.addDevice("phone", of: "mia"), configurations: ["Cloud"])
        while try other.count("Post") == 0 { try await other.sync() }
    }
}
