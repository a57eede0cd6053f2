// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import Foundation
import MirroringCore

/// Sends requests to a server and returns the responses. Knows addresses and credentials, but no records.
///
/// A transport does not retry and does not follow redirects. It throws ``CloudFailure`` with `.networkUnavailable` (no connection) or
/// `.networkFailure` (the connection broke, timed out, or brought more bytes than ``MirrorRequest/responseBytesMax``). A response with an
/// error status is returned.
package protocol MirrorTransport: Sendable {
    /// Sends a request and waits for the whole response.
    func send(_ request: MirrorRequest) async throws -> MirrorResponse
}

package struct MirrorRequest: Sendable {
    package enum Target: Hashable, Sendable {
        /// A path below the server's root, sent with the credentials of the device.
        case service(path: String)
        /// The address of an asset, from the server: absolute, or a path on the server. It contains its own authorization, so it is sent
        /// without credentials.
        case asset(address: String)
    }

    package var method: String
    package var target: Target
    package var headers: [String: String]
    package var body: Data?
    package var responseBytesMax: Int

    package init(method: String, target: Target, headers: [String: String], body: Data?, responseBytesMax: Int = Limits.messageBytes) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.responseBytesMax = responseBytesMax
    }
}

package struct MirrorResponse: Sendable {
    package var status: Int
    /// By lowercased name.
    package var headers: [String: String]
    package var body: Data

    package init(status: Int, headers: [String: String], body: Data) {
        self.status = status
        self.headers = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
        self.body = body
    }

    /// The first value of a header.
    subscript(header name: String) -> String? { headers[name.lowercased()] }
}

extension CloudFailure {
    /// The failure of a response with an error status.
    init(_ response: MirrorResponse) {
        // A date instead of seconds counts as no delay: the mirror's backoff applies.
        let retryAfter = response[header: HeaderNames.retryAfter].flatMap { Double($0) }
        if var error = try? WireError(json: [UInt8](response.body)) {
            error.retryAfter = error.retryAfter ?? retryAfter
            self.init(error)
            return
        }
        let summary =
            300..<400 ~= response.status
            ? "the server returned HTTP status \(response.status), a redirect, which is not followed"
            : "the server returned HTTP status \(response.status) without a reason"
        self.init(
            Self.code(ofStatus: response.status), "\(summary); is the configured address that of a Tarn server?",
            retryAfterSeconds: retryAfter)
    }

    /// The failure of a response that cannot be decoded.
    static func unreadable(_ reason: String) -> CloudFailure { CloudFailure(.networkFailure, reason) }

    /// The code of a response without an error dictionary, from a proxy or a server of another kind.
    private static func code(ofStatus status: Int) -> AppErrorCode {
        switch status {
        case 401, 421: .notAuthenticated
        case 403: .permissionFailure
        case 413: .limitExceeded
        case 429: .requestRateLimited
        case 500..<600: .serviceUnavailable
        case 400..<500: .serverRejectedRequest
        default: .networkFailure
        }
    }
}
