// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Pages of other origins call the service directly, so browsers ask whether they may. Any page may send requests: what
/// it may do depends on the tokens in them, never on cookies. An API token that is limited to origins is refused later.
///
/// Source: the Fetch standard, "CORS protocol"; exposed names as the service in use has them.
enum OriginHeaders {
    static func headers(of request: ServiceRequest) -> [(name: String, value: String)] {
        guard let origin = request.header("origin") else { return [] }
        return [
            ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
            ("Access-Control-Expose-Headers", exposed),
        ]
    }

    /// Response headers that a page's script may read.
    private static let exposed = [
        HeaderNames.requestUUID, HeaderNames.webAuthToken, HeaderNames.capabilities, HeaderNames.retryAfter, HeaderNames.serverTime,
        HeaderNames.serverIdentity,
        HeaderNames.rateLimit, HeaderNames.rateLimitRemaining, HeaderNames.rateLimitReset, "ETag", "Content-Range",
        UploadHeaders.digest, UploadHeaders.offset, UploadHeaders.isComplete,
    ].joined(separator: ",")

    static func preflight(_ request: ServiceRequest) -> ServiceResponse {
        let asked = request.header("access-control-request-headers") ?? ""
        return ServiceResponse(
            status: 204,
            headers: headers(of: request) + [
                ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, OPTIONS"),
                ("Access-Control-Allow-Headers", asked.isEmpty ? HeaderNames.contentType : asked),
                ("Access-Control-Max-Age", "600"),
            ], body: .bytes([]), endpoint: "preflight")
    }
}
