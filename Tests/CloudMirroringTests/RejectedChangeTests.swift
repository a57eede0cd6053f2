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

/// Changes that the server rejects permanently are reverted on the device.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RejectedChangeTests {
    private func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }

    private static func plan(_ context: NSManagedObjectContext) {
        let post = context.insert("Post", ["title": "Trip", "content": "Sea"])
        post.setValue(Set([context.insert("Tag", ["name": "holiday"])]), forKey: "tags")
        context.insert("Attachment", ["thumbnail": Data([1, 2])]).setValue(post, forKey: "post")
    }

    /// Mia's post in the public database, at Mia's and at Ben's.
    private func published(limits: Limits = Limits()) async throws -> (mia: Device, ben: Device) {
        let cloud = try InProcessCloud(limits: limits)
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "mia's"), describe: publish)
        let ben = try Device("ben's", try await cloud.addUser("ben", device: "ben's"), describe: publish)
        try mia.edit(Self.plan)
        try await mia.sync()
        try await ben.sync()
        #expect(try ben.dump == mia.dump)
        return (mia, ben)
    }

    @Test func aRejectedDeletionInThePublicDatabaseComesBackByItself() async throws {
        let (mia, ben) = try await published()
        try ben.edit { context in context.delete(try #require(try context.post(titled: "Trip"))) }
        #expect(try ben.read { try $0.all("Attachment").isEmpty })
        try await ben.sync()
        #expect(try ben.dump == mia.dump)
        #expect(ben.container.syncStatus.activity == .idle)
        #expect(ben.container.syncStatus.rejectedCount == 0)
        #expect(try ben.container.rejectedChanges().isEmpty)
        // It follows its owner again, and nothing of it was changed for others.
        try mia.set("Trip", "content", "Mountains")
        try await mia.sync()
        try await ben.sync()
        #expect(try ben.dump == mia.dump)
        #expect(try mia.dump.contains("Mountains"))
    }

    /// The client doesn't know how few records the server accepts in one request.
    @Test func rejectedDeletionsComeBackFromAServerThatTakesFewAtOnce() async throws {
        var limits = Limits()
        limits.operationsPerRequest = 3
        let (mia, ben) = try await published(limits: limits)
        try mia.edit { context in for number in 0..<7 { context.insert("Post", ["title": "Post \(number)"]) } }
        try await mia.sync()
        try await ben.sync()
        try ben.edit { context in for post in try context.all("Post") { context.delete(post) } }
        try await ben.sync()
        let (mine, bens) = (try mia.dump, try ben.dump)
        #expect(bens == mine)
        #expect(try ben.container.rejectedChanges().isEmpty)
    }

    @Test func aContextSeesTheObjectThatComesBack() async throws {
        let (_, ben) = try await published()
        let context = ben.container.newBackgroundContext()
        context.automaticallyMergesChangesFromParent = true
        try await context.perform {
            context.delete(try #require(try context.post(titled: "Trip")))
            try context.save()
        }
        try await ben.sync()
        let titles = try await context.perform { try context.all("Post").compactMap { $0.value(forKey: "title") as? String } }
        #expect(titles == ["Trip"])
    }

    @Test func aRejectedEditIsListedAndCanBeDiscarded() async throws {
        let (mia, ben) = try await published()
        try ben.set("Trip", "title", "Ben's")
        try await ben.sync()
        let id = try ben.postID("Ben's")
        let changes = try ben.container.rejectedChanges()
        #expect(changes.map(\.objectID) == [id])
        #expect(changes.map(\.kind) == [.update])
        #expect(changes.first?.relationshipName == nil)
        #expect(changes.first?.recordID == ben.container.recordID(for: id))
        #expect(changes.first?.reason.isEmpty == false)
        #expect(ben.container.syncStatus.rejectedCount == 1)
        try mia.set("Trip", "title", "Journey")
        try await mia.sync()
        try await ben.sync()
        #expect(try ben.read { try $0.post(titled: "Journey") == nil })

        try await ben.container.discardRejectedChanges(of: [id])
        #expect(try ben.dump == mia.dump)
        #expect(try ben.postID("Journey") == id)
        try await ben.sync()
        #expect(try ben.container.rejectedChanges().isEmpty)
        #expect(ben.container.syncStatus.activity == .idle)
        #expect(ben.container.syncStatus.rejectedCount == 0)
        let lost = try ben.container.conflicts().filter { $0.propertyName == "title" }
        #expect(lost.contains { $0.losingValue as? String == "Ben's" && $0.objectID == id })
        // It follows again.
        try mia.set("Journey", "title", "Home")
        try await mia.sync()
        try await ben.sync()
        #expect(try ben.dump == mia.dump)
    }

    @Test func discardingWhatWasNotRejectedChangesNothing() async throws {
        let (_, ben) = try await published()
        let before = try ben.dump
        try await ben.container.discardRejectedChanges(of: [try ben.postID("Trip")])
        #expect(try ben.dump == before)
        #expect(try ben.container.conflicts().isEmpty)
    }

    @Test func withoutTheServerNothingIsDiscarded() async throws {
        let (_, ben) = try await published()
        try ben.set("Trip", "title", "Ben's")
        try await ben.sync()
        ben.transport.goOffline()
        let id = try ben.postID("Ben's")
        await #expect(throws: CKError.self) { try await ben.container.discardRejectedChanges(of: [id]) }
        #expect(try ben.container.rejectedChanges().map(\.objectID) == [id])
        #expect(try ben.postID("Ben's") == id)
    }

    // MARK: Shared data

    private func readOnly() async throws -> (all: Sharers, share: CKShare) {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readOnly)
        try await all.sync()
        try await all.bo.join(share)
        try await all.sync()
        #expect(try all.bo.postID("Trip").persistentStore === all.bo.others)
        return (all, share)
    }

    @Test func aReadOnlyParticipantsDeletionCascadesAndComesBackWhole() async throws {
        let (all, _) = try await readOnly()
        let before = try all.bo.dump
        #expect(before.contains("imageData →"))
        try all.bo.edit { context in context.delete(try #require(try context.post(titled: "Trip"))) }
        #expect(try all.bo.read { try $0.all("ImageData").isEmpty })
        try await all.sync()
        #expect(try all.bo.dump == before)
        #expect(try all.bo.container.rejectedChanges().isEmpty)
        try all.mia.set("Trip", "content", "Lake")
        try await all.sync()
        #expect(try all.bo.dump.contains("Lake"))
    }

    @Test func aReadOnlyParticipantDiscardsEditsRelationshipsAndNewObjects() async throws {
        let (all, _) = try await readOnly()
        let before = try all.bo.dump
        try all.bo.edit { context in
            let post = try #require(try context.post(titled: "Trip"))
            post.setValue("Bo's", forKey: "content")
            let tag = context.insert("Tag", ["name": "bo"])
            context.assign(tag, to: try all.bo.others)
            let theirs = try #require((post.value(forKey: "tags") as? Set<NSManagedObject>)?.first)
            theirs.setValue("renamed", forKey: "name")
            post.setValue(Set([tag]), forKey: "tags")
        }
        try await all.bo.sync()
        let changes = try all.bo.container.rejectedChanges()
        #expect(Set(changes.map(\.kind)) == [.insertion, .update, .deletion])
        #expect(changes.contains { $0.relationshipName == "tags" })
        #expect(all.bo.container.syncStatus.rejectedCount == changes.count)
        try await all.bo.container.discardRejectedChanges(of: changes.map(\.objectID))
        #expect(try all.bo.dump == before)
        try await all.bo.sync()
        #expect(try all.bo.container.rejectedChanges().isEmpty)
        let lost = try all.bo.container.conflicts().compactMap { $0.losingValue as? String }
        #expect(Set(lost).isSuperset(of: ["Bo's", "renamed", "bo"]))
        try await all.sync()
        #expect(try all.bo.dump == before)
    }

    /// The discarded change is the last that is read of the zone for now: the owner's change of another record has not been fetched.
    @Test func discardingAChangeLeavesTheRestOfTheZoneToBeFetched() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"))
        let transport = try await cloud.addUser("bo", device: "bo's")
        let faults = Faults(transport)
        let bo = try Device.sharing("bo's", transport, over: faults)
        try await cloud.introduce("bo", givenName: "Bo", emailAddress: "bo@example.org")
        try mia.edit(Self.plan)
        try await mia.sync()
        let share = try await mia.share("Trip", .readOnly)
        try await mia.sync()
        try await bo.sync()
        try await bo.join(share)
        try await bo.sync()
        try bo.set("Trip", "content", "Bo's")
        try await bo.sync()
        faults.refuseAll("changes/zone", containing: share.recordID.zoneID.zoneName, status: 403, WireError(.accessDenied, "not now"))
        try mia.edit { context in try #require(try context.all("Tag").first).setValue("vacation", forKey: "name") }
        try await mia.sync()
        await #expect(throws: CKError.self) { try await bo.sync() }
        try await bo.container.discardRejectedChanges(of: [try bo.postID("Trip")])
        faults.stopRefusing()
        try await bo.sync()
        #expect(try bo.dump.contains("vacation"))
    }
}
