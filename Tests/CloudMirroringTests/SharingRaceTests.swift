// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore
import Synchronization
import TestBasics
import Testing

/// What happens at the same time as something is shared. Each was found by a simulation.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharingRaceTests {
    @Test func rejectedChangesAreSentOncePermitted() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readOnly)
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        try all.bo.set("Trip", "content", "mine now")
        try await all.bo.until { status in if case .error = status.activity { true } else { false } }
        let current = try #require(try all.mia.container.fetchShares(in: all.mia.own).first)
        current.publicPermission = .readWrite
        try await all.mia.container.persistUpdatedShare(current, in: all.mia.own)
        // No device requests a sync: the share starts the import.
        try await all.bo.until { $0.activity == .idle && $0.pendingCount == 0 }
        try await all.mia.sync()
        #expect(try all.mia.dump.contains("content mine now"))
    }

    @Test func aReadOnlyParticipantWithARejectedAssetContinuesToImport() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readOnly)
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        try all.bo.set("Trip", "content", String(repeating: "long ", count: 200_000))
        try await all.bo.until { status in if case .error(let reason) = status.activity { reason.contains("may only read") } else { false }
        }
        try all.mia.edit {
            try #require(try $0.post(titled: "Trip")).setValue(Date(timeIntervalSinceReferenceDate: 7), forKey: "timestamp")
        }
        try await all.mia.sync()
        try await all.bo.sync()
        #expect(try all.bo.dump.contains("timestamp @7.0"))
    }

    @Test func aLinkUnknownToTheOwnerIsRelocated() async throws {
        let all = try await Sharers()
        try await all.plan()
        try all.mia.edit { context in
            let trip = try #require(try context.post(titled: "Trip"))
            let beach = context.insert("Tag", ["name": "beach"])
            trip.mutableSetValue(forKey: "tags").add(beach)
            let other = context.insert("Post", ["title": "Other"])
            other.setValue(Set(try context.all("Tag").filter { $0.value(forKey: "name") as? String == "holiday" }), forKey: "tags")
        }
        try await all.sync()
        all.mia.container.pauseSyncing()
        try all.phone.edit { context in
            let beach = try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == "beach" })
            try #require(try context.post(titled: "Other")).mutableSetValue(forKey: "tags").add(beach)
        }
        try await all.phone.sync()
        let share = try await all.mia.share("Trip")
        all.mia.container.resumeSyncing()
        try await all.bo.join(share)
        try await all.sync()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] { #expect(try device.dump.contains("title Other  tags [\"beach\", \"holiday\"]")) }
    }

    @Test func deletionsBeforeRelocationHold() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.mia.sync()
        try await all.bo.join(share)
        // The phone has not received the share, and connects it with an object that is deleted concurrently.
        all.phone.container.pauseSyncing()
        try all.mia.edit { $0.delete(try #require(try $0.post(titled: "Diary"))) }
        try await all.mia.sync()
        try all.phone.edit { context in
            let trip = try #require(try context.post(titled: "Trip"))
            let diary = try #require(try context.post(titled: "Diary"))
            trip.mutableSetValue(forKey: "tags").union(diary.value(forKey: "tags") as? Set<NSManagedObject> ?? [])
        }
        all.phone.container.resumeSyncing()
        try await all.sync()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] {
            #expect(try !device.dump.contains("Diary"))
            #expect(try device.dump.contains("tags [\"holiday\", \"mine\"]"))
        }
    }

    @Test func deletionsHoldAgainstEditsInFlightToTheSourceZone() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let all = try await Sharers(cloud, mia: try Device.sharing("tablet", transport, over: faults))
        try await all.plan()
        // It did not arrive, which the tablet cannot know: it will be sent again as it is.
        faults.plan("records/modify", .fail(CKError(.networkFailure, "the request was lost")))
        try all.mia.set("Diary", "content", "late words")
        try await all.mia.until { $0.activity == .offline }
        transport.goOffline()
        try await all.phone.share("Diary")
        try await all.phone.sync()
        // Its mirror takes note of the deletion before it hears that the diary is gone from there.
        try all.mia.edit { $0.delete(try #require(try $0.post(titled: "Diary"))) }
        try await all.mia.until { $0.pendingCount > 1 }
        transport.goOnline()
        try await all.sync()
        for device in [all.mia, all.phone] {
            #expect(try !device.dump.contains("Diary"))
            #expect(try device.dump.contains("Trip"))
        }
    }

    /// Until the source record is deleted, a device that fetches the home zone from its beginning would show the object again.
    @Test func theSourceRecordOfADeletedObjectIsDeletedFirst() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let all = try await Sharers(cloud, mia: try Device.sharing("tablet", transport, over: faults))
        try await all.plan()
        let name = try #require(all.mia.container.recordID(for: try all.mia.postID("Trip"))?.recordName)
        let mia = all.mia, isDeleted = Mutex(false)
        // The user deletes the trip before the device receives the response to its relocation.
        let deletion = Faults.Fault.answer { body in
            let isRelocation = body.firstRange(of: Array(name.utf8)) != nil
            if isRelocation,
                !isDeleted.withLock({ wasDeleted in
                    defer { wasDeleted = true }; return wasDeleted
                })
            {
                try mia.edit { $0.delete(try #require(try $0.post(titled: "Trip"))) }
            }
            return body
        }
        faults.plan("records/modify", deletion, deletion, deletion)
        let share = try await all.mia.share("Trip")
        try await all.sync()
        #expect(isDeleted.withLock { $0 })
        let deletions = faults.bodies.compactMap { try? ModifyRecordsRequest(json: $0) }.filter { request in
            request.operations.contains { $0.record.recordName == name && [.delete, .forceDelete].contains($0.kind) }
        }
        #expect(deletions.map(\.zoneID.zoneName) == ["com.apple.coredata.cloudkit.zone", share.recordID.zoneID.zoneName])
        for device in [all.mia, all.phone] { #expect(try !device.dump.contains("Trip")) }
    }

    /// The device that shared it may never delete the source record, from which the object would return.
    @Test(arguments: [1, 200_000]) func deletionsBeforeTheShareArrivesApplyToBothZones(words: Int) async throws {
        let (all, slow, _) = try await Self.walkInBothPlaces()
        let content = String(repeating: "City", count: words)
        try all.bo.set("Walk", "content", content)
        try await all.bo.sync()
        try all.phone.edit { $0.delete(try #require(try $0.post(titled: "Walk"))) }
        all.phone.container.resumeSyncing()
        try await all.phone.sync()
        try await all.phone.sync()
        #expect(try await all.cloud.records(ofType: "CD_Post").filter { !$0.isDeleted }.isEmpty)
        // The guest's text is in the log, and the text that the phone knew is not.
        #expect(try all.phone.container.conflicts().map { $0.losingValue as? String } == [content])
        slow.open()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] { #expect(try !device.dump.contains("Walk")) }
    }

    @Test func forwardedEditsDoNotWinAgainstTheDestinationZone() async throws {
        let (all, slow, client) = try await Self.walkInBothPlaces()
        try await Self.writeToOldPlace("Mountains", all, client)
        try all.bo.set("Walk", "content", "City")
        try await all.bo.sync()
        slow.open()
        all.phone.container.resumeSyncing()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] { #expect(try device.dump.contains("Post  content City  title Walk")) }
        #expect(try all.mia.container.conflicts().map { $0.losingValue as? String } == ["Mountains"])
    }

    @Test func forwardedEditsAreVisibleBesideEditsInTheDestinationZone() async throws {
        let (all, slow, client) = try await Self.walkInBothPlaces()
        try all.bo.set("Walk", "title", "Journey")
        try await all.bo.sync()
        try await Self.writeToOldPlace("Mountains", all, client)
        all.phone.container.resumeSyncing()
        // The phone reads the source zone first, then the destination: it shows the values of both.
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Post  content Mountains  title Journey"))
        slow.open()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] { #expect(try device.dump.contains("Post  content Mountains  title Journey")) }
    }

    @Test func forwardedEditsStayVisibleDuringEditsInTheDestinationZone() async throws {
        let (all, slow, client) = try await Self.walkInBothPlaces()
        try await Self.writeToOldPlace("Mountains", all, client)
        all.phone.container.resumeSyncing()
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Post  content Mountains  title Walk"))
        try all.bo.set("Walk", "title", "Journey")
        try await all.bo.sync()
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Post  content Mountains  title Journey"))
        // Later edits win, in any zone.
        try all.bo.set("Journey", "content", "City")
        try await all.bo.sync()
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Post  content City  title Journey"))
        slow.open()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] { #expect(try device.dump.contains("Post  content City  title Journey")) }
        #expect(try all.mia.container.conflicts().map { $0.losingValue as? String } == ["Mountains"])
    }

    @Test func forwardedEditsStayVisibleAfterAFullFetch() async throws {
        let (all, slow, client) = try await Self.walkInBothPlaces()
        try await Self.writeToOldPlace("Mountains", all, client)
        all.phone.container.resumeSyncing()
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Post  content Mountains  title Walk"))
        all.phone.container.pauseSyncing()
        try all.phone.own.storage.write { writer in
            try writer.execute("UPDATE TARN_ZONE SET token = NULL, generation = generation + 1, isFullFetch = 1, needsFetch = 1")
            try writer.execute("UPDATE TARN_STATE SET value = NULL WHERE key = 'databaseToken'")
        }
        all.phone.container.resumeSyncing()
        try await all.phone.sync()
        #expect(try all.phone.dump.contains("Post  content Mountains  title Walk"))
        slow.open()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] { #expect(try device.dump.contains("Post  content Mountains  title Walk")) }
    }

    @Test func referencesFromTheSourceZonePointToTheRelocatedObject() async throws {
        let (all, slow, client) = try await Self.walkInBothPlaces { context in
            context.insert("Attachment", ["thumbnail": Data([1]), "post": try #require(try context.post(titled: "Walk"))])
            context.insert("Post", ["title": "City"])
        }
        let records = try await all.cloud.records(ofType: "CD_Attachment") + all.cloud.records(ofType: "CD_Post")
        let city = try #require(records.first { $0.fields["CD_title"] == Field(.string("City")) })
        let attachment = try #require(records.first { $0.recordType == "CD_Attachment" && $0.fields["CD_moveReceipt"] == nil })
        try await Self.write(["CD_post": Field(.string(city.recordName))], to: attachment, all, client)
        // The phone lets the city follow its attachment, and the tablet hears of that before it hears why.
        all.phone.container.resumeSyncing()
        try await all.phone.sync()
        try await all.phone.sync()
        slow.open()
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] {
            try device.read { context in
                let city = try #require(try context.post(titled: "City"))
                #expect((city.value(forKey: "attachments") as? Set<NSManagedObject>)?.count == 1)
            }
        }
    }

    /// The walk is in the share, which its guest knows of and the owner's phone does not, and has not been deleted in the home zone.
    private static func walkInBothPlaces(
        _ more: @Sendable (NSManagedObjectContext) throws -> Void = { _ in }
    ) async throws -> (all: Sharers, gate: Gate, client: CloudDatabaseClient) {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let slow = Holding(deletionsOn: transport)
        let all = try await Sharers(cloud, mia: try Device.sharing("tablet", transport, over: slow))
        // Without connections: no deletion arrives together with the edit of the source record.
        try all.mia.edit { context in
            context.insert("Post", ["title": "Walk", "content": "Sea"])
            try more(context)
        }
        try await all.sync()
        all.phone.container.pauseSyncing()
        let share = try await all.mia.share("Walk")
        try await slow.gate.reached()
        try await all.bo.join(share)
        try await all.bo.sync()
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: all.phone.transport)
        return (all, slow.gate, client)
    }

    /// As a device does that has not heard of the share.
    private static func writeToOldPlace(_ content: String, _ all: Sharers, _ client: CloudDatabaseClient) async throws {
        let old = try await all.cloud.records(ofType: "CD_Post").filter {
            $0.fields["CD_title"] == Field(.string("Walk")) && $0.fields["CD_moveReceipt"] == nil
        }
        try await write(["CD_content": Field(.string(content))], to: try #require(old.first), all, client)
    }

    private static func write(_ fields: [String: Field], to old: Record, _ all: Sharers, _ client: CloudDatabaseClient) async throws {
        let edit = Record(recordName: old.recordName, recordType: old.recordType, fields: fields)
        all.cloud.clock.advance(by: .seconds(1))
        let home = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
        let request = ModifyRecordsRequest(operations: [RecordOperation(.forceUpdate, edit)], zoneID: home)
        _ = try await client.modifyRecords(request, idempotencyKey: UUID().uuidString)
    }
}
