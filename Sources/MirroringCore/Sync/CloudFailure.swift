// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Why a request, or one item of it, was refused: a number of `CKError` and how long to wait.
///
/// Source: *CKError.Code*; which wire code becomes which number: *CloudKit Web Services Reference*, "Error Codes".
package struct CloudFailure: Error, Hashable, Sendable {
    package enum Code: Int, Hashable, Sendable, CaseIterable {
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
    }

    package var code: Code
    /// The longest wait of a mirror that a server can ask for: one day, in seconds.
    package static let retrySecondsMax = 86_400.0

    /// Seconds that the server asks to wait, at most ``retrySecondsMax``.
    package let retryAfter: Double?
    /// A sentence for people; never holds a value of a field, a token or a key.
    package var reason: String
    /// Whether a zone is gone, or what was known of it, because the user's keys were reset: what devices have is sent again.
    ///
    /// Source: `CKErrorUserDidResetEncryptedDataKey`.
    package var didResetEncryptedData = false
    /// Whether a sync token expired because the server was restored from a backup that is older: what devices have is sent again.
    package var isHistoryLost = false

    package init(_ code: Code, _ reason: String, retryAfter: Double? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = UntrustedNumber.retrySeconds(retryAfter).map { min($0, Self.retrySecondsMax) }
    }

    package init(_ error: WireError) {
        self.init(Self.code(of: error), error.reason, retryAfter: error.retryAfter)
        didResetEncryptedData = error.didResetEncryptedData
        isHistoryLost = error.isHistoryLost
    }

    private static func code(of error: WireError) -> Code {
        if let code = error.nativeCode.flatMap({ Code(rawValue: $0.rawValue) }) { return code }
        return switch error.code {
        case .accessDenied: .permissionFailure
        case .atomicError: .batchRequestFailed
        case .authenticationFailed, .authenticationRequired: .notAuthenticated
        case .badRequest: .invalidArguments
        case .conflict, .exists: .serverRecordChanged
        case .internalError: .internalError
        case .notFound: .unknownItem
        case .quotaExceeded: .quotaExceeded
        case .throttled: .requestRateLimited
        case .tryAgainLater: .serviceUnavailable
        case .validatingReferenceError: .referenceViolation
        case .zoneNotFound: .zoneNotFound
        case .uniqueFieldError: .constraintViolation
        }
    }
}
