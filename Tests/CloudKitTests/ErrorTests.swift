// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

@Suite struct ErrorTests {
    static let codes: [WireError.Code: CKError.Code] = [
        .accessDenied: .permissionFailure, .atomicError: .batchRequestFailed, .authenticationFailed: .notAuthenticated,
        .authenticationRequired: .notAuthenticated, .badRequest: .invalidArguments, .conflict: .serverRecordChanged,
        .exists: .serverRecordChanged, .internalError: .serverRejectedRequest, .notFound: .unknownItem,
        .quotaExceeded: .quotaExceeded, .throttled: .requestRateLimited, .tryAgainLater: .serviceUnavailable,
        .validatingReferenceError: .referenceViolation, .zoneNotFound: .zoneNotFound,
        .uniqueFieldError: .constraintViolation,
    ]

    @Test(arguments: WireError.Code.allCases)
    func eachCodeOfTheServerIsOneAnAppCanCatch(_ code: WireError.Code) throws {
        let error = CKError(WireError(code, "because", retryAfter: 2))
        #expect(error.code == Self.codes[code])
        #expect(error.retryAfterSeconds == 2)
        #expect(error.localizedDescription == "because")
    }

    @Test func nativeCodesComeBeforeTheDocumentedOnes() {
        let expired = WireError(.badRequest, "old", nativeCode: .changeTokenExpired)
        #expect(CKError(expired).code == .changeTokenExpired)
        #expect(CKError(WireError(.badRequest, "many", nativeCode: .limitExceeded)).code == .limitExceeded)
        #expect(CKError(WireError(.zoneNotFound, "gone", nativeCode: .userDeletedZone)).code == .userDeletedZone)
        for native in AppErrorCode.withoutWireCode {
            #expect(CKError(WireError(.badRequest, "because", nativeCode: native)).errorCode == native.rawValue)
        }
    }

    @Test func aZoneDeletedWithItsKeysIsReported() {
        var error = WireError(.zoneNotFound, "gone")
        #expect(CKError(error).userInfo[CKErrorUserDidResetEncryptedDataKey] == nil)
        error.didResetEncryptedData = true
        #expect(CKError(error).userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)
        #expect(CKError(error).code == .zoneNotFound)
    }

    @Test func numbersAndNamesAreApples() {
        #expect(CKError.Code.allCases.map(\.rawValue) == Array(1...37))
        #expect(CKError.Code.allCases.map { "\($0) \($0.rawValue)" } == AppErrorCode.allCases.map { "\($0) \($0.rawValue)" })
        #expect(CKError.Code.partialFailure.rawValue == 2)
        #expect(CKError.Code.serverRecordChanged.rawValue == 14)
        #expect(CKError.Code.changeTokenExpired.rawValue == 21)
        #expect(CKError.Code.zoneNotFound.rawValue == 26)
        #expect(CKError.Code.assetNotAvailable.rawValue == 35)
        #expect(CKErrorDomain == "CKErrorDomain")
        #expect(CKErrorRetryAfterKey == "CKRetryAfter")
        #expect(CKPartialErrorsByItemIDKey == "CKPartialErrors")
        #expect(CKRecordChangedErrorServerRecordKey == "ServerRecord")
        #expect(CKDatabase.Scope.allCases.map(\.rawValue) == [1, 2, 3])
    }

    @Test func everyCodeHasASentenceOfItsOwn() {
        let sentences = CKError.Code.allCases.map { CKError($0).localizedDescription }
        #expect(Set(sentences).count == CKError.Code.allCases.count)
    }

    @Test func anErrorIsAnNSErrorOfApplesDomain() throws {
        let error: any Error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 3.5])
        let bridged = error as NSError
        #expect(bridged.domain == "CKErrorDomain")
        #expect(bridged.code == 23)
        #expect(CKError(_nsError: bridged).retryAfterSeconds == 3.5)
        #expect(error.localizedDescription == "The zone is busy.")
    }

    @Test func aCodeCanBeCaughtByName() {
        func name(_ error: any Error) -> String {
            do {
                throw error
            } catch CKError.zoneNotFound {
                return "zone"
            } catch let error as CKError where error.code == .networkFailure {
                return "network"
            } catch {
                return "other"
            }
        }
        #expect(name(CKError(.zoneNotFound)) == "zone")
        #expect(name(CKError(.networkFailure)) == "network")
        #expect(name(CancellationError()) == "other")
    }

    @Test func partialErrorsAreFoundByItem() throws {
        let id = CKRecord.ID(recordName: "a")
        let error = CKError(
            .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [id: CKError(.unknownItem)] as [AnyHashable: any Error]])
        let fetched = try #require(error.partialErrorsByItemID?[CKRecord.ID(recordName: "a")] as? CKError)
        #expect(fetched.code == .unknownItem)
    }
}
