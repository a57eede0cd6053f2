// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Testing

extension NSPersistentCloudKitContainer {
    /// Shares objects with one user for editing. Returns the link to send.
    ///
    /// - Parameter store: The store of the private database.
    @MainActor func invite(_ emailAddress: String, to objects: [NSManagedObject], in store: NSPersistentStore) async throws -> URL? {
        let user = CKUserIdentity.LookupInfo(emailAddress: emailAddress)
        let participants = try await fetchParticipants(matching: [user], into: store)
        let (_, share, _) = try await share(objects, to: nil)
        for participant in participants {
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        return try await persistUpdatedShare(share, in: store).url
    }

    /// Leaves the share of an object of another user: its objects are deleted on this user's devices only.
    ///
    /// - Parameter store: The store of the shared database.
    func leaveShare(of object: NSManagedObjectID, in store: NSPersistentStore) async throws {
        guard let share = try fetchShares(matching: [object])[object] else { return }
        _ = try await purgeObjectsAndRecordsInZone(with: share.recordID.zoneID, in: store)
    }
}

@MainActor @Suite struct SharingGuideTests {
    @Test func anInvitedUserEditsAndLeaves() async throws {
        let cloud = try TestCloud()
        let mia = try makeContainer(on: try await cloud.device("phone", account: "mia"), scopes: [.private, .shared])
        let bensDevice = try await cloud.device("tablet", account: "ben")
        let ben = try makeContainer(on: bensDevice, scopes: [.private, .shared])
        try await mia.write("Milk")
        try await mia.sync(timeout: .seconds(600))

        let notes = try await mia.notes().map { mia.viewContext.object(with: $0) }
        let address = try await mia.invite(
            TestCloud.emailAddress(of: "ben"), to: notes, in: mia.persistentStoreCoordinator.persistentStores[0])
        // Until then the objects are not in the share.
        try await mia.sync(timeout: .seconds(600))
        let invitation = try await bensDevice.container.shareMetadata(for: try #require(address))
        let sharedStore = ben.persistentStoreCoordinator.persistentStores[1]
        _ = try await ben.acceptShareInvitations(from: [invitation], into: sharedStore)
        try await ben.sync(timeout: .seconds(600))
        #expect(try await ben.texts() == ["Milk"])

        try await ben.write("Bread")
        try await ben.sync(timeout: .seconds(600))
        try await mia.sync(timeout: .seconds(600))
        #expect(try await mia.texts() == ["Bread"])

        try await ben.leaveShare(of: try #require(try await ben.notes().first), in: sharedStore)
        #expect(try await ben.texts() == [])
        try await mia.sync(timeout: .seconds(600))
        #expect(try await mia.texts() == ["Bread"])
    }
}
