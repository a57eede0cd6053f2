// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

extension CKError.Code {
    /// What the server's code is for an app.
    ///
    /// Source: our own mapping of the documented codes of both sides; there is no published one.
    package init(_ error: WireError) {
        switch error.nativeCode.flatMap({ CKError.Code(rawValue: $0.rawValue) }) {
        case let code?: self = code
        case nil:
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

    /// What the status of an answer without an error dictionary is for an app: something between here and the server
    /// answered, or a server of another kind.
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
    /// Key of the server's identifier of a failed request, which its log names too.
    static let requestUUIDKey = "RequestUUID"
    static let serverDescriptionKey = "ServerErrorDescription"
    /// Key of an expired token's error when the server was restored from a backup that is older than the token.
    package static let historyLostKey = "TarnServerHistoryLost"

    /// The error of a request or of one item. The records of a conflict are added by whoever has them.
    package init(_ error: WireError, userInfo: [String: Any] = [:]) {
        var userInfo = userInfo
        userInfo[CKError.serverDescriptionKey] = error.reason
        if let uuid = error.uuid { userInfo[CKError.requestUUIDKey] = uuid }
        if error.didResetEncryptedData { userInfo[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true) }
        if error.isHistoryLost { userInfo[CKError.historyLostKey] = NSNumber(value: true) }
        self.init(Code(error), error.reason, retryAfter: error.retryAfter, userInfo: userInfo)
    }

    /// The error of an answer whose status is none of success.
    init(_ response: TransportResponse) {
        let retryAfter = response.secondsToWait
        if var error = try? WireError(json: response.body) {
            error.retryAfter = error.retryAfter ?? retryAfter
            self.init(error)
            return
        }
        let what =
            300..<400 ~= response.status
            ? "the server answered \(response.status), and asks to look elsewhere, which is not followed"
            : "the server answered \(response.status) without saying why"
        self.init(
            Code(httpStatus: response.status), "\(what); is the configured address that of a Tarn server?",
            retryAfter: retryAfter)
    }

    /// The error of an answer that cannot be read: of another program, or cut off on the way.
    static func unreadable(_ sentence: String, _ response: TransportResponse? = nil) -> CKError {
        let isWebPage = response?.headers[HeaderNames.contentType]?.lowercased().hasPrefix("text/html") == true
        let hint = isWebPage ? "a web page came instead of an answer; is the configured address that of a Tarn server?" : nil
        return CKError(.networkFailure, hint ?? sentence)
    }

    /// The error of an exchange that did not come to an answer.
    init(transportFailure error: any Error) {
        switch error {
        case let error as CKError: self = error
        case is CancellationError: self.init(.operationCancelled)
        case let error as WireError: self = CKError.unreadable("the server sent what cannot be read (\(error.reason))")
        default: self.init(.networkFailure, "the exchange with the server broke off", cause: error)
        }
    }
}
