// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// The effect of a share's public permission on the devices of participants that joined by its link.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharePermissionTests {
    /// The owner takes write access back and gives it again. Edits of every kind that the server rejected in between are sent
    /// without another call.
    @Test func rejectedEditsAreSentOnceTheLinkAllowsWriting() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readWrite)
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        let trip = try all.bo.postID("Trip")
        try all.bo.set("Trip", "content", "River")
        try await all.sync()
        #expect(try all.mia.dump.contains("content River"))
        #expect(all.bo.container.canUpdateRecord(forManagedObjectWith: trip))

        try await allow(.readOnly, all)
        try await all.bo.sync()
        #expect(!all.bo.container.canUpdateRecord(forManagedObjectWith: trip))
        #expect(try all.bo.container.fetchShares(in: all.bo.others).first?.currentUserParticipant?.permission == .readOnly)
        let others = try all.bo.others
        try all.bo.edit { context in
            let trip = try #require(try context.post(titled: "Trip"))
            trip.setValue("Lake", forKey: "content")
            let tag = context.insert("Tag", ["name": "summer"])
            context.assign(tag, to: others)
            trip.mutableSetValue(forKey: "tags").add(tag)
            try context.all("Tag").filter { $0.value(forKey: "name") as? String == "holiday" }.forEach(context.delete)
            try context.all("ImageData").forEach { $0.setValue(Data(repeating: 4, count: 700_000), forKey: "data") }
        }
        try await all.bo.until { status in if case .error(let reason) = status.activity { reason.contains("may only read") } else { false }
        }
        try await all.mia.sync()
        #expect(try all.mia.dump.contains("content River"))
        #expect(try !all.mia.dump.contains("summer"))
        #expect(try all.mia.dump.contains("name holiday"))
        // A relaunch does not forget what waits.
        try await all.bo.kill()
        let bo = try Device.sharing("bo's", all.bo.transport, file: all.bo.file)
        try await bo.until { status in if case .error(let reason) = status.activity { reason.contains("may only read") } else { false } }

        try await allow(.readWrite, all)
        try await bo.until { $0.activity == .idle && $0.pendingCount == 0 }
        try await all.mia.sync()
        try await all.phone.sync()
        // The rejected deletion was reverted immediately; it isn't sent later.
        for part in ["content Lake", "name summer", "tags [\"holiday\", \"summer\"]"] {
            #expect(try all.mia.dump.contains(part), "\(part) is missing")
        }
        #expect(try all.mia.dump == all.phone.dump)
        #expect(try all.mia.dump.contains("name holiday"))
    }

    /// The owner closed the link: the participant has no access, and is still a member on the server.
    @Test func aParticipantWithoutAccessLeavesTheShare() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readWrite)
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        let zone = try #require(try all.bo.container.fetchShares(in: all.bo.others).first).recordID.zoneID
        try await allow(.none, all)
        try await all.bo.until { [bo = all.bo] _ in (try? bo.dump.contains("Trip")) == false }
        #expect(try all.bo.container.fetchShares(in: all.bo.others).isEmpty)

        try await all.bo.container.purgeObjectsAndRecordsInZone(with: zone, in: try all.bo.others)
        try await all.mia.sync()
        #expect(try #require(try all.mia.container.fetchShares(in: all.mia.own).first).participants.map(\.role) == [.owner])
        #expect(try all.mia.dump.contains("Trip"))
        // For a user that is not listed there is nothing to leave.
        try await all.bo.container.purgeObjectsAndRecordsInZone(with: zone, in: try all.bo.others)
    }

    /// The owner changes only the permission of the link.
    private func allow(_ permission: CKShare.ParticipantPermission, _ all: Sharers) async throws {
        let current = try #require(try all.mia.container.fetchShares(in: all.mia.own).first)
        current.publicPermission = permission
        let saved = try await all.mia.container.persistUpdatedShare(current, in: all.mia.own)
        #expect(saved.publicPermission == permission)
        // A share whose link is closed lists nobody who joined by it.
        let joined = saved.participants.filter { $0.role == .publicUser }.map(\.permission)
        #expect(joined == (permission == .none ? [] : [permission]))
    }
}
