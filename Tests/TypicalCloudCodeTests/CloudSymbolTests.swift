// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Testing

/// Every documented type of CloudKit, and the names that types had before they were nested.
@Suite struct CloudSymbolTests {
    @Test func everyTypeHasItsName() {
        let types: [Any.Type] = [
            CKAcceptSharesOperation.self, CKAsset.self, CKContainer.self, CKDatabase.self, CKDatabaseNotification.self,
            CKDatabaseOperation.self,
            CKDatabaseSubscription.self, CKDiscoverAllUserIdentitiesOperation.self, CKDiscoverUserIdentitiesOperation.self, CKError.self,
            CKFetchDatabaseChangesOperation.self, CKFetchNotificationChangesOperation.self, CKFetchRecordChangesOperation.self,
            CKFetchRecordZoneChangesOperation.self, CKFetchRecordZonesOperation.self, CKFetchRecordsOperation.self,
            CKFetchShareMetadataOperation.self, CKFetchShareParticipantsOperation.self, CKFetchSubscriptionsOperation.self,
            CKLocationSortDescriptor.self, CKMarkNotificationsReadOperation.self, CKModifyBadgeOperation.self,
            CKModifyRecordZonesOperation.self, CKModifyRecordsOperation.self, CKModifySubscriptionsOperation.self, CKNotification.self,
            CKNotification.ID.self, CKOperation.self, CKOperation.Configuration.self, CKOperationGroup.self, CKQuery.self,
            CKQueryNotification.self, CKQueryOperation.self, CKQueryOperation.Cursor.self, CKQuerySubscription.self, CKRecord.self,
            CKRecord.ID.self, CKRecord.Reference.self, CKRecordZone.self, CKRecordZone.ID.self, CKRecordZoneNotification.self,
            CKRecordZoneSubscription.self, CKServerChangeToken.self, CKShare.self, CKShare.Metadata.self, CKShare.Participant.self,
            CKSubscription.self, CKSubscription.NotificationInfo.self, CKSyncEngine.self, CKUserIdentity.self,
            CKUserIdentity.LookupInfo.self,
            CKAccountStatus.self, CKDatabase.Scope.self,
        ]
        #expect(Set(types.map { ObjectIdentifier($0) }).count == types.count)
    }

    @Test func olderNamesMeanTheSameTypes() {
        #expect(CKContainer_Application_Permissions.self == CKContainer.Application.Permissions.self)
        #expect(CKContainer_Application_PermissionStatus.self == CKContainer.ApplicationPermissionStatus.self)
        let block: CKContainer_Application_PermissionBlock = { status, _ in _ = status }
        block(.granted, nil)
        #expect(CKRecord_Reference_Action.self == CKRecord.ReferenceAction.self)
        #expect(CKReferenceAction.deleteSelf.rawValue == 1)
        #expect(CKQueryNotificationReason.recordDeleted.rawValue == 3)
        #expect(CKQuerySubscriptionOptions.firesOnce.rawValue == 8)
        #expect(CKFetchRecordZoneChangesOptions.self == CKFetchRecordZoneChangesOperation.ZoneConfiguration.self)
        #expect(CKDatabaseScope.shared.rawValue == 3)
        #expect(CKSubscriptionType.database.rawValue == 3)
        #expect(CKNotificationType.database.rawValue == 4)
        #expect(CKRecordZoneCapabilities.sharing.rawValue == 4)
        #expect(CKRecordSavePolicy.allKeys.rawValue == 2)
        #expect(CKShareParticipantRole.owner.rawValue == 1)
        #expect(CKShareParticipantPermission.readWrite.rawValue == 3)
        #expect(CKShareParticipantAcceptanceStatus.removed.rawValue == 3)
        #expect(CKOperationGroupTransferSize.gigabytes.rawValue == 5)
    }
}
