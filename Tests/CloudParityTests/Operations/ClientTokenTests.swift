// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

@Suite struct ClientTokenTests {
    private func save(_ record: CKRecord, _ token: Data?, _ container: CKContainer) async throws {
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.clientChangeTokenData = token
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            container.privateCloudDatabase.add(operation)
        }
    }

    private func token(_ zoneID: CKRecordZone.ID, _ container: CKContainer) async throws -> Data? {
        let fetched = ReceivedValues<Data?>()
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
        operation.recordZoneFetchResultBlock = { _, result in
            if case .success(let end) = result { fetched.add(end.clientChangeTokenData) }
        }
        operation.recordZoneFetchCompletionBlock = { _, _, data, _, _ in fetched.add(data) }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
            container.privateCloudDatabase.add(operation)
        }
        #expect(fetched.all.count == 2)
        #expect(fetched.all.first == fetched.all.last)
        return fetched.all.first ?? nil
    }

    @Test func theClientTokenOfADeviceIsReturned() async throws {
        let (phone, tablet) = try await twoDevices()
        let zone = try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
        let sage = plant("sage", in: zone.zoneID)
        #expect(try await token(zone.zoneID, phone) == nil)
        try await save(sage, Data([1, 2]), phone)
        #expect(try await token(zone.zoneID, phone) == Data([1, 2]))
        #expect(try await token(zone.zoneID, tablet) == nil)
        sage["count"] = 2
        try await save(sage, nil, phone)
        #expect(try await token(zone.zoneID, phone) == Data([1, 2]))
        sage["count"] = 3
        try await save(sage, Data([3]), phone)
        #expect(try await token(zone.zoneID, phone) == Data([3]))

        let stale = plant("sage", in: zone.zoneID)
        let conflict = await failure { try await save(stale, Data([9]), phone) }
        #expect(conflict?.code == .partialFailure)
        #expect(try await token(zone.zoneID, phone) == Data([3]))
        sage["count"] = 4
        let large = await failure { try await save(sage, Data(count: 1025), phone) }
        #expect(large?.code == .invalidArguments)
    }

    @Test func theOlderOperationReturnsTheClientToken() async throws {
        let (phone, _) = try await twoDevices()
        let zone = try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
        try await save(plant("sage", in: zone.zoneID), Data([7]), phone)
        let operation = CKFetchRecordChangesOperation(recordZoneID: zone.zoneID, previousServerChangeToken: nil)
        let callbacks = await withCheckedContinuation { (continuation: CheckedContinuation<Data?, Never>) in
            operation.fetchRecordChangesCompletionBlock = { _, data, _ in continuation.resume(returning: data) }
            phone.privateCloudDatabase.add(operation)
        }
        #expect(callbacks == Data([7]))
    }
}

@Suite struct DeprecatedOperationTests {
    /// Operations on notifications that a server does not store fail with an error that names it.
    @available(*, deprecated)
    @Test func notificationsAndBadgesAreNotSupported() async throws {
        let container = try await testContainer()
        let log = CallbackLog()
        let fetch = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
        fetch.notificationChangedBlock = { _ in log.add("notification") }
        fetch.fetchNotificationChangesCompletionBlock = { token, error in
            log.add("fetch \(token == nil) \((error as? CKError)?.code == .serverRejectedRequest)")
        }
        let read = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: [])
        read.markNotificationsReadCompletionBlock = { ids, error in
            log.add("read \(ids == nil) \((error as? CKError)?.code == .serverRejectedRequest)")
        }
        let badge = CKModifyBadgeOperation(badgeValue: 3)
        badge.modifyBadgeCompletionBlock = { error in log.add("badge \((error as? CKError)?.code == .serverRejectedRequest)") }
        #expect(badge.badgeValue == 3)
        read.addDependency(fetch)
        badge.addDependency(read)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            badge.completionBlock = { continuation.resume() }
            for operation in [fetch, read, badge] as [CKOperation] { container.add(operation) }
        }
        #expect(log.all == ["fetch true true", "read true true", "badge true"])
    }

    @Test func sharingOptionsAreKept() throws {
        let options = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .specifiedRecipientsOnly)
        let stored = try #require(try archived(options))
        #expect(stored.allowedParticipantPermissionOptions == .readOnly)
        #expect(stored.allowedParticipantAccessOptions == .specifiedRecipientsOnly)
        let access: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
        let permission: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
        #expect(access == .any)
        #expect(permission == .any)
        #expect(CKAllowedSharingOptions.standard.allowedParticipantPermissionOptions.contains(.readWrite))
        #expect(CKAllowedSharingOptions.standard.allowedParticipantAccessOptions == .any)
    }
}
