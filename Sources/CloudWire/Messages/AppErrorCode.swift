// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The error codes that apps see, with the numbers of `CKError.Code`.
///
/// Source: Apple's documentation of `CKError.Code`; numbers as published in the headers' open-source bindings.
package enum AppErrorCode: Int, Hashable, Sendable, CaseIterable {
    case internalError = 1
    case partialFailure = 2
    case networkUnavailable = 3
    case networkFailure = 4
    case badContainer = 5
    case serviceUnavailable = 6
    case requestRateLimited = 7
    case missingEntitlement = 8
    case notAuthenticated = 9
    case permissionFailure = 10
    case unknownItem = 11
    case invalidArguments = 12
    case resultsTruncated = 13
    case serverRecordChanged = 14
    case serverRejectedRequest = 15
    case assetFileNotFound = 16
    case assetFileModified = 17
    case incompatibleVersion = 18
    case constraintViolation = 19
    case operationCancelled = 20
    case changeTokenExpired = 21
    case batchRequestFailed = 22
    case zoneBusy = 23
    case badDatabase = 24
    case quotaExceeded = 25
    case zoneNotFound = 26
    case limitExceeded = 27
    case userDeletedZone = 28
    case tooManyParticipants = 29
    case alreadyShared = 30
    case referenceViolation = 31
    case managedAccountRestricted = 32
    case participantMayNeedVerification = 33
    case serverResponseLost = 34
    case assetNotAvailable = 35
    case accountTemporarilyUnavailable = 36
    case participantAlreadyInvited = 37

    /// The codes that the wire states as numbers, since no documented wire code has their meaning.
    package static let withoutWireCode: [AppErrorCode] = [
        .badContainer, .incompatibleVersion, .changeTokenExpired, .zoneBusy, .badDatabase, .limitExceeded,
        .userDeletedZone, .tooManyParticipants, .alreadyShared, .managedAccountRestricted,
        .participantMayNeedVerification, .serverResponseLost, .assetNotAvailable, .accountTemporarilyUnavailable,
        .participantAlreadyInvited,
    ]

    /// Maps the code of an error dictionary.
    ///
    /// Source: our own mapping of the documented codes of both sides; Apple publishes none.
    package init(_ error: WireError) {
        if let nativeCode = error.nativeCode {
            self = nativeCode
            return
        }
        switch error.code {
        case .accessDenied: self = .permissionFailure
        case .atomicError: self = .batchRequestFailed
        case .authenticationFailed, .authenticationRequired: self = .notAuthenticated
        case .badRequest: self = .invalidArguments
        case .conflict, .exists: self = .serverRecordChanged
        case .internalError: self = .serverRejectedRequest
        case .notFound: self = .unknownItem
        case .quotaExceeded: self = .quotaExceeded
        case .throttled: self = .requestRateLimited
        case .tryAgainLater: self = .serviceUnavailable
        case .validatingReferenceError: self = .referenceViolation
        case .zoneNotFound: self = .zoneNotFound
        case .uniqueFieldError: self = .constraintViolation
        }
    }
}
