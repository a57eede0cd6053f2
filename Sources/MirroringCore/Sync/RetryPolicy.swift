// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import SystemSupport

/// What to do after a failure. Pure: the number of the attempt and the jitter are arguments.
///
/// A delay that the server asks for is kept exactly; other delays follow ``backoff``.
///
/// Source: *CKError.Code* and TN3162 *Understanding CloudKit throttles*; what Apple's mirror does for each code
/// is not public.
package struct RetryPolicy: Sendable {
    package enum Decision: Hashable, Sendable {
        /// - Parameter isOffline: Whether the server is unreachable, rather than rejecting the request.
        case wait(Duration, isOffline: Bool, reason: String)
        /// No attempt until the account, the app or the user changes something.
        case pause(reason: String)
        /// No attempt until the next launch: the configuration is wrong.
        case stop(reason: String)
        /// The server no longer knows the sync token.
        case fetchAgain
        /// The zone, or the end of its history, is gone though the user did not delete it: this device uploads its records.
        case uploadAgain
        /// The user deleted the app's data.
        case removeRows
        case split
        case importFirst
    }

    package enum ItemDecision: Hashable, Sendable { case importFirst, later, wholeRequest, split, giveUp }

    package static let backoff = Backoff(firstSeconds: 1, longestSeconds: 300)
    /// While the server is unreachable: an attempt costs little, and the user waits.
    package static let offlineBackoff = backoff.capped(at: 15)
    /// The delay between attempts while the user's storage is full.
    package static let quotaDelay = Duration.seconds(3600)
    /// Attempts without a delay after a failure that a reset, a split or an import may fix.
    package static let attemptsMax = 8

    /// - Parameters:
    ///   - attempt: 1 after the first failure in a row.
    ///   - jitter: A random number from 0 to 1.
    package static func decide(_ failure: CloudFailure, attempt: Int, jitter: Double) -> Decision {
        let reason = failure.reason
        func wait(isOffline: Bool = false) -> Decision {
            let delay = failure.retryAfter ?? (isOffline ? offlineBackoff : backoff).delay(attempt: attempt, jitter: jitter)
            return .wait(delay, isOffline: isOffline, reason: reason)
        }
        switch failure.code {
        case .networkUnavailable, .networkFailure, .serverResponseLost:
            return wait(isOffline: true)
        case .serviceUnavailable, .requestRateLimited, .zoneBusy, .assetNotAvailable,
            .operationCancelled, .partialFailure, .batchRequestFailed, .assetFileNotFound, .assetFileModified,
            .resultsTruncated:
            return wait()
        case .internalError, .serverRejectedRequest, .constraintViolation:
            // Without a last attempt: the user would not notice that sync gave up.
            return wait()
        case .quotaExceeded:
            return .wait(failure.retryAfter ?? quotaDelay, isOffline: false, reason: reason)
        case .badContainer, .missingEntitlement, .badDatabase:
            return .stop(reason: reason)
        case .notAuthenticated, .permissionFailure, .incompatibleVersion, .managedAccountRestricted,
            .accountTemporarilyUnavailable, .invalidArguments, .unknownItem, .referenceViolation, .alreadyShared,
            .tooManyParticipants, .participantMayNeedVerification, .participantAlreadyInvited:
            return .pause(reason: reason)
        case .changeTokenExpired where failure.didResetEncryptedData || failure.isHistoryLost: return .uploadAgain
        case .changeTokenExpired: return .fetchAgain
        case .zoneNotFound: return .uploadAgain
        case .userDeletedZone: return .removeRows
        case .limitExceeded: return .split
        case .serverRecordChanged: return .importFirst
        }
    }

    /// For one item of a batch of which the server may have accepted other items.
    package static func itemDecision(_ failure: CloudFailure) -> ItemDecision {
        switch failure.code {
        case .serverRecordChanged, .unknownItem: .importFirst
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .operationCancelled, .serverResponseLost, .assetNotAvailable, .batchRequestFailed, .partialFailure,
            .assetFileNotFound, .assetFileModified, .internalError, .resultsTruncated:
            .later
        case .notAuthenticated, .zoneNotFound, .userDeletedZone, .quotaExceeded, .badContainer, .missingEntitlement,
            .badDatabase, .incompatibleVersion, .managedAccountRestricted, .accountTemporarilyUnavailable,
            .changeTokenExpired:
            .wholeRequest
        case .limitExceeded: .split
        case .permissionFailure, .invalidArguments, .serverRejectedRequest, .constraintViolation, .referenceViolation,
            .alreadyShared, .tooManyParticipants, .participantMayNeedVerification, .participantAlreadyInvited:
            .giveUp
        }
    }

    /// The state on the server of a request that failed as a whole.
    package enum RequestFate: Hashable, Sendable {
        /// In doubt: the server may have executed it, or may execute it later.
        case uncertain
        /// Not executed, for a temporary reason.
        case notNow
        /// Not executed, and rejected permanently in this form.
        case refused
    }

    package static func fate(of failure: CloudFailure) -> RequestFate {
        switch failure.code {
        case .networkFailure, .serverResponseLost, .operationCancelled: .uncertain
        case .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy, .notAuthenticated, .accountTemporarilyUnavailable,
            .quotaExceeded:
            .notNow
        case .internalError, .partialFailure, .badContainer, .missingEntitlement, .permissionFailure, .unknownItem, .invalidArguments,
            .serverRecordChanged, .serverRejectedRequest, .assetFileNotFound, .assetFileModified, .incompatibleVersion, .constraintViolation,
            .changeTokenExpired, .batchRequestFailed, .badDatabase, .zoneNotFound, .limitExceeded, .userDeletedZone,
            .tooManyParticipants, .alreadyShared, .referenceViolation, .managedAccountRestricted, .participantMayNeedVerification,
            .assetNotAvailable, .resultsTruncated, .participantAlreadyInvited:
            .refused
        }
    }

    /// Whether a retry is of no use before the account, the app or the user changes something.
    package static func needsAction(_ failure: CloudFailure) -> Bool {
        switch decide(failure, attempt: 1, jitter: 0) {
        case .pause, .stop: true
        case .wait, .fetchAgain, .uploadAgain, .removeRows, .split, .importFirst: false
        }
    }
}
