// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

extension CKError.Code {
    /// Maps the server's error code to that of an app.
    package init(_ error: WireError) { self = Self(rawValue: AppErrorCode(error).rawValue) ?? .internalError }

    /// Maps the HTTP status of a response without an error dictionary, from a proxy or a server of another kind.
    init(httpStatus status: Int) {
        switch status {
        case 401, 421: self = .notAuthenticated
        case 403: self = .permissionFailure
        case 413: self = .limitExceeded
        case 429: self = .requestRateLimited
        case 500..<600: self = .serviceUnavailable
        case 400..<500: self = .serverRejectedRequest
        default: self = .networkFailure
        }
    }
}

extension CKError {
    /// Key of the server's identifier of a failed request, which the server's log has as well.
    static let requestUUIDKey = "RequestUUID"
    static let serverDescriptionKey = "ServerErrorDescription"
    /// Key in the error of an expired token. The server was restored from a backup that is older than the token.
    package static let historyLostKey = "TarnServerHistoryLost"
    /// Key of the change tag of the last change in that backup.
    package static let restoredChangeTagKey = "TarnServerRestoredChangeTag"
    /// Key in the error of a download that the server answered with a status of `HTTPStatus.isMissing`: it has no such asset, or not at this
    /// address.
    package static let assetMissingKey = "TarnAssetMissing"
    /// Key in the error of a response that is larger than the client reads. Fewer records may have room.
    package static let responseTooLargeKey = "TarnResponseTooLarge"

    package var isResponseTooLarge: Bool { userInfo[CKError.responseTooLargeKey] != nil }

    /// Creates the error of a request or of one item. The caller adds the records of a conflict.
    package init(_ error: WireError, userInfo: [String: Any] = [:]) {
        var userInfo = userInfo
        userInfo[CKError.serverDescriptionKey] = error.reason
        if let uuid = error.uuid { userInfo[CKError.requestUUIDKey] = uuid }
        if error.didResetEncryptedData { userInfo[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true) }
        if error.isHistoryLost { userInfo[CKError.historyLostKey] = NSNumber(value: true) }
        if let tag = error.restoredChangeTag { userInfo[CKError.restoredChangeTagKey] = tag }
        self.init(Code(error), error.reason, retryAfter: error.retryAfter, userInfo: userInfo)
    }

    /// Creates the error of a response with an error status.
    init(_ response: TransportResponse) {
        let retryAfter = response.secondsToWait
        if var error = try? WireError(json: response.body) {
            error.retryAfter = error.retryAfter ?? retryAfter
            self.init(error)
            return
        }
        let summary =
            300..<400 ~= response.status
            ? "the server returned HTTP status \(response.status), a redirect, which is not followed"
            : "the server returned HTTP status \(response.status) without a reason"
        self.init(
            Code(httpStatus: response.status), "\(summary); is the configured address that of a Tarn server?",
            retryAfter: retryAfter)
    }

    /// Creates the error of a response of a gateway to a request that changes data.
    init(ofGateway response: TransportResponse) {
        let failure = CKError(response)
        self.init(
            .serverResponseLost,
            failure.localizedDescription + "; the server may have saved the change: fetch it, or send it again",
            retryAfter: failure.retryAfterSeconds, cause: failure)
    }

    /// Creates the error of a response that cannot be decoded: of another program, or incomplete.
    static func unreadable(_ sentence: String, _ response: TransportResponse? = nil) -> CKError {
        let isWebPage = response?.headers[HeaderNames.contentType]?.lowercased().hasPrefix("text/html") == true
        let hint = isWebPage ? "the response is a web page; is the configured address that of a Tarn server?" : nil
        return CKError(.networkFailure, hint ?? sentence)
    }

    /// The error of a read that would never end.
    static var repeatedPage: CKError { CKError(.internalError, PagePositions.complaint) }

    /// Creates the error of a request without a response.
    init(transportFailure error: any Error) {
        switch error {
        case let error as CKError: self = error
        case is CancellationError: self.init(.operationCancelled)
        case let error as WireError: self = CKError.unreadable("the server's response cannot be decoded (\(error.reason))")
        default: self.init(.networkFailure, "the connection to the server failed", cause: error)
        }
    }
}

extension TransportResponse {
    /// Whether a gateway sent it, and not a server with a reason.
    var isOfGateway: Bool { HTTPStatus.isOfGateway(status) && (try? WireError(json: body)) == nil }
}
