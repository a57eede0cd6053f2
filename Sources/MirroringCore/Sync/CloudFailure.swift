// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Why the server, or this device, rejected a request or one item of it: a code of `CKError` and a delay.
package struct CloudFailure: Error, Hashable, Sendable {
    package var code: AppErrorCode
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
    /// With ``isHistoryLost``: the last version in the backup. Later ones are lost; nil if it is unknown which ones are.
    package var restoredVersion: RestoredVersion?
    /// Whether a server answered the download of an asset with a status of `HTTPStatus.isMissing`: it has no such asset, or not at this address.
    package var isAssetMissing = false

    package init(_ code: AppErrorCode, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter.map { min(max($0, .zero), Self.retryAfterMax) }
    }

    /// - Parameter retryAfterSeconds: As a response has it. A value that is not a delay counts as nil.
    package init(_ code: AppErrorCode, _ reason: String, retryAfterSeconds: Double?) {
        self.init(code, reason, retryAfter: UntrustedNumber.retrySeconds(retryAfterSeconds).map { .clamped(seconds: $0) })
    }

    /// The failure of a read that would never end.
    package static var repeatedPage: CloudFailure { CloudFailure(.internalError, PagePositions.complaint) }

    package init(_ error: WireError) {
        self.init(Self.code(of: error), error.reason, retryAfterSeconds: error.retryAfter)
        didResetEncryptedData = error.didResetEncryptedData
        isHistoryLost = error.isHistoryLost
        restoredVersion = error.restoredChangeTag.flatMap { RestoredVersion(changeTag: $0) }
    }

    /// A fault of the server is not a rejection, although apps have one code for both: an item with a fault is retried.
    private static func code(of error: WireError) -> AppErrorCode {
        error.nativeCode == nil && error.code == .internalError ? .internalError : AppErrorCode(error)
    }
}
