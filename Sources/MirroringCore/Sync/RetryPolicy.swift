// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// What to do after a refusal. A pure function: the attempt and the random number come in.
///
/// Delays double from ``firstSeconds`` to ``secondsMax`` and are spread over half their length, so that devices
/// that were cut off together do not come back together. What the server asks for is honoured exactly.
///
/// Source: *CKError.Code* and TN3162 *Understanding CloudKit throttles*; what Apple's mirror does for each code
/// is not public.
package struct RetryPolicy: Sendable {
    package enum Decision: Hashable, Sendable {
        /// - Parameter isOffline: Whether there is no way to the server, rather than a refusal by it.
        case wait(seconds: Double, isOffline: Bool, reason: String)
        /// Nothing is tried until the account, the app or the user does something.
        case pause(reason: String)
        /// Nothing is tried until the next launch: the configuration is wrong.
        case stop(reason: String)
        /// The server no longer knows the point up to which was imported.
        case fetchAgain
        /// The zone, or the end of its history, is gone without a wish of the user: it is filled from here.
        case uploadAgain
        /// The user deleted the app's data.
        case removeRows
        case split
        case importFirst
    }

    package enum ItemDecision: Hashable, Sendable { case importFirst, later, wholeRequest, split, giveUp }

    package static let firstSeconds = 1.0
    package static let secondsMax = 300.0
    /// Seconds between attempts while there is no way to the server: an attempt costs little, and the user waits.
    package static let offlineSecondsMax = 15.0
    /// Seconds between attempts while the user's storage is full.
    package static let quotaSeconds = 3600.0
    /// Attempts at something that the server calls its own fault.
    package static let attemptsMax = 8

    /// - Parameters:
    ///   - attempt: 1 after the first failure in a row.
    ///   - unit: A random number from 0 to 1.
    package static func decide(_ failure: CloudFailure, attempt: Int, unit: Double) -> Decision {
        let reason = failure.reason
        func wait(isOffline: Bool = false) -> Decision {
            let asked = failure.retryAfter
            let longest = isOffline ? offlineSecondsMax : secondsMax
            return .wait(seconds: asked ?? min(backoff(attempt: attempt, unit: unit), longest), isOffline: isOffline, reason: reason)
        }
        switch failure.code {
        case .networkUnavailable, .networkFailure, .serverResponseLost:
            return wait(isOffline: true)
        case .serviceUnavailable, .requestRateLimited, .zoneBusy, .assetNotAvailable,
            .operationCancelled, .partialFailure, .batchRequestFailed, .assetFileNotFound, .assetFileModified:
            return wait()
        case .internalError, .serverRejectedRequest, .constraintViolation:
            // However long it lasts: nobody would notice that it was given up.
            return wait()
        case .quotaExceeded:
            return .wait(seconds: failure.retryAfter ?? quotaSeconds, isOffline: false, reason: reason)
        case .badContainer, .missingEntitlement, .badDatabase:
            return .stop(reason: reason)
        case .notAuthenticated, .permissionFailure, .incompatibleVersion, .managedAccountRestricted,
            .accountTemporarilyUnavailable, .invalidArguments, .unknownItem, .referenceViolation, .alreadyShared,
            .tooManyParticipants, .participantMayNeedVerification:
            return .pause(reason: reason)
        case .changeTokenExpired where failure.didResetEncryptedData || failure.isHistoryLost: return .uploadAgain
        case .changeTokenExpired: return .fetchAgain
        case .zoneNotFound: return .uploadAgain
        case .userDeletedZone: return .removeRows
        case .limitExceeded: return .split
        case .serverRecordChanged: return .importFirst
        }
    }

    /// For one item of a batch of which others may have been accepted.
    package static func itemDecision(_ failure: CloudFailure) -> ItemDecision {
        switch failure.code {
        case .serverRecordChanged, .unknownItem: .importFirst
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .operationCancelled, .serverResponseLost, .assetNotAvailable, .batchRequestFailed, .partialFailure,
            .assetFileNotFound, .assetFileModified, .internalError:
            .later
        case .notAuthenticated, .zoneNotFound, .userDeletedZone, .quotaExceeded, .badContainer, .missingEntitlement,
            .badDatabase, .incompatibleVersion, .managedAccountRestricted, .accountTemporarilyUnavailable,
            .changeTokenExpired:
            .wholeRequest
        case .limitExceeded: .split
        case .permissionFailure, .invalidArguments, .serverRejectedRequest, .constraintViolation, .referenceViolation,
            .alreadyShared, .tooManyParticipants, .participantMayNeedVerification:
            .giveUp
        }
    }

    /// What became of a request that failed as a whole.
    package enum RequestFate: Hashable, Sendable {
        /// It may have been carried out, or be carried out later.
        case uncertain
        /// This attempt was not carried out, for a reason that passes.
        case notNow
        /// It was not carried out, and will not be as it is.
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
            .assetNotAvailable:
            .refused
        }
    }

    /// Whether trying again soon is of no use, because somebody has to do something first.
    package static func isRefusal(_ failure: CloudFailure) -> Bool {
        switch decide(failure, attempt: 1, unit: 0) {
        case .pause, .stop: true
        case .wait, .fetchAgain, .uploadAgain, .removeRows, .split, .importFirst: false
        }
    }

    package static func backoff(attempt: Int, unit: Double) -> Double {
        Backoff(firstSeconds: firstSeconds, longestSeconds: secondsMax).seconds(attempt: attempt, jitter: unit)
    }
}
