// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import CoreData
import Foundation
import TarnMirror
import TestBasics
import Testing

/// Mirrors on a real server, over URLSession.
@Suite(.closesFixtures, .timeLimit(.minutes(5))) struct MirrorTests {
    private final class Device: Sendable {
        let container: NSPersistentContainer
        let mirror: TarnMirror

        init(_ name: String, token: String, port: Int) throws {
            let title = NSAttributeDescription()
            title.name = "title"
            title.attributeType = .stringAttributeType
            let scan = NSAttributeDescription()
            scan.name = "scan"
            scan.attributeType = .binaryDataAttributeType
            let note = NSEntityDescription()
            note.name = "Note"
            note.properties = [title, scan]
            let model = NSManagedObjectModel()
            model.entities = [note]
            container = NSPersistentContainer(name: "Notes", managedObjectModel: model)
            let description = NSPersistentStoreDescription(
                url: TestScope.temporaryFolder().appendingPathComponent("\(name).sqlite"))
            for key in [NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey] {
                description.setOption(NSNumber(value: true), forKey: key)
            }
            container.persistentStoreDescriptions = [description]
            var failure: (any Error)?
            container.loadPersistentStores { _, error in failure = error }
            if let failure { throw failure }
            var options = TarnMirror.Options(
                containerIdentifier: LiveServer.container, server: "http://127.0.0.1:\(port)", token: token)
            options.environment = .development
            mirror = try TarnMirror(container: container, options: options)
            TestScope.close(self) { try await self.close() }
            mirror.start()
        }

        private func close() async throws -> [String] {
            await mirror.stop()
            let coordinator = container.persistentStoreCoordinator
            for store in coordinator.persistentStores { try coordinator.remove(store) }
            return []
        }

        func insert(_ title: String, _ scan: Data) throws {
            let context = container.newBackgroundContext()
            try context.performAndWait {
                let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
                note.setValue(title, forKey: "title")
                note.setValue(scan, forKey: "scan")
                try context.save()
            }
        }

        func notes() throws -> [String: Int] {
            let context = container.newBackgroundContext()
            return try context.performAndWait {
                var notes: [String: Int] = [:]
                for note in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")) {
                    notes[note.value(forKey: "title") as? String ?? ""] = (note.value(forKey: "scan") as? Data)?.count
                }
                return notes
            }
        }
    }

    @Test func savesAndAssetsTravelOverSockets() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let tablet = try Device("tablet", token: token, port: server.port)
            let phone = try Device("phone", token: try await server.addDevice(of: "mia"), port: server.port)
            try tablet.insert("short", Data([1, 2, 3]))
            try tablet.insert("long", Data(repeating: 1, count: 760_000))
            try await tablet.mirror.sync(timeout: .seconds(120))
            try await phone.mirror.sync(timeout: .seconds(120))
            #expect(try phone.notes() == ["short": 3, "long": 760_000])
            try phone.insert("back", Data([4]))
            try await phone.mirror.sync(timeout: .seconds(120))
            try await tablet.mirror.sync(timeout: .seconds(120))
            #expect(try tablet.notes() == ["short": 3, "long": 760_000, "back": 1])
            await tablet.mirror.stop()
            await phone.mirror.stop()
        }
    }

    @Test func anUnknownTokenIsAnErrorThatTheAppCanShow() async throws {
        try await LiveServer.run { server in
            let phone = try Device("phone", token: "unknown", port: server.port)
            let failure = await #expect(throws: TarnMirror.Failure.self) { try await phone.mirror.sync(timeout: .seconds(120)) }
            #expect(failure?.code == .notAuthenticated)
            await phone.mirror.stop()
        }
    }
}
