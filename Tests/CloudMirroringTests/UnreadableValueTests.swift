// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// Encrypted values that a device does not accept: the value is quarantined, everything else syncs.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct UnreadableValueTests {
    private func errors(_ device: Device) throws -> [String] {
        try device.read { context in
            let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: Date.distantPast)
            let result = try context.execute(request) as? NSPersistentCloudKitContainerEventResult
            let events = result?.result as? [NSPersistentCloudKitContainer.Event] ?? []
            return events.filter { $0.type == .import }.compactMap { $0.error?.localizedDescription }
        }
    }

    @Test func damagedValueIsQuarantinedAndTheRestArrives() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        try tablet.edit { for title in ["a", "b"] { $0.insert("Post", ["title": title, "content": "secret of \(title)", "rank": 1]) } }
        for device in [tablet, phone] { try await device.sync() }

        let garbage = Field(.bytes(Array(repeating: 7, count: 64)), isEncrypted: true)
        try await stage.write(["CD_content": garbage, "CD_title": Field(.string("a2"))], to: "a")
        try tablet.edit { $0.insert("Post", ["title": "c", "content": "later"]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.text("content", of: "a2") == "secret of a")
        #expect(try phone.text("content", of: "c") == "later")
        #expect(try phone.unreadable == ["content damaged"])
        let status = phone.container.syncStatus
        #expect(status.unreadableCount == 1)
        #expect(status.description == "idle, 1 unreadable")
        let record = try await stage.post("a2").recordName
        let error = try #require(try errors(phone).first { $0.contains("Post.content") })
        #expect(error.contains(record))
        #expect(!error.contains("secret"))

        // Edits of other attributes leave the value alone, and one of its own replaces it.
        try phone.set("rank", of: "a2", to: 5)
        try await phone.sync()
        #expect(try await stage.post("a2").fields["CD_content"] == garbage)
        try phone.set("content", of: "a2", to: "secret again")
        for device in [phone, tablet] { try await device.sync() }
        #expect(try phone.unreadable == [])
        #expect(try tablet.unreadable == [])
        #expect(try tablet.dump == phone.dump)
        #expect(try tablet.text("content", of: "a2") == "secret again")
        #expect(phone.container.syncStatus.unreadableCount == 0)
    }

    /// The user decides while another change of the record is in flight.
    @Test func replacementIsSentAfterARequestInFlight() async throws {
        let stage = try await HostileStage()
        let keys = stage.keys
        let wire = Faults(stage.transport)
        let tablet = try Device("tablet", stage.transport, over: wire, model: EncryptedPosts.model) {
            $0.cloudKitContainerOptions?.encryptionKeys = .file(keys)
        }
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "secret"]) }
        try await tablet.sync()
        let garbage = Field(.bytes(Array(repeating: 7, count: 64)), isEncrypted: true)
        try await stage.write(["CD_content": garbage], to: "a")
        try await tablet.sync()
        #expect(try tablet.unreadable == ["content damaged"])
        let post = try tablet.read { try #require(try $0.post(titled: "a")?.objectID) }
        wire.plan(
            "records/modify",
            .answer { body in
                try await tablet.container.resolveUnreadableValues(of: [post], by: .replace)
                return body
            })
        try tablet.set("rank", of: "a", to: 5)
        for _ in 0..<2 { try await tablet.sync() }
        #expect(wire.isSpent)
        #expect(try await stage.post("a").fields["CD_content"] != garbage)
        #expect(try tablet.unreadable == [])
        #expect(try tablet.text("content", of: "a") == "secret")
    }

    @Test func quarantineOutlivesTheProcessAndIsRetried() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        for device in [tablet, phone] { try await device.sync() }
        let good = try #require(try await stage.post("a").fields["CD_content"])
        try await stage.write(["CD_content": Field(.bytes([3, 1, 4]), isEncrypted: true)], to: "a")
        try await phone.sync()
        try await phone.kill()
        let again = try await stage.device("phone-again", file: phone.file)
        try await again.sync()
        #expect(try again.unreadable == ["content damaged"])
        #expect(again.container.syncStatus.unreadableCount == 1)
        // The next change of the record on the server ends it.
        try await stage.write(["CD_content": good], to: "a")
        try await again.sync()
        #expect(try again.unreadable == [])
        #expect(try again.text("content", of: "a") == "one")
    }

    @Test func valueThatLacksItsKeyIsNotReplacedAndArrivesWithTheKey() async throws {
        let stage = try await HostileStage()
        let own = EncryptedPosts.keyFile()
        let line = "tarn-key-1:" + Data(repeating: 9, count: 32).base64EncodedString()
        try FileManager.default.createDirectory(at: stage.keys.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data((line + "\n").utf8).write(to: stage.keys)
        // Both encrypted before they heard of each other: each has a key of its own.
        let phone = try await stage.device("phone", keys: own)
        try phone.edit { $0.insert("Post", ["title": "phone", "content": "by phone"]) }
        try await phone.sync()
        let tablet = try await stage.device("tablet")
        try tablet.edit { $0.insert("Post", ["title": "tablet", "content": "by tablet", "rank": 1]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.unreadable == ["content missingKey", "rank missingKey"])
        #expect(try phone.dump.contains("Post  title tablet"))

        let sealed = try #require(try await stage.post("tablet").fields["CD_content"])
        try phone.edit { context in
            try context.post(titled: "tablet")?.setValue("by phone, blind", forKey: "content")
            try context.post(titled: "tablet")?.setValue(0.5, forKey: "weight")
        }
        try await phone.sync()
        let record = try await stage.post("tablet")
        #expect(record.fields["CD_content"] == sealed)
        #expect(record.fields["CD_weight"] != nil)

        let store = try #require(phone.container.persistentStoreCoordinator.persistentStores.first)
        try phone.container.addEncryptionKeys(line, to: store)
        try await phone.sync()
        #expect(try phone.unreadable == [])
        #expect(try phone.read { try $0.post(titled: "tablet")?.value(forKey: "rank") as? Int64 } == 1)
        // Both changed it: the later one wins, and the other is in the conflict log.
        #expect(try phone.text("content", of: "tablet") == "by phone, blind")
        #expect(try phone.container.conflicts().map(\.propertyName) == ["content"])
    }

    /// The key is lost with its device, as far as the user knows. Devices that have it have accepted the value's number.
    @Test func replacementOfAValueWithoutItsKeyIsAccepted() async throws {
        let stage = try await HostileStage()
        let own = EncryptedPosts.keyFile()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone", keys: own)
        func store(_ device: Device) throws -> NSPersistentStore {
            try #require(device.container.persistentStoreCoordinator.persistentStores.first)
        }
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        try await tablet.sync()
        try phone.container.addEncryptionKeys(try tablet.container.encryptionKeyText(of: store(tablet)), to: store(phone))
        try await phone.sync()
        try await tablet.container.rotateEncryptionKey(of: store(tablet), reencrypting: false)
        for text in ["two", "three"] {
            try tablet.set("content", of: "a", to: text)
            try await tablet.sync()
        }
        try await phone.sync()
        #expect(try phone.unreadable == ["content missingKey"])
        let post = try phone.read { try #require(try $0.post(titled: "a")?.objectID) }
        try await phone.container.resolveUnreadableValues(of: [post], by: .replace)
        for device in [phone, tablet] { try await device.sync() }
        for device in [phone, tablet] {
            #expect(try device.unreadable == [])
            #expect(try device.text("content", of: "a") == "one")
        }
    }

    // MARK: Freshness

    @Test func serverThatReturnsAnOlderValueIsDetected() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one", "rank": 1]) }
        for device in [tablet, phone] { try await device.sync() }
        let old = try await stage.post("a")
        try tablet.edit { context in
            let post = try context.post(titled: "a")
            post?.setValue("two", forKey: "content")
            post?.setValue(2, forKey: "rank")
        }
        for device in [tablet, phone] { try await device.sync() }

        try await stage.write(["CD_content": try #require(old.fields["CD_content"])], to: "a")
        for device in [tablet, phone] {
            try await device.sync()
            #expect(try device.unreadable == ["content stale"])
            #expect(try device.text("content", of: "a") == "two")
        }
        // The whole record: what is not encrypted has no protection.
        var fields = old.fields.filter { ["CD_content", "CD_rank"].contains($0.key) }
        fields["CD_title"] = Field(.string("title of old"))
        try await stage.write(fields, to: "a")
        try await phone.sync()
        #expect(try phone.unreadable == ["content stale", "rank stale"])
        #expect(try phone.text("content", of: "title of old") == "two")
        // Left out.
        try await stage.write(["CD_content": Field(nil, isEncrypted: true)], to: "title of old")
        try await phone.sync()
        #expect(try phone.unreadable == ["content stale", "rank stale"])
        #expect(try phone.text("content", of: "title of old") == "two")

        // A new device cannot know, and the app may decide.
        try await stage.write(["CD_content": try #require(old.fields["CD_content"])], to: "title of old")
        let watch = try await stage.device("watch")
        try await watch.sync()
        #expect(try watch.unreadable == [])
        #expect(try watch.text("content", of: "title of old") == "one")
        let post = try phone.read { try #require(try $0.post(titled: "title of old")?.objectID) }
        try await phone.container.resolveUnreadableValues(of: [post], by: .acceptOlder)
        #expect(try phone.unreadable == [])
        #expect(try phone.text("content", of: "title of old") == "one")
        try await tablet.sync()
        let here = try tablet.read { try #require(try $0.post(titled: "title of old")?.objectID) }
        try await tablet.container.resolveUnreadableValues(of: [here], by: .replace)
        for device in [tablet, phone, watch] { try await device.sync() }
        for device in [tablet, phone, watch] {
            #expect(try device.text("content", of: "title of old") == "two")
            #expect(try device.unreadable == [])
        }
    }

    @Test func clearedValueStaysClearedAndItsReturnIsDetected() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        for device in [tablet, phone] { try await device.sync() }
        let old = try #require(try await stage.post("a").fields["CD_content"])
        try tablet.set("content", of: "a", to: nil)
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.text("content", of: "a") == nil)
        #expect(try phone.unreadable == [])
        try await stage.write(["CD_content": old], to: "a")
        try await phone.sync()
        #expect(try phone.text("content", of: "a") == nil)
        #expect(try phone.unreadable == ["content stale"])
    }

    /// A long value is in an asset, which its record's field names: alone it cannot be exchanged.
    @Test func olderAssetIsDetected() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        let long = (1...3).map { String(repeating: "\($0)", count: 800_000) }
        try tablet.edit { $0.insert("Post", ["title": "a", "content": long[0]]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.text("content", of: "a") == long[0])
        let old = try await stage.post("a")
        try tablet.set("content", of: "a", to: long[1])
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.text("content", of: "a") == long[1])
        #expect(try phone.unreadable == [])
        // The name of the older asset comes back.
        try await stage.write(["CD_content": try #require(old.fields["CD_content"])], to: "a")
        try await phone.sync()
        #expect(try phone.text("content", of: "a") == long[1])
        #expect(try phone.unreadable == ["content stale"])
        // Short again, and long again.
        try phone.set("content", of: "a", to: "short")
        for device in [phone, tablet] { try await device.sync() }
        #expect(try tablet.text("content", of: "a") == "short")
        #expect(try tablet.unreadable == [])
        try tablet.set("content", of: "a", to: long[2])
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.text("content", of: "a") == long[2])
        #expect(try phone.unreadable == [])
    }

    /// The server names the asset of an encrypted value in an attribute that is not encrypted. The content would be sent unencrypted from there.
    @Test func assetOfAnEncryptedValueIsNotThatOfAnotherField() async throws {
        let stage = try await HostileStage()
        let keys = stage.keys, secret = String(repeating: "secret ", count: 150_000)
        let tablet = try await stage.device("tablet")
        try tablet.edit { context in
            context.insert("Post", ["title": "a", "content": secret])
            context.insert("Post", ["title": "b"])
        }
        try await tablet.sync()
        let exchange: @Sendable ([UInt8]) async throws -> [UInt8] = { body in
            var answer = try ZoneChangesResponse(json: body)
            guard case .changes(var changes)? = answer.zones.first,
                let named = changes.records.first(where: { $0.fields["CD_title"]?.value == .string("a") }),
                var other = changes.records.first(where: { $0.fields["CD_title"]?.value == .string("b") })
            else { return body }
            other.fields["CD_title"] = nil
            other.fields["CD_title_ckAsset"] = named.fields["CD_content_ckAsset"]
            changes.records = [other, named]
            answer.zones[0] = .changes(changes)
            return answer.encoded()
        }
        let transport = try await stage.cloud.addDevice("phone", of: "mia")
        let wire = Faults(transport)
        for _ in 0..<3 { wire.plan("changes/zone", .answer(exchange)) }
        let phone = try Device("phone", transport, over: wire, model: EncryptedPosts.model) {
            $0.cloudKitContainerOptions?.encryptionKeys = .file(keys)
        }
        try await phone.sync()
        // Both values were quarantined, and then fetched again from the records, which the server returned unchanged.
        #expect(try phone.unreadable == [])
        #expect(try phone.text("content", of: "a") == secret)
        #expect(try phone.text("content", of: "b") == nil)
        let titles = try phone.read { context in
            try context.all("Post").compactMap { $0.value(forKey: "title") as? String }.sorted()
        }
        #expect(titles.map { String($0.prefix(20)) } == ["a", "b"])
    }

    /// The response to a save has a value that the device did not send, and that is not encrypted.
    @Test func valueInAResponseIsNoMergeBase() async throws {
        let stage = try await HostileStage()
        let keys = stage.keys
        let wire = Faults(stage.transport)
        let tablet = try Device("tablet", stage.transport, over: wire, model: EncryptedPosts.model) {
            $0.cloudKitContainerOptions?.encryptionKeys = .file(keys)
        }
        let phone = try await stage.device("phone")
        wire.plan(
            "records/modify",
            .answer { body in
                var answer = try ModifyRecordsResponse(json: body)
                answer.results = answer.results.map { result in
                    guard case .record(var record) = result else { return result }
                    record.fields["CD_content"] = Field(.string("forged"))
                    return .record(record)
                }
                return answer.encoded()
            })
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(wire.isSpent)
        try phone.set("content", of: "a", to: "two")
        for device in [phone, tablet, phone] { try await device.sync() }
        for device in [tablet, phone] {
            #expect(try device.text("content", of: "a") == "two")
            #expect(try device.container.conflicts().isEmpty)
        }
    }

    /// A backup has older values: devices detect that, and send theirs as they do with all else.
    @Test func valuesAfterABackupAreSentAgain() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        for device in [tablet, phone] { try await device.sync() }
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await stage.cloud.backUp(to: backup)
        try tablet.set("content", of: "a", to: "two")
        for device in [tablet, phone] { try await device.sync() }
        try await stage.cloud.restore(from: backup)
        for device in [tablet, phone, tablet] { try await device.sync() }
        for device in [tablet, phone] {
            #expect(try device.text("content", of: "a") == "two")
            #expect(try device.unreadable == [])
        }
        let watch = try await stage.device("watch")
        try await watch.sync()
        #expect(try watch.text("content", of: "a") == "two")
    }

    /// Devices that send different lost versions of a record again number its values independently.
    @Test func differentVersionsAfterABackupAreLogged() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone")
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        for device in [tablet, phone] { try await device.sync() }
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await stage.cloud.backUp(to: backup)
        try tablet.set("content", of: "a", to: "two")
        for device in [tablet, phone] { try await device.sync() }
        phone.container.pauseSyncing()
        for text in ["three", "four"] {
            try tablet.set("content", of: "a", to: text)
            try await tablet.sync()
        }
        try phone.set("content", of: "a", to: "of the phone")
        tablet.container.pauseSyncing()
        try await stage.cloud.restore(from: backup)
        for device in [phone, tablet] {
            device.container.resumeSyncing()
            try await device.sync()
        }
        try await phone.sync()
        for device in [tablet, phone] {
            #expect(try device.text("content", of: "a") == "four")
            #expect(try device.unreadable == [])
        }
        #expect(try tablet.container.conflicts().contains { $0.losingValue as? String == "of the phone" })
    }
}
