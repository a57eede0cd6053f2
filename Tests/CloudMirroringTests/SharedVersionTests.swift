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

/// Participants of a share have different versions of an app: Mia's tablet has the later one.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharedVersionTests {
    private static let first: Model = {
        var model = Posts.model
        model.entities[0].attributes.append(Attribute(name: "author", type: .string))
        return model
    }()

    /// `Post.content` is `text`, tags are labels, and an author has two names.
    private static let second: Model = {
        var model = first
        model.entities[0].attributes[1].name = "text"
        model.entities[0].attributes[1].renamingIdentifier = "content"
        model.entities[0].relationships[1].name = "labels"
        model.entities[0].relationships[1].renamingIdentifier = "tags"
        model.entities[0].relationships[1].destination = "Label"
        model.entities[1].name = "Label"
        model.entities[1].renamingIdentifier = "Tag"
        model.entities[1].relationships[0].inverse = "labels"
        model.entities[0].attributes += ["firstName", "lastName"].map { Attribute(name: $0, type: .string) }
        model.entities[0].userInfo["syncLens"] = "author -> firstName lastName"
        return model
    }()

    private func sharers() async throws -> Sharers {
        let cloud = try InProcessCloud()
        let tablet = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.second)
        return try await Sharers(cloud, mia: tablet, phone: Self.first)
    }

    private func values(_ device: Device, _ keys: String...) throws -> [String?] {
        try device.read { context in
            let post = try #require(try context.post(titled: "Trip"))
            return keys.map { post.value(forKey: $0) as? String }
        }
    }

    private func tags(_ device: Device, _ key: String) throws -> Set<String> {
        try device.read { context in
            let tags = try #require(try context.post(titled: "Trip")?.value(forKey: key) as? Set<NSManagedObject>)
            return Set(tags.compactMap { $0.value(forKey: "name") as? String })
        }
    }

    @Test func aParticipantWithAnEarlierVersionEditsWhatALaterOneShares() async throws {
        let sharers = try await sharers()
        try sharers.mia.edit { context in
            let post = context.insert("Post", ["title": "Trip", "text": "Sea", "firstName": "Ann", "lastName": "Lee"])
            post.setValue(Set([context.insert("Label", ["name": "red"])]), forKey: "labels")
        }
        try await sharers.sync()
        let share = try await sharers.mia.share("Trip")
        try await sharers.sync()
        try await sharers.bo.join(share)
        try await sharers.sync()
        for device in [sharers.phone, sharers.bo] {
            #expect(try values(device, "content", "author") == ["Sea", "Ann Lee"])
            #expect(try tags(device, "tags") == ["red"])
        }
        try sharers.bo.edit { context in
            let post = try #require(try context.post(titled: "Trip"))
            post.setValue("Eva Kay", forKey: "author")
            post.setValue("Lake", forKey: "content")
        }
        try await sharers.sync()
        #expect(try values(sharers.mia, "text", "firstName", "lastName") == ["Lake", "Eva", "Kay"])
        try sharers.mia.set("Trip", "firstName", "Ida")
        try await sharers.sync()
        for device in [sharers.phone, sharers.bo] { #expect(try values(device, "author") == ["Ida Kay"]) }
    }

    /// The phone does not know the names: they are relocated with the record. An edit that the tablet sent to the source zone is forwarded.
    @Test func anEarlierVersionSharesWhatALaterOneMade() async throws {
        let sharers = try await sharers()
        try sharers.mia.edit { context in
            let post = context.insert("Post", ["title": "Trip", "text": "Sea", "firstName": "Mary Ann", "lastName": "Lee"])
            post.setValue(Set([context.insert("Label", ["name": "red"])]), forKey: "labels")
        }
        try await sharers.sync()
        sharers.mia.container.pauseSyncing()
        try sharers.mia.set("Trip", "lastName", "Kay")
        let share = try await sharers.phone.share("Trip")
        try await sharers.phone.sync()
        sharers.mia.container.resumeSyncing()
        try await sharers.sync()
        try await sharers.bo.join(share)
        try await sharers.sync()
        #expect(try values(sharers.mia, "text", "firstName", "lastName") == ["Sea", "Mary Ann", "Kay"])
        #expect(try tags(sharers.mia, "labels") == ["red"])
        for device in [sharers.phone, sharers.bo] {
            #expect(try values(device, "content", "author") == ["Sea", "Mary Ann Kay"])
            #expect(try tags(device, "tags") == ["red"])
        }
    }

    /// The tablet shares with an unsent edit of the first name, while the phone changed the text: both edits are in the share.
    @Test func anUnsentEditOfALaterAttributeIsShared() async throws {
        let sharers = try await sharers()
        try sharers.mia.edit { $0.insert("Post", ["title": "Trip", "text": "Sea", "firstName": "Ann", "lastName": "Lee"]) }
        try await sharers.sync()
        sharers.mia.container.pauseSyncing()
        try sharers.phone.set("Trip", "content", "Lake")
        try await sharers.phone.sync()
        try sharers.mia.set("Trip", "firstName", "Eva")
        let share = try await sharers.mia.share("Trip")
        sharers.mia.container.resumeSyncing()
        try await sharers.sync()
        try await sharers.bo.join(share)
        try await sharers.sync()
        #expect(try values(sharers.mia, "text", "firstName", "lastName") == ["Lake", "Eva", "Lee"])
        for device in [sharers.phone, sharers.bo] { #expect(try values(device, "content", "author") == ["Lake", "Eva Lee"]) }
    }

    /// The phone neither knows the attribute nor has its key: a record without the value would take it from the tablet.
    @Test func anEarlierVersionSharesNoEncryptedValueOfALaterOneWithoutItsKey() async throws {
        var later = Posts.model
        later.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        later.entities[0].attributes[later.entities[0].attributes.count - 1].allowsCloudEncryption = true
        let cloud = try InProcessCloud()
        let tablet = try Device.sharing(
            "tablet", try await cloud.addUser("mia", device: "tablet"), model: later, keys: EncryptedPosts.keyFile())
        let phone = try Device.sharing("phone", try await cloud.addDevice("phone", of: "mia"), keys: EncryptedPosts.keyFile())
        try tablet.edit { $0.insert("Post", ["title": "Trip", "mood": "happy"]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.unreadable == ["CD_mood missingKey"])
        let refused = await #expect(throws: CKError.self) { _ = try await phone.share("Trip") }
        #expect(refused?.code == .invalidArguments)
        for device in [phone, tablet] { try await device.sync() }
        #expect(try tablet.text("mood", of: "Trip") == "happy")

        try phone.container.addEncryptionKeys(try tablet.container.encryptionKeyText(of: tablet.own), to: phone.own)
        try await phone.sync()
        #expect(try phone.unreadable == [])
        _ = try await phone.share("Trip")
        for _ in 0..<2 { for device in [phone, tablet] { try await device.sync() } }
        #expect(try tablet.text("mood", of: "Trip") == "happy")
        let posts = try await cloud.records(ofType: "CD_Post").filter { !$0.isDeleted && $0.fields["CD_title"] == Field(.string("Trip")) }
        #expect(posts.map { $0.fields["CD_mood"]?.isEncrypted } == [true])
    }

    /// The phone's model has no values that are encrypted or can be in assets.
    @Test func anEarlierVersionOfNumbersWaitsForTheKeyOfALaterValue() async throws {
        let first = Model(entities: [Entity(name: "Measure", attributes: [Attribute(name: "level", type: .double)])])
        var later = first
        var mood = Attribute(name: "mood", type: .string)
        mood.allowsCloudEncryption = true
        later.entities[0].attributes.append(mood)
        let cloud = try InProcessCloud()
        let tablet = try Device.sharing(
            "tablet", try await cloud.addUser("mia", device: "tablet"), model: later, keys: EncryptedPosts.keyFile())
        let phone = try Device.sharing(
            "phone", try await cloud.addDevice("phone", of: "mia"), model: first, keys: EncryptedPosts.keyFile())
        try tablet.edit { $0.insert("Measure", ["level": 1.5, "mood": "happy"]) }
        for device in [tablet, phone] { try await device.sync() }
        #expect(try phone.unreadable == ["CD_mood missingKey"])
        #expect(phone.container.syncStatus.unreadableCount == 1)
        try phone.container.addEncryptionKeys(try tablet.container.encryptionKeyText(of: tablet.own), to: phone.own)
        try await phone.sync()
        #expect(try phone.unreadable == [])
        #expect(phone.container.syncStatus.unreadableCount == 0)
    }

    /// The user gives the value up.
    @Test func anEarlierVersionSharesAnObjectWhoseLaterValueIsReplaced() async throws {
        var later = Posts.model
        later.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        later.entities[0].attributes[later.entities[0].attributes.count - 1].allowsCloudEncryption = true
        let cloud = try InProcessCloud()
        let tablet = try Device.sharing(
            "tablet", try await cloud.addUser("mia", device: "tablet"), model: later, keys: EncryptedPosts.keyFile())
        let phone = try Device.sharing("phone", try await cloud.addDevice("phone", of: "mia"), keys: EncryptedPosts.keyFile())
        try tablet.edit { $0.insert("Post", ["title": "Trip", "mood": "happy"]) }
        for device in [tablet, phone] { try await device.sync() }
        try await phone.container.resolveUnreadableValues(of: [try phone.postID("Trip")], by: .replace)
        #expect(try phone.unreadable == [])
        _ = try await phone.share("Trip")
        for device in [phone, tablet] { try await device.sync() }
        #expect(try phone.dump.contains("title Trip"))
    }
}
