// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
@testable import CloudMirroring
import CloudWire
import CoreData
import Foundation
import MirroringCore
import TestBasics
import Testing

/// A share with a key of its own: its participants read and write it, and nothing else.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ShareKeyTests {
    @Test func participantReadsAndWritesWithTheKeyOfTheShare() async throws {
        let cloud = try InProcessCloud()
        let (hers, his) = (EncryptedPosts.keyFile(), EncryptedPosts.keyFile())
        let mia = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"), model: EncryptedPosts.model, keys: hers)
        let bo = try Device.sharing("bo's", try await cloud.addUser("bo", device: "bo's"), model: EncryptedPosts.model, keys: his)
        try mia.edit { context in
            context.insert("Post", ["title": "Trip", "content": "the sea"])
            context.insert("Post", ["title": "Diary", "content": "mine alone"])
        }
        try await mia.sync()
        let share = try await mia.share("Trip")
        try await mia.sync()
        try await bo.join(share)
        try await bo.sync()
        #expect(try bo.unreadable == ["content missingKey"])

        try await mia.container.createEncryptionKey(for: share, in: mia.own)
        try await mia.sync()
        let text = try mia.container.encryptionKeyText(for: share, in: mia.own)
        let lines = text.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.hasPrefix("tarn-key-3:com.apple.coredata.cloudkit.share.") })
        let joined = try #require(try bo.container.fetchShares(in: bo.others).first)
        try bo.container.addEncryptionKeys(text, for: joined, in: bo.others)
        try await bo.sync()
        #expect(try bo.unreadable == [])
        #expect(try bo.text("content", of: "Trip") == "the sea")
        try bo.set("content", of: "Trip", to: "the mountains")
        // His own values have a key of his own.
        try bo.edit { $0.insert("Post", ["title": "his", "content": "his alone"]) }
        for device in [bo, mia] { try await device.sync() }
        #expect(try mia.text("content", of: "Trip") == "the mountains")
        #expect(try mia.unreadable == [])
        let ring = EncryptionKeyRing(.file(hers), container: Device.containerIdentifier)
        let zone = share.recordID.zoneID.zoneName
        for record in try await cloud.records(ofType: "CD_Post") {
            guard case .bytes(let bytes)? = record.fields["CD_content"]?.value, case .string(let title)? = record.fields["CD_title"]?.value
            else { continue }
            let id = EncryptionKeyRing.KeyID(bytes: Array(bytes[1..<9]))
            let isOfShare = try ring.sealingKey(in: zone).id == id
            #expect(isOfShare == (title == "Trip"), "\(title)")
        }
    }

    /// A participant with the key, together with the server, cannot write into other zones of the owner.
    @Test func keyOfAShareOpensNothingElsewhere() throws {
        let zone = MirrorNames.shareZonePrefix + "1", key = Data(repeating: 7, count: 32).base64EncodedString()
        func sealer(_ text: String) throws -> RecordSealer {
            RecordSealer(keys: EncryptionKeyRing(try .text(text), container: "iCloud.n"), container: "iCloud.n")
        }
        let home = RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: "home"))
        let forger = try sealer("tarn-key-1:\(key)"), owner = try sealer("tarn-key-3:\(zone):1:\(key)")
        let forged = try forger.seal([1, 65], number: 1, of: "R", "f", in: home)
        guard case .unreadable(.damaged) = try owner.open(forged, of: "R", "f", in: home) else {
            Issue.record("a forged value was accepted")
            return
        }
        let share = RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: zone))
        guard
            case .opened(let bytes, _, _) = try owner.open(
                try owner.seal([1, 65], number: 1, of: "R", "f", in: share), of: "R", "f", in: share)
        else {
            Issue.record("the value of the share does not open")
            return
        }
        #expect(bytes == [1, 65])
    }

    /// The owner of a share hands out a key that would encrypt the participant's own values.
    @Test func storeOfSharesTakesKeysOfSharesOnly() async throws {
        let cloud = try InProcessCloud()
        let file = EncryptedPosts.keyFile()
        let bo = try Device.sharing("bo's", try await cloud.addUser("bo", device: "bo's"), model: EncryptedPosts.model, keys: file)
        try bo.edit { $0.insert("Post", ["title": "his", "content": "his alone"]) }
        try await bo.sync()
        let before = try bo.container.encryptionKeyText(of: bo.own)
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        let ofShare = "tarn-key-3:\(MirrorNames.shareZonePrefix)1:1:\(key)"
        for text in ["tarn-key-2:4294967295:\(key)", "tarn-key-1:\(key)", ofShare, "\(ofShare)\ntarn-key-2:9:\(key)"] {
            #expect(throws: CocoaError.self) { try bo.container.addEncryptionKeys(text, to: bo.others) }
        }
        #expect(try bo.container.encryptionKeyText(of: bo.own) == before)
        // The keys that the participant made are old ones.
        try bo.container.addEncryptionKeys(before, to: bo.others)
        #expect(try bo.container.encryptionKeyText(of: bo.own) == before)
        // A key of another device of his.
        try bo.container.addEncryptionKeys("tarn-key-2:1:\(key)", to: bo.own)
        #expect(try bo.container.encryptionKeyText(of: bo.own).contains("tarn-key-2:1:"))
    }

    /// The owner of another share knows the zone of his, from the server.
    @Test func storeOfSharesTakesNoKeyOfTheUsersOwnShare() async throws {
        let cloud = try InProcessCloud()
        let file = EncryptedPosts.keyFile()
        let bo = try Device.sharing("bo's", try await cloud.addUser("bo", device: "bo's"), model: EncryptedPosts.model, keys: file)
        try bo.edit { $0.insert("Post", ["title": "his", "content": "for his friends"]) }
        try await bo.sync()
        let share = try await bo.share("his")
        try await bo.sync()
        try await bo.container.createEncryptionKey(for: share, in: bo.own)
        let before = try bo.container.encryptionKeyText(for: share, in: bo.own)
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        let text = "tarn-key-3:\(share.recordID.zoneID.zoneName):4294967295:\(key)"
        #expect(throws: CocoaError.self) { try bo.container.addEncryptionKeys(text, to: bo.others) }
        #expect(try bo.container.encryptionKeyText(for: share, in: bo.own) == before)
        // The present key is no news, and another device of his may have created a later one.
        try bo.container.addEncryptionKeys(before, to: bo.others)
        try bo.container.addEncryptionKeys(text, to: bo.own)
        #expect(try bo.container.encryptionKeyText(for: share, in: bo.own) == before + text + "\n")
    }

    /// Eve knows the zone of Mia's share from the server, and gives Bo a key of a later rotation for it.
    @Test func theOwnerOfAShareGivesNoKeyForTheShareOfAnotherOne() async throws {
        let cloud = try InProcessCloud()
        func device(_ name: String) async throws -> Device {
            try Device.sharing(
                name, try await cloud.addUser(name, device: name), model: EncryptedPosts.model, keys: EncryptedPosts.keyFile())
        }
        let mia = try await device("mia"), eve = try await device("eve"), bo = try await device("bo")
        var texts: [String] = []
        for (owner, title) in [(mia, "Trip"), (eve, "Party")] {
            try owner.edit { $0.insert("Post", ["title": title, "content": "of \(title)"]) }
            try await owner.sync()
            let share = try await owner.share(title)
            try await owner.sync()
            try await owner.container.createEncryptionKey(for: share, in: owner.own)
            try await owner.sync()
            try await bo.join(share)
            texts.append(try owner.container.encryptionKeyText(for: share, in: owner.own))
        }
        try await bo.sync()
        let shares = try bo.container.fetchShares(in: bo.others)
        let ofMia = try #require(shares.first { texts[0].contains($0.recordID.zoneID.zoneName) })
        let ofEve = try #require(shares.first { texts[1].contains($0.recordID.zoneID.zoneName) })
        let zone = ofMia.recordID.zoneID
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        let forged = "tarn-key-3:\(zone.zoneName):4294967295:\(key)"
        for text in [forged, "\(texts[1])\(forged)", "tarn-key-3:\(zone.zoneName)/\(zone.ownerName):9:\(key)", "tarn-key-1:\(key)"] {
            #expect(throws: CocoaError.self) { try bo.container.addEncryptionKeys(text, for: ofEve, in: bo.others) }
            #expect(throws: CocoaError.self) { try bo.container.addEncryptionKeys(text, to: bo.others) }
        }
        #expect(try bo.container.encryptionKeyText(of: bo.own) == "")
        // Mia's object of the share is not Bo's.
        let hers = try #require(try mia.container.fetchShares(in: mia.own).first)
        #expect(throws: CocoaError.self) { try bo.container.addEncryptionKeys(texts[0], for: hers, in: bo.others) }

        try bo.container.addEncryptionKeys(texts[0], for: ofMia, in: bo.others)
        try bo.container.addEncryptionKeys(texts[1], for: ofEve, in: bo.others)
        try await bo.sync()
        #expect(try bo.unreadable == [])
        #expect(try bo.text("content", of: "Trip") == "of Trip")
        #expect(try bo.text("content", of: "Party") == "of Party")
        try bo.set("content", of: "Trip", to: "of Bo")
        for device in [bo, mia] { try await device.sync() }
        #expect(try mia.text("content", of: "Trip") == "of Bo")
    }

    /// Eve's share has a zone with the name of Mia's.
    @Test func keysOfZonesWithOneNameAreThoseOfTheirOwners() throws {
        let zone = MirrorNames.shareZonePrefix + "1"
        func line(_ byte: UInt8, _ generation: Int) -> String {
            "tarn-key-3:\(zone):\(generation):\(Data(repeating: byte, count: 32).base64EncodedString())"
        }
        let ring = EncryptionKeyRing(.file(EncryptedPosts.keyFile()), container: "iCloud.n")
        try ring.add(line(1, 1), ofShare: zone, of: "_mia")
        try ring.add(line(2, 9), ofShare: zone, of: "_eve")
        let mias = try ring.sealingKey(in: zone, of: "_mia").id, eves = try ring.sealingKey(in: zone, of: "_eve").id
        #expect(mias != eves)
        guard case .ofAnotherZone = try ring.key(eves, in: zone, of: "_mia"), case .ofAnotherZone = try ring.key(eves, in: zone) else {
            Issue.record("a key of another owner's zone was used")
            return
        }
        guard case .key = try ring.key(mias, in: zone, of: "_mia") else {
            Issue.record("the key of the zone was not found")
            return
        }
        // Another device of the user has them from the text of all keys.
        let other = EncryptionKeyRing(.file(EncryptedPosts.keyFile()), container: "iCloud.n")
        try other.add(try ring.text())
        #expect(try other.sealingKey(in: zone, of: "_mia").id == mias)
        #expect(try EncryptionKey.parse(try ring.text { RecoveryLine.text(of: $0) }).count == 2)
    }

    /// Eve takes part in Mia's share, and gave out its key for her own share before.
    @Test func aKeyOfTwoSharesOpensTheValuesOfBoth() throws {
        let zones = ["1", "2"].map { MirrorNames.shareZonePrefix + $0 }
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        let file = EncryptedPosts.keyFile()
        let ring = EncryptionKeyRing(.file(file), container: "iCloud.n")
        try ring.add("tarn-key-3:\(zones[0]):1:\(key)", ofShare: zones[0], of: "_eve")
        let id = try ring.sealingKey(in: zones[0], of: "_eve").id
        guard case .ofAnotherZone = try ring.key(id, in: zones[1], of: "_mia") else {
            Issue.record("a key of another owner's zone was used")
            return
        }
        // Another process of the app adds it.
        let other = EncryptionKeyRing(.file(file), container: "iCloud.n")
        try other.add("tarn-key-3:\(zones[1]):1:\(key)", ofShare: zones[1], of: "_mia")
        for (zone, owner) in zip(zones, ["_eve", "_mia"]) {
            guard case .key = try ring.key(id, in: zone, of: owner) else {
                Issue.record("values of the share of \(owner) do not open")
                continue
            }
        }
    }

    /// A server gives a share of Mia a zone with the name that Eve's zone has with its owner.
    @Test func aZoneWithASlashInItsNameHasNoKeyOfAnotherOwner() throws {
        let zone = MirrorNames.shareZonePrefix + "1", key = Data(repeating: 7, count: 32).base64EncodedString()
        let ring = EncryptionKeyRing(.file(EncryptedPosts.keyFile()), container: "iCloud.n")
        try ring.add("tarn-key-3:\(zone):1:\(key)", ofShare: zone, of: "_eve")
        let eves = try ring.sealingKey(in: zone, of: "_eve").id
        #expect(try ring.sealingKey(in: "\(zone)/_eve", of: "_mia").id != eves)
        #expect(try ring.sealingKey(in: "\(zone)/_eve").id != eves)
    }

    /// Keys that earlier versions added name no owner.
    @Test func keysWithoutAnOwnerStayValid() throws {
        let zone = MirrorNames.shareZonePrefix + "1"
        let key = Data(repeating: 7, count: 32).base64EncodedString(), later = Data(repeating: 8, count: 32).base64EncodedString()
        let ring = EncryptionKeyRing(.file(EncryptedPosts.keyFile()), container: "iCloud.n")
        try ring.add("tarn-key-3:\(zone):5:\(key)")
        let before = try ring.sealingKey(in: zone, of: "_mia").id
        try ring.add("tarn-key-3:\(zone):1:\(later)", ofShare: zone, of: "_mia")
        #expect(try ring.sealingKey(in: zone, of: "_mia").id != before)
        guard case .key = try ring.key(before, in: zone, of: "_mia") else {
            Issue.record("values with the earlier key do not open")
            return
        }
    }

    /// A participant who had the key before it was bound to the owner gives it to another one.
    @Test func aKeyWithAndWithoutItsOwnerIsStoredOnce() throws {
        let zone = MirrorNames.shareZonePrefix + "1", key = Data(repeating: 7, count: 32).base64EncodedString()
        let file = EncryptedPosts.keyFile()
        let ring = EncryptionKeyRing(.file(file), container: "iCloud.n")
        try ring.add("tarn-key-3:\(zone):1:\(key)\ntarn-key-3:\(zone)/_mia:1:\(key)", ofShare: zone, of: "_mia")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines == ["tarn-key-3:\(zone)/_mia:1:\(key)"])
    }

    @Test func malformedKeysOfSharesAreRefused() throws {
        let key = Data(repeating: 7, count: 32).base64EncodedString(), zone = MirrorNames.shareZonePrefix + "1"
        for text in [
            "tarn-key-3:\(key)", "tarn-key-3:\(zone):\(key)", "tarn-key-3:home:1:\(key)", "tarn-key-3:\(zone):x:\(key)",
            "tarn-key-3:\(zone):1:AA",
        ] {
            #expect(throws: CocoaError.self) { try NSPersistentCloudKitContainerOptions.EncryptionKeys.text(text) }
        }
        #expect(try EncryptionKey.parse("tarn-key-3:\(zone):1:\(key)").map(\.line) == ["tarn-key-3:\(zone):1:\(key)"])
    }
}
