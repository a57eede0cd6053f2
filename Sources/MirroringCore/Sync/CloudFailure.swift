// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Why the server, or this device, rejected a request or one item of it: a code of `CKError` and a delay.
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
    /// The longest delay that a server can ask a mirror for: one day.
    package static let retryAfterMax = Duration.seconds(86_400)

    /// The delay that the server asks for, at most ``retryAfterMax``.
    package let retryAfter: Duration?
    /// A sentence for people. Never contains a field's value, a token or a key.
    package var reason: String
    /// Whether a zone or its history is gone because the user's keys were reset: devices upload their records.
    ///
    /// Source: `CKErrorUserDidResetEncryptedDataKey`.
    package var didResetEncryptedData = false
    /// Whether a sync token expired because the server was restored from an older backup: devices upload their records.
    package var isHistoryLost = false

    package init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter.map { min(max($0, .zero), Self.retryAfterMax) }
    }

    /// - Parameter retryAfterSeconds: As a response has it. A value that is not a delay counts as nil.
    package init(_ code: Code, _ reason: String, retryAfterSeconds: Double?) {
        self.init(code, reason, retryAfter: UntrustedNumber.retrySeconds(retryAfterSeconds).map { .clamped(seconds: $0) })
    }

    package init(_ error: WireError) {
        self.init(Self.code(of: error), error.reason, retryAfterSeconds: error.retryAfter)
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
