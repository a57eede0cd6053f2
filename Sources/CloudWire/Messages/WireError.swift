// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An error dictionary: of a whole request, or of one item in a response.
///
/// Source: *CloudKit Web Services Reference*, "Error Codes"; `nativeErrorCode` is Tarn's addition, which other
/// clients ignore: the `CKError` code where the documented set has none.
package struct WireError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case accessDenied = "ACCESS_DENIED"
        case atomicError = "ATOMIC_ERROR"
        case authenticationFailed = "AUTHENTICATION_FAILED"
        case authenticationRequired = "AUTHENTICATION_REQUIRED"
        case badRequest = "BAD_REQUEST"
        case conflict = "CONFLICT"
        case exists = "EXISTS"
        case internalError = "INTERNAL_ERROR"
        case notFound = "NOT_FOUND"
        case quotaExceeded = "QUOTA_EXCEEDED"
        case throttled = "THROTTLED"
        case tryAgainLater = "TRY_AGAIN_LATER"
        case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
        case zoneNotFound = "ZONE_NOT_FOUND"
        case uniqueFieldError = "UNIQUE_FIELD_ERROR"

        package var httpStatus: Int {
            switch self {
            case .accessDenied: 403
            case .atomicError, .badRequest: 400
            case .authenticationFailed: 401
            case .authenticationRequired: 421
            case .conflict, .exists, .uniqueFieldError: 409
            case .internalError: 500
            case .notFound, .zoneNotFound: 404
            case .quotaExceeded: 413
            case .throttled: 429
            case .tryAgainLater: 503
            case .validatingReferenceError: 412
            }
        }
    }

    package var code: Code
    /// A sentence for developers. Never holds a field's value, a token or a key.
    package var reason: String
    /// Identifier of this failure, which is in the server's log.
    package var uuid: String?
    /// Seconds to wait before a retry, at most ``UntrustedNumber/retrySecondsMax``. `nil` if a retry does not help.
    package var retryAfter: Double? { didSet { retryAfter = UntrustedNumber.retrySeconds(retryAfter) } }
    /// The app's code, if no documented wire code has its meaning: one of ``AppErrorCode/withoutWireCode``.
    package var nativeCode: AppErrorCode?
    package var redirectURL: String?
    /// With `.zoneNotFound`: the zone was deleted because its owner's encryption keys were reset. Create it, and send its
    /// records again. With an expired token: another device has created it again. Send this device's records, too.
    /// Tarn's addition.
    package var didResetEncryptedData = false
    /// With an expired token: the server was restored from a backup that is older than the token. Records that the client
    /// synced after the backup are not on the server. Tarn's addition, for clients that request
    /// ``Capability/lostHistory``.
    package var isHistoryLost = false
    /// With ``isHistoryLost``: the change tag of the last change in the backup, if the token is of the history that the backup continues.
    /// Versions up to it are not lost. Tarn's addition.
    package var restoredChangeTag: String?

    package init(_ code: Code, _ reason: String, retryAfter: Double? = nil, nativeCode: AppErrorCode? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = UntrustedNumber.retrySeconds(retryAfter)
        self.nativeCode = nativeCode
    }
}
