// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Testing

@Suite struct ConstantTests {
    @Test func namesAreThoseOfTheFramework() {
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone")
        #expect(CKRecordNameZoneWideShare == "cloudkit.zoneshare")
        #expect(CKRecord.SystemType.share == "cloudkit.share")
        #expect(CKRecord.SystemType.userRecord == "Users")
        #expect(CKErrorDomain == "CKErrorDomain")
        #expect(CKError.errorDomain == CKErrorDomain)
        #expect(CKQueryOperation.maximumResults == 0)
    }

    @Test func keysOfErrorsAreThoseOfTheFramework() {
        #expect(CKPartialErrorsByItemIDKey == "CKPartialErrors")
        #expect(CKErrorRetryAfterKey == "CKRetryAfter")
        #expect(CKRecordChangedErrorServerRecordKey == "ServerRecord")
        #expect(CKRecordChangedErrorClientRecordKey == "ClientRecord")
        #expect(CKRecordChangedErrorAncestorRecordKey == "AncestorRecord")
    }

    @Test(arguments: [
        (CKDatabase.Scope.public, 1), (.private, 2), (.shared, 3),
    ])
    func scopesHaveTheirNumbers(_ scope: CKDatabase.Scope, _ number: Int) { #expect(scope.rawValue == number) }

    @Test(arguments: [
        (CKAccountStatus.couldNotDetermine, 0), (.available, 1), (.restricted, 2), (.noAccount, 3),
        (.temporarilyUnavailable, 4),
    ])
    func accountStatusesHaveTheirNumbers(_ status: CKAccountStatus, _ number: Int) { #expect(status.rawValue == number) }

    @Test(arguments: [
        (CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, 0), (.changedKeys, 1), (.allKeys, 2),
    ])
    func savePoliciesHaveTheirNumbers(_ policy: CKModifyRecordsOperation.RecordSavePolicy, _ number: Int) {
        #expect(policy.rawValue == number)
    }

    @Test func optionsHaveTheirBits() {
        #expect(CKRecordZone.Capabilities.fetchChanges.rawValue == 1)
        #expect(CKRecordZone.Capabilities.atomic.rawValue == 2)
        #expect(CKRecordZone.Capabilities.sharing.rawValue == 4)
        #expect(CKRecordZone.Capabilities.zoneWideSharing.rawValue == 8)
        #expect(CKQuerySubscription.Options.firesOnRecordCreation.rawValue == 1)
        #expect(CKQuerySubscription.Options.firesOnRecordUpdate.rawValue == 2)
        #expect(CKQuerySubscription.Options.firesOnRecordDeletion.rawValue == 4)
        #expect(CKQuerySubscription.Options.firesOnce.rawValue == 8)
        #expect(CKRecord.ReferenceAction.none.rawValue == 0)
        #expect(CKRecord.ReferenceAction.deleteSelf.rawValue == 1)
        #expect(CKSubscription.SubscriptionType.query.rawValue == 1)
        #expect(CKSubscription.SubscriptionType.recordZone.rawValue == 2)
        #expect(CKSubscription.SubscriptionType.database.rawValue == 3)
        #expect(CKNotification.NotificationType.query.rawValue == 1)
        #expect(CKNotification.NotificationType.database.rawValue == 4)
        #expect(CKOperationGroup.TransferSize.hundredsOfGigabytes.rawValue == 7)
    }

    @Test(arguments: [
        (CKError.Code.internalError, 1), (.partialFailure, 2), (.networkUnavailable, 3), (.networkFailure, 4),
        (.badContainer, 5), (.serviceUnavailable, 6), (.requestRateLimited, 7), (.missingEntitlement, 8),
        (.notAuthenticated, 9), (.permissionFailure, 10), (.unknownItem, 11), (.invalidArguments, 12),
        (.serverRecordChanged, 14), (.serverRejectedRequest, 15), (.assetFileNotFound, 16), (.assetFileModified, 17),
        (.incompatibleVersion, 18), (.constraintViolation, 19), (.operationCancelled, 20), (.changeTokenExpired, 21),
        (.batchRequestFailed, 22), (.zoneBusy, 23), (.badDatabase, 24), (.quotaExceeded, 25), (.zoneNotFound, 26),
        (.limitExceeded, 27), (.userDeletedZone, 28), (.tooManyParticipants, 29), (.alreadyShared, 30),
        (.referenceViolation, 31), (.managedAccountRestricted, 32), (.participantMayNeedVerification, 33),
        (.serverResponseLost, 34), (.assetNotAvailable, 35), (.accountTemporarilyUnavailable, 36),
    ])
    func errorCodesHaveTheirNumbers(_ code: CKError.Code, _ number: Int) {
        #expect(code.rawValue == number)
        let error = CKError(code)
        #expect(error.code == code)
        #expect(error.errorCode == number)
        #expect((error as NSError).domain == CKErrorDomain)
        #expect((error as NSError).code == number)
        #expect(!error.localizedDescription.isEmpty)
    }

    @Test func errorsHaveTheirUserInfo() {
        let id = CKRecord.ID(recordName: "a")
        let part = CKError(.unknownItem)
        let error = CKError(
            .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [id: part] as [AnyHashable: any Error], CKErrorRetryAfterKey: 3.5])
        #expect(error.partialErrorsByItemID?.count == 1)
        #expect((error.partialErrorsByItemID?[id] as? CKError)?.code == .unknownItem)
        #expect(error.retryAfterSeconds == 3.5)
        #expect(error.serverRecord == nil)
        let server = CKRecord(recordType: "A")
        let conflict = CKError(.serverRecordChanged, userInfo: [CKRecordChangedErrorServerRecordKey: server])
        #expect(conflict.serverRecord === server)
        #expect(conflict.clientRecord == nil)
        #expect(conflict.ancestorRecord == nil)
    }
}
