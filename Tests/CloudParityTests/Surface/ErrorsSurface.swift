// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Errors.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct ErrorsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("CKError.Code.internalError", CKError.Code.internalError, 1)
        expectDocumented("CKError.Code.partialFailure", CKError.Code.partialFailure, 2)
        expectDocumented("CKError.Code.networkUnavailable", CKError.Code.networkUnavailable, 3)
        expectDocumented("CKError.Code.networkFailure", CKError.Code.networkFailure, 4)
        expectDocumented("CKError.Code.badContainer", CKError.Code.badContainer, 5)
        expectDocumented("CKError.Code.serviceUnavailable", CKError.Code.serviceUnavailable, 6)
        expectDocumented("CKError.Code.requestRateLimited", CKError.Code.requestRateLimited, 7)
        expectDocumented("CKError.Code.missingEntitlement", CKError.Code.missingEntitlement, 8)
        expectDocumented("CKError.Code.notAuthenticated", CKError.Code.notAuthenticated, 9)
        expectDocumented("CKError.Code.permissionFailure", CKError.Code.permissionFailure, 10)
        expectDocumented("CKError.Code.unknownItem", CKError.Code.unknownItem, 11)
        expectDocumented("CKError.Code.invalidArguments", CKError.Code.invalidArguments, 12)
        expectDocumented("CKError.Code.serverRecordChanged", CKError.Code.serverRecordChanged, 14)
        expectDocumented("CKError.Code.serverRejectedRequest", CKError.Code.serverRejectedRequest, 15)
        expectDocumented("CKError.Code.assetFileNotFound", CKError.Code.assetFileNotFound, 16)
        expectDocumented("CKError.Code.assetFileModified", CKError.Code.assetFileModified, 17)
        expectDocumented("CKError.Code.incompatibleVersion", CKError.Code.incompatibleVersion, 18)
        expectDocumented("CKError.Code.constraintViolation", CKError.Code.constraintViolation, 19)
        expectDocumented("CKError.Code.operationCancelled", CKError.Code.operationCancelled, 20)
        expectDocumented("CKError.Code.changeTokenExpired", CKError.Code.changeTokenExpired, 21)
        expectDocumented("CKError.Code.batchRequestFailed", CKError.Code.batchRequestFailed, 22)
        expectDocumented("CKError.Code.zoneBusy", CKError.Code.zoneBusy, 23)
        expectDocumented("CKError.Code.badDatabase", CKError.Code.badDatabase, 24)
        expectDocumented("CKError.Code.quotaExceeded", CKError.Code.quotaExceeded, 25)
        expectDocumented("CKError.Code.zoneNotFound", CKError.Code.zoneNotFound, 26)
        expectDocumented("CKError.Code.limitExceeded", CKError.Code.limitExceeded, 27)
        expectDocumented("CKError.Code.userDeletedZone", CKError.Code.userDeletedZone, 28)
        expectDocumented("CKError.Code.tooManyParticipants", CKError.Code.tooManyParticipants, 29)
        expectDocumented("CKError.Code.alreadyShared", CKError.Code.alreadyShared, 30)
        expectDocumented("CKError.Code.referenceViolation", CKError.Code.referenceViolation, 31)
        expectDocumented("CKError.Code.managedAccountRestricted", CKError.Code.managedAccountRestricted, 32)
        expectDocumented("CKError.Code.participantMayNeedVerification", CKError.Code.participantMayNeedVerification, 33)
        expectDocumented("CKError.Code.serverResponseLost", CKError.Code.serverResponseLost, 34)
        expectDocumented("CKError.Code.assetNotAvailable", CKError.Code.assetNotAvailable, 35)
        expectDocumented("CKError.Code.accountTemporarilyUnavailable", CKError.Code.accountTemporarilyUnavailable, 36)
        expectDocumented("CKError.Code.participantAlreadyInvited", CKError.Code.participantAlreadyInvited, 37)
        expectDocumented("CKErrorDomain", CKErrorDomain, "CKErrorDomain")
        expectDocumented("CKPartialErrorsByItemIDKey", CKPartialErrorsByItemIDKey, "CKPartialErrors")
        expectDocumented("CKErrorRetryAfterKey", CKErrorRetryAfterKey, "CKRetryAfter")
        expectDocumented("CKRecordChangedErrorServerRecordKey", CKRecordChangedErrorServerRecordKey, "ServerRecord")
        expectDocumented("CKRecordChangedErrorClientRecordKey", CKRecordChangedErrorClientRecordKey, "ClientRecord")
        expectDocumented("CKRecordChangedErrorAncestorRecordKey", CKRecordChangedErrorAncestorRecordKey, "AncestorRecord")
        expectDocumented("CKErrorUserDidResetEncryptedDataKey", CKErrorUserDidResetEncryptedDataKey, "CKUserDidResetEncryptedData")
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKError()
        Self.usesCKErrorCode()
        Self.usesCKErrorExtension()
        Self.usesGlobals()
    }

    private static func usesCKError() {
        _ = { (x: CKError) -> any Error in x }
        _ = { (x: CKError) -> any Hashable in x }
        _ = { (x: CKError) -> any CustomNSError in x }
        _ = { (a0: CKError.Code, a1: [String: Any]) -> CKError in CKError(a0, userInfo: a1) }
        _ = { (a0: CKError.Code) -> CKError in CKError(a0) }
        _ = { () -> String in CKError.errorDomain }
        let _: KeyPath<CKError, CKError.Code> = \.code
        let _: KeyPath<CKError, Int> = \.errorCode
        let _: KeyPath<CKError, [String: Any]> = \.userInfo
        let _: KeyPath<CKError, [String: Any]> = \.errorUserInfo
        let _: KeyPath<CKError, String> = \.localizedDescription
        let _: KeyPath<CKError, Double?> = \.retryAfterSeconds
        let _: KeyPath<CKError, [AnyHashable: any Error]?> = \.partialErrorsByItemID
        let _: KeyPath<CKError, CKRecord?> = \.serverRecord
        let _: KeyPath<CKError, CKRecord?> = \.clientRecord
        let _: KeyPath<CKError, CKRecord?> = \.ancestorRecord
    }

    private static func usesCKErrorCode() {
        _ = { (x: CKError.Code) -> any Hashable in x }
        _ = { (x: CKError.Code) -> any Sendable in x }
        _ = { () -> CKError.Code in .internalError }
        _ = { () -> CKError.Code in .partialFailure }
        _ = { () -> CKError.Code in .networkUnavailable }
        _ = { () -> CKError.Code in .networkFailure }
        _ = { () -> CKError.Code in .badContainer }
        _ = { () -> CKError.Code in .serviceUnavailable }
        _ = { () -> CKError.Code in .requestRateLimited }
        _ = { () -> CKError.Code in .missingEntitlement }
        _ = { () -> CKError.Code in .notAuthenticated }
        _ = { () -> CKError.Code in .permissionFailure }
        _ = { () -> CKError.Code in .unknownItem }
        _ = { () -> CKError.Code in .invalidArguments }
        _ = { () -> CKError.Code in .serverRecordChanged }
        _ = { () -> CKError.Code in .serverRejectedRequest }
        _ = { () -> CKError.Code in .assetFileNotFound }
        _ = { () -> CKError.Code in .assetFileModified }
        _ = { () -> CKError.Code in .incompatibleVersion }
        _ = { () -> CKError.Code in .constraintViolation }
        _ = { () -> CKError.Code in .operationCancelled }
        _ = { () -> CKError.Code in .changeTokenExpired }
        _ = { () -> CKError.Code in .batchRequestFailed }
        _ = { () -> CKError.Code in .zoneBusy }
        _ = { () -> CKError.Code in .badDatabase }
        _ = { () -> CKError.Code in .quotaExceeded }
        _ = { () -> CKError.Code in .zoneNotFound }
        _ = { () -> CKError.Code in .limitExceeded }
        _ = { () -> CKError.Code in .userDeletedZone }
        _ = { () -> CKError.Code in .tooManyParticipants }
        _ = { () -> CKError.Code in .alreadyShared }
        _ = { () -> CKError.Code in .referenceViolation }
        _ = { () -> CKError.Code in .managedAccountRestricted }
        _ = { () -> CKError.Code in .participantMayNeedVerification }
        _ = { () -> CKError.Code in .serverResponseLost }
        _ = { () -> CKError.Code in .assetNotAvailable }
        _ = { () -> CKError.Code in .accountTemporarilyUnavailable }
        _ = { () -> CKError.Code in .participantAlreadyInvited }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKErrorCode() {
        _ = { () -> CKError.Code in .resultsTruncated }
    }

    private static func usesCKErrorExtension() {
        _ = { () -> CKError.Code in CKError.internalError }
        _ = { () -> CKError.Code in CKError.partialFailure }
        _ = { () -> CKError.Code in CKError.networkUnavailable }
        _ = { () -> CKError.Code in CKError.networkFailure }
        _ = { () -> CKError.Code in CKError.badContainer }
        _ = { () -> CKError.Code in CKError.serviceUnavailable }
        _ = { () -> CKError.Code in CKError.requestRateLimited }
        _ = { () -> CKError.Code in CKError.missingEntitlement }
        _ = { () -> CKError.Code in CKError.notAuthenticated }
        _ = { () -> CKError.Code in CKError.permissionFailure }
        _ = { () -> CKError.Code in CKError.unknownItem }
        _ = { () -> CKError.Code in CKError.invalidArguments }
        _ = { () -> CKError.Code in CKError.serverRecordChanged }
        _ = { () -> CKError.Code in CKError.serverRejectedRequest }
        _ = { () -> CKError.Code in CKError.assetFileNotFound }
        _ = { () -> CKError.Code in CKError.assetFileModified }
        _ = { () -> CKError.Code in CKError.incompatibleVersion }
        _ = { () -> CKError.Code in CKError.constraintViolation }
        _ = { () -> CKError.Code in CKError.operationCancelled }
        _ = { () -> CKError.Code in CKError.changeTokenExpired }
        _ = { () -> CKError.Code in CKError.batchRequestFailed }
        _ = { () -> CKError.Code in CKError.zoneBusy }
        _ = { () -> CKError.Code in CKError.badDatabase }
        _ = { () -> CKError.Code in CKError.quotaExceeded }
        _ = { () -> CKError.Code in CKError.zoneNotFound }
        _ = { () -> CKError.Code in CKError.limitExceeded }
        _ = { () -> CKError.Code in CKError.userDeletedZone }
        _ = { () -> CKError.Code in CKError.tooManyParticipants }
        _ = { () -> CKError.Code in CKError.alreadyShared }
        _ = { () -> CKError.Code in CKError.referenceViolation }
        _ = { () -> CKError.Code in CKError.managedAccountRestricted }
        _ = { () -> CKError.Code in CKError.participantMayNeedVerification }
        _ = { () -> CKError.Code in CKError.serverResponseLost }
        _ = { () -> CKError.Code in CKError.assetNotAvailable }
        _ = { () -> CKError.Code in CKError.accountTemporarilyUnavailable }
        _ = { () -> CKError.Code in CKError.participantAlreadyInvited }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKErrorExtension() {
        _ = { () -> CKError.Code in CKError.resultsTruncated }
    }

    private static func usesGlobals() {
        _ = { () -> String in CKErrorDomain }
        _ = { () -> String in CKPartialErrorsByItemIDKey }
        _ = { () -> String in CKErrorRetryAfterKey }
        _ = { () -> String in CKRecordChangedErrorServerRecordKey }
        _ = { () -> String in CKRecordChangedErrorClientRecordKey }
        _ = { () -> String in CKRecordChangedErrorAncestorRecordKey }
        _ = { () -> String in CKErrorUserDidResetEncryptedDataKey }
    }
}
