// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import TestBasics
import Testing

/// What loses a merge is kept, shown and brought back.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ConflictTests {
    /// Two devices with a post that both know.
    private func pair() async throws -> (tablet: Device, phone: Device) {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { context in
            let post = context.insert("Post", ["title": "Both", "content": "before"])
            context.insert("Attachment", ["post": post])
            context.insert("Post", ["title": "Other"])
        }
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        for device in [tablet, phone] { device.container.pauseSyncing() }
        return (tablet, phone)
    }

    private func exchange(_ devices: Device...) async throws {
        for device in devices {
            device.container.resumeSyncing()
            try await device.container.sync(timeout: .seconds(600))
        }
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    @Test func aValueThatLostIsShownAndRestored() async throws {
        let (tablet, phone) = try await pair()
        try tablet.edit { try $0.post(titled: "Both")?.setValue("tablet", forKey: "content") }
        try phone.edit { try $0.post(titled: "Both")?.setValue("phone", forKey: "content") }
        try await exchange(tablet, phone)
        #expect(try tablet.dump == phone.dump)
        #expect(try tablet.container.conflicts().isEmpty)

        let conflicts = try phone.container.conflicts()
        #expect(conflicts.count == 1)
        let conflict = try #require(conflicts.first)
        #expect(conflict.entityName == "Post")
        #expect(conflict.propertyName == "content")
        #expect(conflict.winner == .valueSetHere)
        #expect(conflict.losingValue as? String == "tablet")
        #expect(conflict.losingDate != nil)
        try phone.edit { context in
            let object = try phone.container.restoreLosingValue(of: conflict, in: context)
            #expect(object.objectID == conflict.objectID)
        }
        try phone.container.forgetConflicts(conflicts)
        #expect(try phone.container.conflicts().isEmpty)
        try await exchange(phone, tablet)
        for device in [tablet, phone] {
            #expect(try device.read { try $0.post(titled: "Both")?.value(forKey: "content") as? String } == "tablet")
        }
    }

    @Test func ofTwoThatWereGivenOneImageOneHasIt() async throws {
        let (tablet, phone) = try await pair()
        try tablet.edit { context in
            for number in 1...2 { context.insert("Attachment", ["thumbnail": Data([UInt8(number)])]) }
            context.insert("ImageData", ["data": Data([9])])
        }
        try await exchange(tablet, phone)
        for (number, device) in [tablet, phone].enumerated() {
            device.container.pauseSyncing()
            try device.edit { context in
                let attachment = try context.all("Attachment").first { $0.value(forKey: "thumbnail") as? Data == Data([UInt8(number + 1)]) }
                attachment?.setValue(try context.all("ImageData").first, forKey: "imageData")
            }
        }
        try await exchange(tablet, phone)
        for device in [tablet, phone] {
            let (holders, holder) = try device.read { context in
                (
                    try context.all("Attachment").filter { $0.value(forKey: "imageData") != nil }.map {
                        $0.value(forKey: "thumbnail") as? Data
                    },
                    (try context.all("ImageData").first?.value(forKey: "attachment") as? NSManagedObject)?.value(forKey: "thumbnail")
                        as? Data
                )
            }
            #expect(holders == [Data([2])])
            #expect(holder == Data([2]))
        }
        #expect(try Set(phone.container.conflicts().map(\.propertyName)) == ["attachment", "imageData"])
    }

    @Test func aRelationshipThatLostIsRestored() async throws {
        let (tablet, phone) = try await pair()
        try tablet.edit { try $0.all("Attachment").first?.setValue(try $0.post(titled: "Other"), forKey: "post") }
        try phone.edit { context in
            try context.all("Attachment").first?.setValue(context.insert("Post", ["title": "New"]), forKey: "post")
        }
        try await exchange(tablet, phone)
        let conflict = try #require(try phone.container.conflicts().first)
        #expect(conflict.propertyName == "post")
        try phone.edit { _ = try phone.container.restoreLosingValue(of: conflict, in: $0) }
        try await exchange(phone, tablet)
        #expect(try tablet.dump == phone.dump)
        #expect(try tablet.dump.contains("Attachment  post → Other"))
    }

    /// An object without its value would be left in the context, and be saved.
    @Test func aValueThatCannotBeRestoredLeavesTheContextUnchanged() async throws {
        let (tablet, phone) = try await pair()
        try tablet.edit { context in try context.all("Attachment").forEach { context.delete($0) } }
        try phone.edit { try $0.all("Attachment").first?.setValue(try $0.post(titled: "Other"), forKey: "post") }
        try await exchange(tablet, phone)
        let conflict = try #require(try phone.container.conflicts().first)
        #expect(conflict.propertyName == "post")
        #expect(conflict.objectID == nil)
        try phone.edit { context in context.delete(try #require(try context.post(titled: "Other"))) }
        try phone.read { context in
            // The entry is older than the deletion.
            let error = #expect(throws: CocoaError.self) { try phone.container.restoreLosingValue(of: conflict, in: context) }
            #expect(error?.code == .managedObjectReferentialIntegrity)
            #expect(!context.hasChanges)
        }
        try await exchange(phone, tablet)
    }

    /// Other devices would show it related to nothing, and this one to something that is not there.
    @Test func relationshipsToConcurrentlyDeletedObjectsAreCleared() async throws {
        let (tablet, phone) = try await pair()
        let view = phone.container.newBackgroundContext()
        let id = try phone.postID("Both")
        let post = try view.performAndWait { try view.existingObject(with: id) }
        try tablet.edit { $0.delete(try #require(try $0.post(titled: "Both"))) }
        try await exchange(tablet, phone)
        try view.performAndWait {
            view.insert("Attachment", ["post": post, "thumbnail": Data([7])])
            let error = #expect(throws: CocoaError.self) { try view.save() }
            #expect(error?.code == .managedObjectMerge)
            view.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
            try view.save()
        }
        try await exchange(phone, tablet)
        let both = "Attachment  thumbnail <1:7>\nPost  title Other"
        #expect(try tablet.dump == both)
        #expect(try phone.dump == both)
    }

    @Test func editsOfAnObjectThatWasDeletedElsewhereComeBackAsANewOne() async throws {
        let (tablet, phone) = try await pair()
        try tablet.edit { context in if let post = try context.post(titled: "Both") { context.delete(post) } }
        try phone.edit { context in
            let post = try context.post(titled: "Both")
            post?.setValue("long work", forKey: "content")
            post?.setValue("Renamed", forKey: "title")
        }
        try await exchange(tablet, phone)
        #expect(try phone.read { try $0.post(titled: "Renamed") == nil })
        let conflicts = try phone.container.conflicts()
        #expect(Set(conflicts.map(\.propertyName)) == ["content", "title"])
        #expect(conflicts.allSatisfy { $0.winner == .deletionElsewhere && $0.objectID == nil })
        try phone.edit { _ = try phone.container.restoreLosingValue(of: conflicts[0], in: $0) }
        try await exchange(phone, tablet)
        #expect(try tablet.read { try $0.post(titled: "Renamed")?.value(forKey: "content") as? String } == "long work")
    }
}
