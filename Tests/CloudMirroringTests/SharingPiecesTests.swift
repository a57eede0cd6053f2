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

/// Objects that reach the zone of a share one by one, or are connected with it only for a time. A simulation found each case.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharingPiecesTests {
    /// The sharing device sends one item at a time, and is blocked at the first with a given text.
    private static func sharers(sending count: Int, holding text: String) async throws -> (all: Sharers, gate: Gate) {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let holding = Holding(transport) { path, body in
            guard path.hasSuffix("records/modify"), let request = try? ModifyRecordsRequest(json: body) else { return false }
            return request.zoneID.zoneName.contains(".share.")
                && request.operations.contains { $0.kind == .create && $0.record.fields.values.contains(Field(.string(text))) }
        }
        return (try await Sharers(cloud, mia: try Device.sharing("tablet", transport, over: holding, itemsMax: count)), holding.gate)
    }

    private static func post(_ title: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
        try #require(try context.post(titled: title))
    }

    private static func tag(_ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
        try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == name })
    }

    @Test func anObjectReachedFromTwoSharedOnesIsSharedOnce() async throws {
        let (all, gate) = try await Self.sharers(sending: 2, holding: "both")
        try all.mia.edit { context in for title in ["One", "Two"] { context.insert("Post", ["title": title]) } }
        try all.mia.edit { context in
            context.insert("Tag", ["name": "both"]).setValue(
                Set([try Self.post("One", context), try Self.post("Two", context)]), forKey: "posts")
        }
        try await all.sync()
        _ = try await all.mia.share("One")
        try await gate.reached()
        // The posts are there, and the tag is not: it follows both of them.
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Tag  name both  posts [\"One\", \"Two\"]"))
        gate.open()
        try await all.sync()
        for device in [all.mia, all.phone] { #expect(try device.dump.contains("Tag  name both  posts [\"One\", \"Two\"]")) }
    }

    /// - Parameter isMoved: Whether the device that sees the reference first moves its target itself.
    @Test(arguments: [false, true]) func aReferenceThatComesBeforeItsTargetMovesTakesTheTargetAlong(isMoved: Bool) async throws {
        let (all, gate) = try await Self.sharers(sending: 1, holding: "Diary")
        try await all.plan()
        _ = try await all.mia.share("Trip")
        try await all.sync()
        try all.mia.edit { context in
            try #require(try context.all("Attachment").first).setValue(try Self.post("Diary", context), forKey: "post")
        }
        try await gate.reached()
        try await all.phone.sync()
        // The target is in the phone's own zone, and follows the record that refers to it into the share.
        #expect(try all.phone.dump.contains("imageData → ImageData  post → Diary"))
        if isMoved {
            try all.phone.edit { context in
                try Self.post("Trip", context).mutableSetValue(forKey: "tags").add(try Self.tag("mine", context))
            }
            try await all.phone.sync()
        }
        gate.open()
        try await all.sync()
        for device in [all.mia, all.phone] { #expect(try device.dump.contains("imageData → ImageData  post → Diary")) }
        #expect(try all.phone.container.conflicts().isEmpty)
    }

    /// Each zone counts how often it was read as a whole; the phone has read its home zone more often than the share's.
    @Test func objectsDeletedInAShareAreRemovedByAFullFetch() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"))
        let transport = try await cloud.addDevice("phone", of: "mia")
        let faults = Faults(transport)
        let phone = try Device.sharing("phone", transport, over: faults)
        let expired = Faults.Fault.refuse(status: 400, WireError(.badRequest, "expired", nativeCode: .changeTokenExpired))
        try mia.edit { context in for title in ["Trip", "Diary"] { context.insert("Post", ["title": title]) } }
        for _ in 0..<3 {
            faults.plan("changes/zone", expired)
            for device in [mia, phone] { try await device.sync() }
        }
        _ = try await mia.share("Trip")
        for device in [mia, phone, mia, phone] { try await device.sync() }
        try mia.edit { context in
            context.insert("Tag", ["name": "both"]).setValue(
                Set([try Self.post("Trip", context), try Self.post("Diary", context)]), forKey: "posts")
        }
        for device in [mia, phone, mia, phone] { try await device.sync() }
        #expect(try phone.dump.contains("Tag  name both  posts [\"Diary\", \"Trip\"]"))
        phone.container.pauseSyncing()
        try mia.edit { $0.delete(try Self.post("Diary", $0)) }
        try await mia.sync()
        faults.plan("changes/zone", .answer { $0 }, expired)
        phone.container.resumeSyncing()
        try await phone.sync()
        #expect(try phone.dump == mia.dump)
        #expect(try !phone.dump.contains("Diary"))
    }

    @Test func aPairThatIsTakenApartAsOneOfItIsSharedStaysApart() async throws {
        let all = try await Sharers()
        try await all.plan()
        try all.mia.edit { context in
            let beach = context.insert("Tag", ["name": "beach"])
            beach.setValue(Set([try Self.post("Diary", context), context.insert("Post", ["title": "Other"])]), forKey: "posts")
        }
        _ = try await all.mia.share("Trip")
        try await all.sync()
        // One save: the objects that are relocated are not connected with the diary any more, nor with the other post.
        try all.mia.edit { context in
            try Self.tag("beach", context).setValue(Set([try Self.post("Trip", context)]), forKey: "posts")
        }
        try await all.sync()
        try await all.sync()
        for device in [all.mia, all.phone] {
            #expect(try device.dump.contains("Tag  name beach  posts [\"Trip\"]"))
            #expect(try device.dump.contains("Post  title Other\n"))
        }
        #expect(try await all.cloud.records(ofType: "CDMR").count == 3)
    }

    /// Sends a post, and its link with a tag of the share, to the home zone, as a device does that has not received the share.
    private func linkNewPost(toTag name: String, _ all: Sharers) async throws {
        let tags = try await all.cloud.records(ofType: "CD_Tag").filter {
            !$0.isDeleted && $0.fields["CD_name"] == Field(.string(name))
        }
        let tag = try #require(tags.first).recordName
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: all.phone.transport)
        let post = Record(
            recordName: "new", recordType: "CD_Post",
            fields: ["CD_entityName": Field(.string("Post")), "CD_title": Field(.string("New"))])
        let link = Record(
            recordName: "link", recordType: "CDMR",
            fields: [
                "CD_entityNames": Field(.string("Post:Tag")), "CD_recordNames": Field(.string("new:\(tag)")),
                "CD_relationships": Field(.string("tags:posts")),
            ])
        let home = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
        let request = ModifyRecordsRequest(operations: [post, link].map { RecordOperation(.create, $0) }, zoneID: home)
        _ = try await client.modifyRecords(request, idempotencyKey: UUID().uuidString)
    }

    /// A tag of a participant brings no post of the owner to the share.
    @Test func aLinkThatCameBetweenTwoZonesIsThereOnceBothEndsAreInOne() async throws {
        let all = try await Sharers()
        try await all.plan()
        try await all.bo.join(try await all.mia.share("Trip"))
        try await all.sync()
        try all.bo.edit { context in
            let trip = try Self.post("Trip", context), tag = context.insert("Tag", ["name": "sun"])
            context.assign(tag, to: try #require(trip.objectID.persistentStore))
            trip.mutableSetValue(forKey: "tags").add(tag)
        }
        try await all.sync()
        try await linkNewPost(toTag: "sun", all)
        try await all.sync()
        for device in [all.mia, all.phone] { #expect(try device.dump.contains("Post  title New\n")) }
        // The phone moves it, with the link that waits; the other device hears of both.
        try all.phone.edit { context in
            try #require(try context.all("Attachment").first).setValue(try Self.post("New", context), forKey: "post")
        }
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("title New  attachments [\"Attachment\"]  tags [\"sun\"]"))
        try await all.sync()
        for device in [all.mia, all.phone] {
            #expect(try device.dump.contains("title New  attachments [\"Attachment\"]  tags [\"sun\"]"))
        }
    }

    /// The link arrives on devices that know the tag in the share alone.
    @Test func aPostFollowsALinkToATagThatItsOwnerShared() async throws {
        let all = try await Sharers()
        try await all.plan()
        try await all.bo.join(try await all.mia.share("Trip"))
        try await all.sync()
        try await linkNewPost(toTag: "holiday", all)
        try await all.sync()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] {
            #expect(try device.dump.contains("title New  tags [\"holiday\"]"))
            #expect(device.container.syncStatus.pendingCount == 0)
        }
    }

    @Test func objectsRelatedInTheSourceZoneFollowARelocation() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let slow = Holding(deletionsOn: transport)
        let all = try await Sharers(cloud, mia: try Device.sharing("tablet", transport, over: slow))
        try await all.plan()
        all.phone.container.pauseSyncing()
        let share = try await all.mia.share("Trip")
        try await slow.gate.reached()
        // As a device writes that has not heard of the share: there the attachment goes from the trip to the diary.
        func name(_ type: String, _ field: String, _ value: FieldValue) async throws -> String {
            try #require(
                try await cloud.records(ofType: type).first { $0.fields[field] == Field(value) && $0.fields["CD_moveReceipt"] == nil }
            ).recordName
        }
        var edit = Record(recordName: try await name("CD_Attachment", "CD_thumbnail", .bytes([1, 2])), recordType: "CD_Attachment")
        edit.fields["CD_post"] = Field(.string(try await name("CD_Post", "CD_title", .string("Diary"))))
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: all.phone.transport)
        let request = ModifyRecordsRequest(
            operations: [RecordOperation(.forceUpdate, edit)], zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone"))
        _ = try await client.modifyRecords(request, idempotencyKey: UUID().uuidString)
        slow.gate.open()
        try await all.bo.join(share)
        // The device that moved the attachment relocates it, before another device does.
        for device in [all.mia, all.bo] { try await device.sync() }
        #expect(try all.bo.dump.contains("title Diary  attachments [\"Attachment\"]  tags [\"mine\"]"))
        all.phone.container.resumeSyncing()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] {
            #expect(try device.dump.contains("title Diary  attachments [\"Attachment\"]  tags [\"mine\"]"))
        }
    }

    @Test func deletionsBetweenRelocationAndArrivalHold() async throws {
        let all = try await Sharers()
        try await all.plan()
        _ = try await all.mia.share("Trip")
        try await all.sync()
        all.mia.container.pauseSyncing()
        // The diary follows, and does not get there.
        for device in [all.mia, all.phone] {
            try device.edit { try Self.post("Trip", $0).mutableSetValue(forKey: "tags").add(try Self.tag("mine", $0)) }
        }
        try await all.mia.until { $0.pendingCount > 0 }
        try all.mia.edit { $0.delete(try Self.post("Diary", $0)) }
        try await all.phone.sync()
        all.mia.container.resumeSyncing()
        try await all.sync()
        for device in [all.mia, all.phone] { #expect(try !device.dump.contains("Diary")) }
    }

    @Test func fieldsOfANewerVersionSurviveARelocationByAnOlderOne() async throws {
        var newer = Posts.model
        newer.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        let cloud = try InProcessCloud()
        let all = try await Sharers(
            cloud, mia: try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet")), phone: newer)
        try await all.plan()
        all.mia.container.pauseSyncing()
        _ = try await all.mia.share("Trip")
        try all.phone.edit { try Self.post("Trip", $0).setValue("happy", forKey: "mood") }
        try await all.phone.sync()
        all.mia.container.resumeSyncing()
        try await all.sync()
        #expect(try all.mia.dump.contains("title Trip"))
        #expect(try all.phone.dump.contains("mood happy"))
        let posts = try await cloud.records(ofType: "CD_Post").filter { !$0.isDeleted && $0.fields["CD_title"] == Field(.string("Trip")) }
        #expect(posts.map { $0.fields["CD_mood"] } == [Field(.string("happy"))])
    }

    /// The older version has no content of the asset: the server gives it to the record in the zone of the share.
    @Test func anAssetOfANewerVersionSurvivesARelocationByAnOlderOne() async throws {
        var newer = Posts.model
        newer.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        let mood = String(repeating: "happy", count: 250_000)
        let cloud = try InProcessCloud()
        let all = try await Sharers(
            cloud, mia: try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet")), phone: newer)
        try await all.plan()
        try all.phone.edit { try Self.post("Trip", $0).setValue(mood, forKey: "mood") }
        try await all.phone.sync()
        try await all.mia.sync()
        _ = try await all.mia.share("Trip")
        try await all.sync()
        let posts = try await cloud.records(ofType: "CD_Post").filter { !$0.isDeleted && $0.fields["CD_title"] == Field(.string("Trip")) }
        #expect(posts.map { $0.fields.keys.filter { $0.hasSuffix("_ckAsset") } } == [["CD_mood_ckAsset"]])
        let read = try all.phone.read { try Self.post("Trip", $0).value(forKey: "mood") as? String }
        #expect(read?.utf8.count == mood.utf8.count)
    }
}
