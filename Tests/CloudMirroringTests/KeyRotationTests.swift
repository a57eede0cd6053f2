// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudMirroring
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// A new key after a device was lost.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct KeyRotationTests {
    private func store(_ device: Device) throws -> NSPersistentStore {
        try #require(device.container.persistentStoreCoordinator.persistentStores.first)
    }

    /// The names of the keys that encrypted the contents on the server, by title.
    private func keyNames(_ stage: HostileStage) async throws -> [String: [UInt8]] {
        try await stage.posts().compactMapValues { record in
            if case .bytes(let bytes)? = record.fields["CD_content"]?.value { Array(bytes[1..<9]) } else { nil }
        }
    }

    @Test func valuesAreEncryptedAgainAndOtherDevicesFollow() async throws {
        let stage = try await HostileStage()
        let own = EncryptedPosts.keyFile()
        let tablet = try await stage.device("tablet"), phone = try await stage.device("phone", keys: own)
        try tablet.edit { for title in ["a", "b"] { $0.insert("Post", ["title": title, "content": "of \(title)", "rank": 1]) } }
        try await tablet.sync()
        try phone.container.addEncryptionKeys(try tablet.container.encryptionKeyText(of: store(tablet)), to: store(phone))
        try await phone.sync()
        let before = try await keyNames(stage)

        try await tablet.container.rotateEncryptionKey(of: store(tablet))
        try await tablet.sync()
        let after = try await keyNames(stage)
        #expect(Set(before.values).count == 1)
        #expect(Set(after.values).count == 1)
        #expect(before["a"] != after["a"])
        #expect(try tablet.text("content", of: "a") == "of a")
        #expect(try tablet.unreadable == [])

        // The phone has the old key only.
        try await phone.sync()
        #expect(try phone.text("content", of: "a") == "of a")
        #expect(try phone.unreadable == Array(repeating: "content missingKey", count: 2) + Array(repeating: "rank missingKey", count: 2))
        try phone.container.addEncryptionKeys(try tablet.container.encryptionKeyText(of: store(tablet)), to: store(phone))
        try await phone.sync()
        #expect(try phone.unreadable == [])
        try phone.set("content", of: "a", to: "by phone")
        for device in [phone, tablet] { try await device.sync() }
        #expect(try await keyNames(stage) == after)
        #expect(try tablet.text("content", of: "a") == "by phone")
    }

    /// The rotation happens after the server has stored a request with values of the first key, and before its response.
    @Test func valuesInFlightAreEncryptedAgain() async throws {
        let stage = try await HostileStage()
        let keys = stage.keys
        let wire = Faults(stage.transport)
        let tablet = try Device("tablet", stage.transport, over: wire, model: EncryptedPosts.model) {
            $0.cloudKitContainerOptions?.encryptionKeys = .file(keys)
        }
        try tablet.edit { for title in ["a", "b"] { $0.insert("Post", ["title": title, "content": "of \(title)"]) } }
        try await tablet.sync()
        let before = try await keyNames(stage)
        wire.plan(
            "records/modify",
            .answer { body in
                try await tablet.container.rotateEncryptionKey(of: tablet.container.persistentStoreCoordinator.persistentStores[0])
                return body
            })
        try tablet.edit { context in
            try context.post(titled: "a")?.setValue("a2", forKey: "title")
            try context.post(titled: "b")?.setValue("changed", forKey: "content")
            context.insert("Post", ["title": "c", "content": "of c"])
        }
        for _ in 0..<2 { try await tablet.sync() }
        let after = try await keyNames(stage)
        #expect(wire.isSpent)
        #expect(Set(after.keys) == ["a2", "b", "c"])
        #expect(Set(after.values).count == 1, "\(after)")
        #expect(after["b"] != before["b"])
        #expect(try tablet.text("content", of: "b") == "changed")
        #expect(try tablet.unreadable == [])
        // Nothing is sent for ever.
        let requests = wire.log.count { $0 == "records/modify" }
        try await tablet.sync()
        #expect(wire.log.count { $0 == "records/modify" } == requests)
    }

    @Test func laterValuesAloneMayGetTheNewKey() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet")
        try tablet.edit { for title in ["a", "b"] { $0.insert("Post", ["title": title, "content": "of \(title)"]) } }
        try await tablet.sync()
        let before = try await keyNames(stage)
        try await tablet.container.rotateEncryptionKey(of: store(tablet), reencrypting: false)
        try tablet.set("content", of: "b", to: "changed")
        try await tablet.sync()
        let after = try await keyNames(stage)
        #expect(after["a"] == before["a"])
        #expect(after["b"] != before["b"])
        let text = try tablet.container.encryptionKeyText(of: store(tablet))
        #expect(text.split(separator: "\n").map { String($0.prefix(13).prefix { $0 != ":" }) } == ["tarn-key-1", "tarn-key-2"])
    }

    @Test func malformedRotatedKeysAreRefused() throws {
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        for text in [
            "tarn-key-2:\(key)", "tarn-key-2:0:\(key)", "tarn-key-2:-1:\(key)", "tarn-key-2:1:AAAA", "tarn-key-2:99999999999:\(key)",
            "tarn-key-2:1:2:\(key)",
        ] {
            #expect(throws: CocoaError.self) { try NSPersistentCloudKitContainerOptions.EncryptionKeys.text(text) }
        }
        #expect(throws: Never.self) { try NSPersistentCloudKitContainerOptions.EncryptionKeys.text("tarn-key-2:1:\(key)") }
    }
}
