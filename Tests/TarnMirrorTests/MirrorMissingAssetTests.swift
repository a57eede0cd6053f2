// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

@testable import TarnMirror

/// Assets that the server lost: everything else of the zone arrives.
@Suite(.closesFixtures, .timeLimit(.minutes(2))) struct MirrorMissingAssetTests {
    private static let scan = Data((0..<800_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    private func scan(_ title: String, _ device: any SyncingDevice) throws -> Data? {
        try device.read { try $0.object("Note", title).value(forKey: "scan") as? Data }
    }

    /// The server loses its files, and has others.
    private func lose(_ cloud: InProcessCloud) throws {
        try FileManager.default.moveItem(atPath: cloud.path + "/assets", toPath: cloud.path + "/lost")
        try FileManager.default.createDirectory(atPath: cloud.path + "/assets/1000", withIntermediateDirectories: true)
    }

    private func restore(_ cloud: InProcessCloud) throws {
        try FileManager.default.removeItem(atPath: cloud.path + "/assets")
        try FileManager.default.moveItem(atPath: cloud.path + "/lost", toPath: cloud.path + "/assets")
    }

    private func record(_ title: String, _ cloud: InProcessCloud) async throws -> Record {
        let records = try await cloud.databases(of: Pair.containerIdentifier).flatMap(\.zones).flatMap(\.records)
        return try #require(records.first { $0.fields["CD_title"]?.value == .string(title) })
    }

    @Test func theRestArrivesAndTheValueOnceItsFileIsBack() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in
            context.insert("Note", ["title": "a", "scan": Self.scan])
            context.insert("Note", ["title": "b"])
        }
        try await tablet.sync()
        try lose(cloud)
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"))
        try await phone.sync()
        #expect(try phone.read { try $0.all("Note").count } == 2)
        #expect(try scan("a", phone) == nil)
        await phone.until { $0.unreadableCount == 1 }
        let values = try await phone.mirror.unreadableValues()
        #expect(values.map(\.attributeName) == ["scan"])
        #expect(try await values.map(\.recordName) == [record("a", cloud).recordName])
        #expect(try phone.read { try $0.object("Note", "a").objectID } == values.first?.objectID)

        // Later changes arrive, and edits of other attributes leave the asset on the server alone.
        try tablet.edit { $0.insert("Note", ["title": "c"]) }
        try phone.edit { try $0.object("Note", "a").setValue("a2", forKey: "title") }
        try await tablet.sync()
        try await phone.sync()
        #expect(try phone.read { try $0.all("Note").count } == 3)
        #expect(try await record("a2", cloud).fields["CD_scan_ckAsset"] != nil)
        #expect(phone.mirror.status.pendingCount == 0)

        try restore(cloud)
        try await phone.kill()
        let again = try MirrorDevice(try await cloud.addDevice("again", of: "mia"), file: phone.file)
        try await again.sync()
        #expect(try scan("a2", again) == Self.scan)
        await again.until { $0.activity == .idle && $0.unreadableCount == 0 }
        #expect(try await again.mirror.unreadableValues().isEmpty)
        #expect(try await again.mirror.conflicts().isEmpty)
        try await tablet.sync()
        #expect(try again.dump == tablet.dump)
    }

    @Test func anEditOfTheAttributeReplacesTheMissingAsset() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { $0.insert("Note", ["title": "a", "scan": Self.scan]) }
        try await tablet.sync()
        try lose(cloud)
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"))
        try await phone.sync()
        try phone.edit { try $0.object("Note", "a").setValue(Data([1]), forKey: "scan") }
        try await phone.sync()
        try await tablet.sync()
        #expect(try scan("a", tablet) == Data([1]))
        #expect(try await phone.mirror.unreadableValues().isEmpty)
        #expect(try await record("a", cloud).fields["CD_scan_ckAsset"]?.value == nil)
    }

    @Test func theNextChangeOfTheRecordBringsTheValue() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { $0.insert("Note", ["title": "a", "scan": Self.scan]) }
        try await tablet.sync()
        try lose(cloud)
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"))
        try await phone.sync()
        await phone.until { $0.unreadableCount == 1 }
        try restore(cloud)
        // The attempts of this launch are over.
        try await phone.sync()
        #expect(try scan("a", phone) == nil)
        try tablet.edit { try $0.object("Note", "a").setValue("a2", forKey: "title") }
        try await tablet.sync()
        try await phone.sync()
        #expect(try scan("a2", phone) == Self.scan)
        await phone.until { $0.unreadableCount == 0 }
        #expect(try await phone.mirror.unreadableValues().isEmpty)
    }

    @Test func anAddressThatIsGoneIsThatOfAMissingAsset() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { $0.insert("Note", ["title": "a", "scan": Self.scan]) }
        try await tablet.sync()
        let faults = Refusals()
        // At the address of the page and at the present one, by the import and by the attempt that follows it.
        faults.refuseAssets(410, 410, 410, 410)
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"), faults: faults)
        try await phone.sync()
        await phone.until { $0.unreadableCount == 1 }
        #expect(try await phone.mirror.unreadableValues().map(\.recordName) == [record("a", cloud).recordName])
    }

    /// Only a missing asset is quarantined, and only at the address that its record has now.
    @Test func otherFailuresAreRetried() async throws {
        let cloud = try InProcessCloud()
        let tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { $0.insert("Note", ["title": "a", "scan": Self.scan]) }
        try await tablet.sync()
        let faults = Refusals()
        faults.refuseAssets(403, 503, 404)
        let phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"), retries: true, faults: faults)
        try await phone.sync()
        #expect(try scan("a", phone) == Self.scan)
        #expect(phone.mirror.status.unreadableCount == 0)
    }

    /// A file of a version before quarantined values gets their column.
    @Test func metadataOfAnEarlierVersionAreMigrated() async throws {
        let phone = try MirrorDevice(try await InProcessCloud().addUser("mia", device: "phone"), starts: false)
        let store = try #require(phone.container.persistentStoreCoordinator.persistentStores.first)
        let url = TestScope.temporaryFolder().appendingPathComponent("earlier.tarn-mirror")
        let earlier = NSPersistentContainer(name: "TarnMirror", managedObjectModel: Self.modelWithoutQuarantine())
        earlier.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
        try earlier.load()
        let context = earlier.newBackgroundContext()
        try context.performAndWait {
            context.insert("Record", ["name": "one", "entityName": "Note", "uri": "", "stage": 0, "key": 7])
            try context.save()
        }
        for store in earlier.persistentStoreCoordinator.persistentStores { try earlier.persistentStoreCoordinator.remove(store) }

        let metadata = try MetadataFile(beside: store, at: url)
        try metadata.context.performAndWait {
            var columns = try #require(try metadata.records(named: ["one"]).first)
            #expect(columns.key == 7)
            #expect(columns.quarantine == nil)
            #expect(try metadata.quarantinedCount() == 0)
            columns.quarantine = "CD_scan 0 - no-asset"
            var changes = MetadataChanges()
            changes.records = [columns]
            try metadata.apply(changes)
            try metadata.save()
            #expect(try metadata.quarantinedCount() == 1)
            #expect(try metadata.quarantinedRecords().map(\.name) == ["one"])
        }
        try metadata.close()
    }

    private static func modelWithoutQuarantine() -> NSManagedObjectModel {
        let model = NSManagedObjectModel()
        model.entities = MetadataModel.model.entities.map { entity in
            let earlier = NSEntityDescription()
            earlier.name = entity.name
            earlier.managedObjectClassName = entity.managedObjectClassName
            earlier.properties = entity.properties.compactMap { $0 as? NSAttributeDescription }.filter { $0.name != "quarantine" }.map {
                let attribute = NSAttributeDescription()
                attribute.name = $0.name
                attribute.attributeType = $0.attributeType
                attribute.isOptional = true
                return attribute
            }
            return earlier
        }
        return model
    }
}
