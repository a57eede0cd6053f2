// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import Testing

/// What happens at the same time as something is shared. Each was found by a simulation.
@Suite(.timeLimit(.minutes(10))) struct SharingRaceTests {
    @Test func whatWasRefusedIsSentByItselfOnceItIsAllowed() async throws {
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
        for participant in current.participants where participant.role == .publicUser { participant.permission = .readWrite }
        try await all.mia.container.persistUpdatedShare(current, in: all.mia.own)
        // Nobody asks for a sync: the share tells of it.
        try await all.bo.until { $0.activity == .idle && $0.pendingCount == 0 }
        try await all.mia.sync()
        #expect(try all.mia.dump.contains("content mine now"))
        try await all.discard()
    }

    @Test func whoMayOnlyReadAndTriesToSendAFileGoesOnReading() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readOnly)
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        try all.bo.set("Trip", "content", String(repeating: "long ", count: 200_000))
        try await all.bo.until { status in if case .error(let reason) = status.activity { reason.contains("may only read") } else { false } }
        try all.mia.edit { try #require(try $0.post(titled: "Trip")).setValue(Date(timeIntervalSinceReferenceDate: 7), forKey: "timestamp") }
        try await all.mia.sync()
        try await all.bo.sync()
        #expect(try all.bo.dump.contains("timestamp @7.0"))
        try await all.discard()
    }

    @Test func aLinkThatWhoSharedHadNotHeardOfGoesAlong() async throws {
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
        try await all.discard()
    }

    @Test func whatIsDeletedBeforeItCanFollowIntoAShareStaysDeleted() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.mia.sync()
        try await all.bo.join(share)
        // The phone has not heard of the share, and connects with it what is deleted meanwhile.
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
        try await all.discard()
    }
}
