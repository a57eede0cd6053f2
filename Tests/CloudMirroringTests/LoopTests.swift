// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// The whole loop in process: real stores, the real engine, one user's two devices.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct LoopTests {
    private struct Pair {
        let cloud: InProcessCloud
        let tablet: Device
        let phone: Device

        init() async throws {
            cloud = try InProcessCloud()
            tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
            phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        }

        func goOffline() { for device in [tablet, phone] { device.transport.goOffline() } }

        func goOnline() async throws {
            for device in [tablet, phone] { try await device.until { $0.activity == .offline } }
            for device in [tablet, phone] { device.transport.goOnline() }
            advance()
        }

        /// Lets everything that waits try again.
        func advance() { for device in [tablet, phone] { device.timers.advance(by: 400) } }

        /// Returns when both are idle and show the same.
        func agree(_ condition: @Sendable (String) -> Bool = { _ in true }) async throws {
            for _ in 0..<20 {
                try await tablet.settles()
                try await phone.settles()
                let before = [tablet, phone].map(\.container.syncStatus)
                let (one, other) = (try tablet.dump, try phone.dump)
                if one == other, condition(one) { return }
                // One of them has not been notified yet.
                try await Device.anyOf([tablet, phone], leaves: before)
            }
            Issue.record("the devices do not agree")
        }
    }

    /// Saves a tag through a container of its own on a device's file, as another process of the device does.
    private func saveElsewhere(_ name: String, on device: Device) throws {
        let other = NSPersistentContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        let description = NSPersistentStoreDescription(url: device.file)
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        other.persistentStoreDescriptions = [description]
        try other.load()
        let context = other.newBackgroundContext()
        try context.performAndWait {
            context.insert("Tag", ["name": name])
            try context.save()
        }
    }

    @Test func savesOfAnotherProcessAreExported() async throws {
        let pair = try await Pair()
        try await pair.agree()
        try saveElsewhere("elsewhere", on: pair.tablet)
        try await pair.phone.until { _ in try pair.phone.read { try $0.all("Tag").count } == 1 }
        try await pair.agree { !$0.isEmpty }
    }

    @Test func savesAppearOnTheOtherDevice() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in
            let tag = context.insert("Tag", ["name": "swift"])
            let post = context.insert(
                "Post", ["title": "Hello", "content": "World", "timestamp": Date(timeIntervalSinceReferenceDate: 1000.25)])
            post.setValue(Set([tag]), forKey: "tags")
            let image = context.insert("ImageData", ["data": Data([1, 2, 3])])
            context.insert("Attachment", ["thumbnail": Data([9]), "post": post, "imageData": image])
        }
        try await pair.phone.until { _ in try pair.phone.read { try $0.all("Attachment").count } == 1 }
        try await pair.agree { !$0.isEmpty }
        #expect(
            try pair.phone.dump == """
                Attachment  thumbnail <1:9>  imageData → ImageData  post → Hello
                ImageData  data <3:6>  attachment → Attachment
                Post  content World  timestamp @1000.25  title Hello  attachments ["Attachment"]  tags ["swift"]
                Tag  name swift  posts ["Hello"]
                """)
    }

    @Test func unlinkingManyToManyPropagates() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Post", ["title": "Hello", "tags": Set([$0.insert("Tag", ["name": "swift"])])]) }
        try await pair.phone.until { _ in try pair.phone.dump.contains("tags [") }
        try await pair.agree()
        try pair.phone.edit { try $0.post(titled: "Hello")?.setValue(Set<NSManagedObject>(), forKey: "tags") }
        try await pair.tablet.until { _ in try !pair.tablet.dump.contains("tags [") }
        try await pair.agree { $0 == "Post  title Hello\nTag  name swift" }
    }

    @Test func anAccentWrittenInAnotherWayIsAChange() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Post", ["title": "e\u{301}"]) }
        try await pair.phone.until { _ in try pair.phone.dump.utf8.count == "Post  title e\u{301}".utf8.count }
        try pair.phone.edit { try $0.all("Post").first?.setValue("\u{e9}", forKey: "title") }
        try await pair.tablet.until { _ in try pair.tablet.dump.utf8.elementsEqual("Post  title \u{e9}".utf8) }
        try await pair.agree()
    }

    @Test func editsOfDifferentFieldsMadeOfflineBothSurvive() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Post", ["title": "Both", "content": "old"]) }
        try await pair.phone.until { _ in try pair.phone.read { try $0.post(titled: "Both") != nil } }
        try await pair.agree()
        pair.goOffline()
        try pair.tablet.edit { try $0.post(titled: "Both")?.setValue("from the tablet", forKey: "content") }
        try pair.phone.edit { try $0.post(titled: "Both")?.setValue(Date(timeIntervalSinceReferenceDate: 5), forKey: "timestamp") }
        try await pair.tablet.until { $0.activity == .offline && $0.pendingCount == 1 }
        try await pair.goOnline()
        try await pair.agree { $0 == "Post  content from the tablet  timestamp @5.0  title Both" }
    }

    @Test func devicesThatDeleteWhatTheOtherMadeEndEqualAndEmpty() async throws {
        let pair = try await Pair()
        for device in [pair.tablet, pair.phone] {
            try device.edit { context in
                for number in 0..<4 {
                    let post = context.insert("Post", ["title": "\(device.name) \(number)"])
                    context.insert("Attachment", ["post": post])
                    post.setValue(Set([context.insert("Tag", ["name": device.name])]), forKey: "tags")
                }
            }
        }
        for device in [pair.tablet, pair.phone] { try await device.until { _ in try device.read { try $0.all("Post").count } == 8 } }
        try await pair.agree()
        pair.goOffline()
        for (device, other) in [(pair.tablet, "phone"), (pair.phone, "tablet")] {
            try device.edit { context in
                for post in try context.all("Post") where (post.value(forKey: "title") as? String)?.hasPrefix(other) == true {
                    context.delete(post)
                }
                for tag in try context.all("Tag") where tag.value(forKey: "name") as? String == other { context.delete(tag) }
            }
        }
        try await pair.goOnline()
        try await pair.agree { $0.isEmpty }
    }

    @Test func aDeviceThatIsKilledBetweenSendingAndHearingDoublesNothing() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try await tablet.settles()
        try await tablet.until { _ in cloud.listeners == 1 }
        try await tablet.settles()
        transport.loseNextAnswers()
        try tablet.edit { context in
            let post = context.insert("Post", ["title": "Once"])
            post.setValue(Set([context.insert("Tag", ["name": "once"])]), forKey: "tags")
        }
        try await tablet.until { $0.activity == .offline }
        #expect(transport.log.last == "records/modify")
        try await tablet.kill()

        let again = try Device("tablet", transport, file: tablet.file)
        try await again.settles()
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.settles()
        #expect(try phone.dump == "Post  title Once  tags [\"once\"]\nTag  name once  posts [\"Once\"]")
        #expect(try again.dump == phone.dump)
    }

    @Test func longValuesTravelAsAssetsAndComeBackInline() async throws {
        let pair = try await Pair()
        let image = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try pair.tablet.edit { $0.insert("ImageData", ["data": image]) }
        try await pair.phone.until { _ in try pair.phone.read { try $0.all("ImageData").first?.value(forKey: "data") as? Data } == image }
        try await pair.agree()
        #expect(pair.tablet.transport.log.contains("asset"))
        let uploads = pair.tablet.transport.log.count { $0 == "asset" }
        try pair.phone.edit { try $0.all("ImageData").first?.setValue(Data([7]), forKey: "data") }
        try await pair.tablet.until { _ in
            try pair.tablet.read { try $0.all("ImageData").first?.value(forKey: "data") as? Data } == Data([7])
        }
        try await pair.agree { $0 == "ImageData  data <1:7>" }
        #expect(pair.tablet.transport.log.count { $0 == "asset" } == uploads)
    }

    @Test func aServerThatRestartsIsFoundAgain() async throws {
        let pair = try await Pair()
        try await pair.agree()
        try pair.cloud.stop()
        try pair.tablet.edit { $0.insert("Post", ["title": "Meanwhile"]) }
        try await pair.tablet.until { $0.activity == .offline && $0.pendingCount == 1 }
        try pair.cloud.start()
        pair.advance()
        try await pair.phone.until { _ in
            pair.advance(); return try pair.phone.read { try $0.post(titled: "Meanwhile") != nil }
        }
        try await pair.agree()
    }

    @Test func anImportIsMergedIntoAContextAndIsHistoryOfItsOwnAuthor() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { $0.insert("Post", ["title": "First"]) }
        try await pair.phone.until { _ in try pair.phone.read { try $0.post(titled: "First") != nil } }
        let context = pair.phone.container.newBackgroundContext()
        // Used inside the context's queue only; held so that it stays registered.
        nonisolated(unsafe) let post = try context.performAndWait {
            context.automaticallyMergesChangesFromParent = true
            let post = try context.post(titled: "First")
            #expect(post?.value(forKey: "content") == nil)
            return post
        }
        try pair.tablet.edit { try $0.post(titled: "First")?.setValue("seen", forKey: "content") }
        try await pair.phone.until { _ in
            context.performAndWait { post?.value(forKey: "content") as? String } == "seen"
        }
        let authors = try pair.phone.read { context in
            let result =
                try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?))
                as? NSPersistentHistoryResult
            return (result?.result as? [NSPersistentHistoryTransaction] ?? []).map { $0.author ?? "" }
        }
        #expect(Set(authors) == ["NSCloudKitMirroringDelegate.import"])
    }
}
