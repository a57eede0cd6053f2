// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Values that are too long for a record, alone or together, and come back.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct AssetTests {
    private static var model: Model {
        var model = Posts.model
        model.entities[3].attributes[0].allowsExternalBinaryDataStorage = true
        model.entities[0].attributes.append(Attribute(name: "notes", type: .string))
        return model
    }

    private func fields(of type: String, _ transport: InProcessTransport) async throws -> Set<String> {
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        let zone = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: zone)]))
        guard case .changes(let changes)? = answer.zones.first else { return [] }
        return Set(changes.records.filter { $0.recordType == type }.flatMap(\.fields.keys))
    }

    private func pair() async throws -> (tablet: Device, phone: Device) {
        let cloud = try InProcessCloud()
        return (
            try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.model),
            try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: Self.model)
        )
    }

    private func exchange(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    @Test func valuesThatAreFilesBesideTheStoreAreFilesThereToo() async throws {
        let (tablet, phone) = try await pair()
        let image = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ $0 >> 9) })
        try tablet.edit { $0.insert("ImageData", ["data": image]) }
        try await exchange(tablet, phone)
        #expect(try phone.read { try $0.all("ImageData").first?.value(forKey: "data") as? Data } == image)
        let external = phone.file.deletingLastPathComponent().appendingPathComponent(".Posts_SUPPORT/_EXTERNAL_DATA")
        #expect(try FileManager.default.contentsOfDirectory(atPath: external.path).count == 1)
        // What did not change is not sent again, and is not fetched again.
        try tablet.edit { try $0.all("ImageData").first?.setValue(image, forKey: "data") }
        let before = (tablet.transport.log + phone.transport.log).count { $0 == "asset" }
        try await exchange(tablet, phone)
        #expect((tablet.transport.log + phone.transport.log).count { $0 == "asset" } == before)
        #expect(try await fields(of: "CD_ImageData", tablet.transport) == ["CD_entityName", "CD_data_ckAsset"])
        try phone.edit { try $0.all("ImageData").first?.setValue(Data([1]), forKey: "data") }
        try await exchange(phone, tablet)
        #expect(try await fields(of: "CD_ImageData", tablet.transport) == ["CD_entityName", "CD_data"])
        #expect(try tablet.read { try $0.all("ImageData").first?.value(forKey: "data") as? Data } == Data([1]))
    }

    @Test func textsThatAreTooLongTogetherShareTheRecordWithFiles() async throws {
        let (tablet, phone) = try await pair()
        // Four bytes each, so that a limit in characters would cut them in the middle.
        let long = String(repeating: "𝄞🎼", count: 110_000), middle = String(repeating: "ü", count: 200_000)
        #expect(long.utf8.count == 880_000)
        try tablet.edit { $0.insert("Post", ["title": "short", "content": long, "notes": middle]) }
        try await exchange(tablet, phone)
        func texts(_ device: Device) throws -> [String?] {
            try device.read { context in
                let post = try context.post(titled: "short")
                return ["content", "notes"].map { post?.value(forKey: $0) as? String }
            }
        }
        #expect(try texts(phone) == [long, middle])
        #expect(try await fields(of: "CD_Post", tablet.transport) == ["CD_entityName", "CD_title", "CD_content_ckAsset", "CD_notes"])
        // Each fits, and both together do not.
        let half = String(long.prefix(150_000))
        try phone.edit { context in
            try context.post(titled: "short")?.setValue(half, forKey: "content")
            try context.post(titled: "short")?.setValue(half + "!", forKey: "notes")
        }
        try await exchange(phone, tablet)
        #expect(try texts(tablet) == [half, half + "!"])
        #expect(try await fields(of: "CD_Post", tablet.transport) == ["CD_entityName", "CD_title", "CD_content", "CD_notes_ckAsset"])
        try tablet.edit { try $0.post(titled: "short")?.setValue("back", forKey: "notes") }
        try await exchange(tablet, phone)
        #expect(try texts(phone) == [half, "back"])
        #expect(try await fields(of: "CD_Post", tablet.transport) == ["CD_entityName", "CD_title", "CD_content", "CD_notes"])
    }
}

extension AssetTests {
    /// More than comes in one page, and one that is larger than a page may be: it comes by way of a file.
    @Test func manyPicturesComePageByPageAndOneThatIsLargerByItself() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in
            for number in 0..<40 { context.insert("ImageData", ["data": Data(repeating: UInt8(number), count: 1_048_576)]) }
            context.insert("ImageData", ["data": Data(repeating: 77, count: 40_000_000)])
        }
        try await tablet.container.sync(timeout: .seconds(600))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(try phone.read { try $0.all("ImageData").count } == 41)
        // A page that is too much is asked for again once, not by halves.
        #expect(phone.transport.log.filter { $0 == "changes/zone" }.count <= 8)
        #expect(phone.transport.log.filter { $0.hasPrefix("asset") }.count == 41)
    }

    /// Long values that are sealed go piece by piece.
    @Test func assetsEncryptedInPiecesDecrypt() async throws {
        let cloud = try InProcessCloud()
        var model = Self.model
        for entity in [0, 3] {
            for index in model.entities[entity].attributes.indices { model.entities[entity].attributes[index].allowsCloudEncryption = true }
        }
        let keys = TestScope.temporaryFolder().appendingPathComponent("my.keys")
        func device(_ name: String, _ transport: InProcessTransport, _ wire: Faults? = nil) throws -> Device {
            try Device(name, transport, over: wire, model: model) { $0.cloudKitContainerOptions?.encryptionKeys = .file(keys) }
        }
        let transport = try await cloud.addUser("mia", device: "tablet")
        let wire = Faults(transport)
        let tablet = try device("tablet", transport, wire)
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        let image = Data((0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ $0 >> 9) })
        let text = String(repeating: "𝄞🎼ü", count: 900_000)
        try tablet.edit { context in
            context.insert("ImageData", ["data": image])
            context.insert("Post", ["title": "long", "content": text])
        }
        try await exchange(tablet, phone)
        #expect(try phone.read { try $0.all("ImageData").first?.value(forKey: "data") as? Data } == image)
        #expect(try phone.read { try $0.post(titled: "long")?.value(forKey: "content") as? String } == text)
        #expect(try phone.dump == tablet.dump)
        // What did not change is not sent again.
        let before = wire.log.count { $0 == "asset" }
        try tablet.edit { context in
            try context.all("ImageData").first?.setValue(image, forKey: "data")
            try context.post(titled: "long")?.setValue("longer", forKey: "title")
        }
        try await exchange(tablet, phone)
        #expect(wire.log.count { $0 == "asset" } == before)
        #expect(before == 2)
        #expect(try phone.dump == tablet.dump)
    }
}
