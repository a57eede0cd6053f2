// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CKError {
    /// An error code, with Apple's number.
    ///
    /// Source: Apple's documentation of `CKError.Code`; numbers as published in the headers' open-source bindings.
    public enum Code: Int, Sendable, CaseIterable {
        /// An error inside the framework, such as a full disk.
        case internalError = 1
        /// Some items failed. Their errors are in `partialErrorsByItemID`.
        case partialFailure = 2
        /// The server could not be reached. Nothing was sent.
        case networkUnavailable = 3
        /// The connection broke or timed out.
        case networkFailure = 4
        /// The container is unknown or not configured.
        case badContainer = 5
        /// The server is busy. Retry after `retryAfterSeconds`.
        case serviceUnavailable = 6
        /// The rate limit is exhausted. Retry after `retryAfterSeconds`.
        case requestRateLimited = 7
        /// The app may not use the container.
        case missingEntitlement = 8
        /// No user is signed in, or the token is not valid.
        case notAuthenticated = 9
        /// The user has no permission for the request.
        case permissionFailure = 10
        /// The record, subscription, user or link does not exist.
        case unknownItem = 11
        /// The request is invalid. The description names the part.
        case invalidArguments = 12
        /// The server returned a part of the results. Not used by Tarn.
        case resultsTruncated = 13
        /// Another client changed the record. The three versions are in `serverRecord`, `clientRecord` and `ancestorRecord`.
        case serverRecordChanged = 14
        /// The server rejected the request.
        case serverRejectedRequest = 15
        /// The file of an asset is missing or not readable.
        case assetFileNotFound = 16
        /// The file of an asset changed during the upload.
        case assetFileModified = 17
        /// The app is too old for the data, or the server lacks a required capability.
        case incompatibleVersion = 18
        /// A value that must be unique is in use.
        case constraintViolation = 19
        /// The operation was cancelled.
        case operationCancelled = 20
        /// The change token is not valid any more. Fetch from the start.
        case changeTokenExpired = 21
        /// Another item of the atomic request failed. Nothing was saved.
        case batchRequestFailed = 22
        /// The zone is busy. Retry after `retryAfterSeconds`.
        case zoneBusy = 23
        /// The database does not support the request.
        case badDatabase = 24
        /// The quota is exceeded.
        case quotaExceeded = 25
        /// The zone does not exist.
        case zoneNotFound = 26
        /// The request is too large. Send fewer items.
        case limitExceeded = 27
        /// The user deleted the data of the app.
        case userDeletedZone = 28
        /// The share has too many participants.
        case tooManyParticipants = 29
        /// The record is in another share.
        case alreadyShared = 30
        /// The target of a reference is missing.
        case referenceViolation = 31
        /// The account is restricted.
        case managedAccountRestricted = 32
        /// The user must verify an address to accept the share.
        case participantMayNeedVerification = 33
        /// The response was lost. The server may have executed the request.
        case serverResponseLost = 34
        /// The content of an asset is not available.
        case assetNotAvailable = 35
        /// The account needs an action of the user.
        case accountTemporarilyUnavailable = 36
        /// The user participates in the share already.
        case participantAlreadyInvited = 37

        /// Matches a code in a `catch` clause: `catch CKError.zoneNotFound`.
        public static func ~= (code: Code, error: any Error) -> Bool {
            (error as? CKError)?.code == code
        }

        /// The sentence for users of an app, if the error has no other.
        var sentence: String {
            switch self {
            case .internalError: "Something went wrong inside the sync library."
            case .partialFailure: "Some items could not be saved or fetched."
            case .networkUnavailable: "The server cannot be reached."
            case .networkFailure: "The connection to the server failed."
            case .badContainer: "The container is not known or not configured."
            case .serviceUnavailable: "The server is not available at the moment."
            case .requestRateLimited: "The server asks to wait before the next request."
            case .missingEntitlement: "The app is not set up for this container."
            case .notAuthenticated: "No user is signed in, or the sign-in is not valid."
            case .permissionFailure: "This user may not do that."
            case .unknownItem: "The item does not exist on the server."
            case .invalidArguments: "The request is not valid."
            case .resultsTruncated: "There are more results than were sent."
            case .serverRecordChanged: "The record was changed on the server."
            case .serverRejectedRequest: "The server rejected the request."
            case .assetFileNotFound: "The file of an asset is missing."
            case .assetFileModified: "The file of an asset changed while it was sent."
            case .incompatibleVersion: "The app is too old for these data."
            case .constraintViolation: "A value that must be unique is taken."
            case .operationCancelled: "The operation was cancelled."
            case .changeTokenExpired: "The change token is too old; changes are to be fetched from the start."
            case .batchRequestFailed: "Another item of the batch failed, so nothing of it was saved."
            case .zoneBusy: "The zone is busy."
            case .badDatabase: "That is not possible in this database."
            case .quotaExceeded: "The storage quota is exceeded."
            case .zoneNotFound: "The zone does not exist."
            case .limitExceeded: "The request is too large."
            case .userDeletedZone: "The user deleted the app's data."
            case .tooManyParticipants: "The share has too many participants."
            case .alreadyShared: "The record is part of another share."
            case .referenceViolation: "A record that is referred to is missing."
            case .managedAccountRestricted: "The account may not be used for this."
            case .participantMayNeedVerification: "The participant has to be verified."
            case .serverResponseLost: "The server's response was lost; it may have executed the request."
            case .assetNotAvailable: "The content of an asset is not available."
            case .accountTemporarilyUnavailable: "The account needs attention."
            case .participantAlreadyInvited: "The participant is invited already."
            }
        }
    }
}

extension CKError {
    /// See `CKError.Code.internalError`.
    public static var internalError: Code { .internalError }
    /// See `CKError.Code.partialFailure`.
    public static var partialFailure: Code { .partialFailure }
    /// See `CKError.Code.networkUnavailable`.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// See `CKError.Code.networkFailure`.
    public static var networkFailure: Code { .networkFailure }
    /// See `CKError.Code.badContainer`.
    public static var badContainer: Code { .badContainer }
    /// See `CKError.Code.serviceUnavailable`.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// See `CKError.Code.requestRateLimited`.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// See `CKError.Code.missingEntitlement`.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// See `CKError.Code.notAuthenticated`.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// See `CKError.Code.permissionFailure`.
    public static var permissionFailure: Code { .permissionFailure }
    /// See `CKError.Code.unknownItem`.
    public static var unknownItem: Code { .unknownItem }
    /// See `CKError.Code.invalidArguments`.
    public static var invalidArguments: Code { .invalidArguments }
    /// See `CKError.Code.resultsTruncated`.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// See `CKError.Code.serverRecordChanged`.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// See `CKError.Code.serverRejectedRequest`.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// See `CKError.Code.assetFileNotFound`.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// See `CKError.Code.assetFileModified`.
    public static var assetFileModified: Code { .assetFileModified }
    /// See `CKError.Code.incompatibleVersion`.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// See `CKError.Code.constraintViolation`.
    public static var constraintViolation: Code { .constraintViolation }
    /// See `CKError.Code.operationCancelled`.
    public static var operationCancelled: Code { .operationCancelled }
    /// See `CKError.Code.changeTokenExpired`.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// See `CKError.Code.batchRequestFailed`.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// See `CKError.Code.zoneBusy`.
    public static var zoneBusy: Code { .zoneBusy }
    /// See `CKError.Code.badDatabase`.
    public static var badDatabase: Code { .badDatabase }
    /// See `CKError.Code.quotaExceeded`.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// See `CKError.Code.zoneNotFound`.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// See `CKError.Code.limitExceeded`.
    public static var limitExceeded: Code { .limitExceeded }
    /// See `CKError.Code.userDeletedZone`.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// See `CKError.Code.tooManyParticipants`.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// See `CKError.Code.alreadyShared`.
    public static var alreadyShared: Code { .alreadyShared }
    /// See `CKError.Code.referenceViolation`.
    public static var referenceViolation: Code { .referenceViolation }
    /// See `CKError.Code.managedAccountRestricted`.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// See `CKError.Code.participantMayNeedVerification`.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// See `CKError.Code.serverResponseLost`.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// See `CKError.Code.assetNotAvailable`.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// See `CKError.Code.accountTemporarilyUnavailable`.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// See `CKError.Code.participantAlreadyInvited`.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}
