// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Names of the HTTP headers that both sides use, and the form of their values.
package enum HeaderNames {
    /// Responses: the identifier of the request, which is in the server's log.
    package static let requestUUID = "X-Apple-Request-UUID"
    /// Responses to programs that may be written for the live service: the version of the protocol.
    package static let version = "X-Apple-CloudKit-Version"
    /// Requests: the capabilities that the client understands. Responses: those of them that the server offers.
    package static let capabilities = "X-Tarn-Capabilities"
    /// Requests that write: the server executes requests with the same key and body once, and returns the same
    /// response.
    package static let idempotencyKey = "X-Tarn-Idempotency-Key"
    /// Requests to modify records, with the capability `own-changes`: the client's token of the zone.
    package static let syncToken = "X-Tarn-Sync-Token"
    /// Identifies the device where several share a token, so that the server does not notify the device of its own
    /// changes.
    package static let device = "X-Tarn-Device"
    /// Requests: `Bearer` and the device's token.
    package static let authorization = "Authorization"
    /// Responses to requests with a web auth token: the next token.
    package static let webAuthToken = "X-Apple-CloudKit-Web-Auth-Token"
    package static let requestKeyID = "X-Apple-CloudKit-Request-KeyID"
    package static let requestDate = "X-Apple-CloudKit-Request-ISO8601Date"
    package static let requestSignature = "X-Apple-CloudKit-Request-SignatureV1"
    package static let contentType = "Content-Type"
    package static let retryAfter = "Retry-After"
    package static let range = "Range"
    /// Responses of servers with a rate limit: the size of a burst, the remaining requests, and the seconds until the
    /// full burst is available. Source: the IETF draft *RateLimit header fields for HTTP*.
    package static let rateLimit = "RateLimit-Limit"
    package static let rateLimitRemaining = "RateLimit-Remaining"
    package static let rateLimitReset = "RateLimit-Reset"
    /// Responses to clients that request the capability: milliseconds since 1970 UTC.
    package static let serverTime = "X-Tarn-Server-Time"
    /// Responses to clients that request the capability: 32 hexadecimal digits that were created with the server's
    /// data, and are part of every backup. A server with another value never had the client's data.
    package static let serverIdentity = "X-Tarn-Server-Identity"

    package static let json = "application/json; charset=UTF-8"
    /// Content type of the push stream: one JSON object per line.
    package static let jsonLines = "application/x-ndjson"
    package static let bytes = "application/octet-stream"

    package static func bearer(_ token: String) -> String { "Bearer \(token)" }

    /// The token of an `Authorization` value. `nil` for another scheme.
    package static func token(inAuthorization value: String) -> String? {
        let scheme = "bearer "
        guard value.utf8.count > scheme.utf8.count, value.prefix(scheme.count).lowercased() == scheme else { return nil }
        return String(value.dropFirst(scheme.count))
    }
}
