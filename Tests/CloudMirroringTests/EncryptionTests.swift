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

/// Attributes that allow cloud encryption: the server never sees them, other devices of the user do.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct EncryptionTests {
    private func device(_ name: String, _ transport: InProcessTransport, wire: Faults? = nil, keys: URL) throws -> Device {
        try Device(name, transport, over: wire, model: EncryptedPosts.model) { $0.cloudKitContainerOptions?.encryptionKeys = .file(keys) }
    }

    private func keyFile() -> URL { EncryptedPosts.keyFile() }

    private func recordsOnServer(_ transport: InProcessTransport) async throws -> [Record] {
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        let answer = try await client.zoneChanges(
            ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone"))]))
        guard case .changes(let changes)? = answer.zones.first else { return [] }
        return changes.records
    }

    @Test func theServerStoresWhatItCannotReadAndADeviceWithTheKeyReadsIt() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let wire = Faults(transport)
        let (here, there) = (keyFile(), keyFile())
        let tablet = try device("tablet", transport, wire: wire, keys: here)
        let secret = "the cat is called Mimi", photo = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        try tablet.edit {
            $0.insert(
                "Post",
                [
                    "title": "open", "content": secret, "rank": 42, "weight": 0.5, "timestamp": Date(timeIntervalSinceReferenceDate: 7.25),
                    "photo": photo,
                ])
        }
        try await tablet.container.sync(timeout: .seconds(600))
        let record = try #require(try await recordsOnServer(transport).first { $0.recordType == "CD_Post" })
        #expect(record.fields["CD_title"]?.value == .string("open"))
        for name in ["CD_content", "CD_rank", "CD_weight", "CD_timestamp"] {
            guard case .bytes(let bytes)? = record.fields[name]?.value else { Issue.record("\(name) is not sealed"); continue }
            #expect(record.fields[name]?.isEncrypted == true)
            #expect(bytes.count > 37)
        }
        for needle in [Array(secret.utf8), Array(Data(secret.utf8).base64EncodedString().utf8), [UInt8](photo.prefix(700))] {
            #expect(!wire.bodies.contains { $0.firstRange(of: needle) != nil })
        }
        #expect(wire.log.contains("asset"))

        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"), keys: there)
        // The rest of the record arrives, and no second key comes into being.
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == "Post  title open")
        #expect(try phone.container.unreadableValues().map(\.reason) == Array(repeating: .missingKey, count: 5))
        try phone.edit { $0.insert("Post", ["title": "mine", "content": "waits"]) }
        try await phone.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.hasPrefix("data was encrypted on another device")
        }
        #expect(!FileManager.default.fileExists(atPath: there.path))
        let stores = [tablet, phone].map(\.container.persistentStoreCoordinator.persistentStores[0])
        let text = try tablet.container.encryptionKeyText(of: stores[0])
        try phone.container.addEncryptionKeys(text, to: stores[1])
        for device in [phone, tablet] { try await device.container.sync(timeout: .seconds(600)) }
        #expect(try phone.dump == tablet.dump)
        #expect(try phone.container.unreadableValues().isEmpty)
        #expect(try phone.read { try $0.post(titled: "open")?.value(forKey: "photo") as? Data } == photo)
        let permissions = try FileManager.default.attributesOfItem(atPath: there.path)[.posixPermissions] as? NSNumber
        #expect(permissions?.intValue == 0o600)

        // And back, changed; what did not change is not sent again.
        try phone.edit { try $0.post(titled: "open")?.setValue("and Momo", forKey: "content") }
        try await phone.container.sync(timeout: .seconds(600))
        let before = wire.log.count { $0 == "asset" }
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(try tablet.read { try $0.post(titled: "open")?.value(forKey: "content") as? String } == "and Momo")
        #expect(wire.log.count { $0 == "asset" } == before)
    }

    @Test func aSealedValueInAnotherPlaceIsNotTaken() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let keys = keyFile()
        let tablet = try device("tablet", transport, keys: keys)
        try tablet.edit { context in
            for title in ["a", "b"] { context.insert("Post", ["title": title, "content": "secret of \(title)"]) }
        }
        try await tablet.container.sync(timeout: .seconds(600))
        // The operator of the server puts one post's secret into the other.
        let records = try await recordsOnServer(transport).filter { $0.recordType == "CD_Post" }
        var changed = records[0]
        changed.fields = ["CD_content": records[1].fields["CD_content"] ?? Field(nil)]
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(
                operations: [RecordOperation(.update, changed)], zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")),
            idempotencyKey: "swap")
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(try tablet.container.unreadableValues().map(\.reason) == [.damaged])
        #expect(try tablet.dump.contains("secret of a"))
        #expect(try tablet.dump.contains("secret of b"))
    }

    @Test func keysGivenAsTextAreCheckedAndNeverShown() throws {
        for text in ["", "# nothing", "tarn-key-1:AAAA", "secret"] {
            #expect(throws: CocoaError.self) { try NSPersistentCloudKitContainerOptions.EncryptionKeys.text(text) }
        }
        let line = "tarn-key-1:" + Data(repeating: 7, count: 32).base64EncodedString()
        let keys = try NSPersistentCloudKitContainerOptions.EncryptionKeys.text("\n# mine\n\(line)\n\(line)\n")
        #expect(!"\(keys)".contains("Bwc"))
        #expect(!String(reflecting: keys).contains("Bwc"))
    }
}
