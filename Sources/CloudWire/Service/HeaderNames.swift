// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Names of HTTP headers that both sides use, and how their values are made.
package enum HeaderNames {
    /// Answers: identifier of the request, joined to the server's log.
    package static let requestUUID = "X-Apple-Request-UUID"
    /// Answers to who may be a program for the live service: the version of the protocol.
    package static let version = "X-Apple-CloudKit-Version"
    /// Requests: names of capabilities the client understands. Answers: those of them that the server keeps to.
    package static let capabilities = "X-Tarn-Capabilities"
    /// Requests that write: the same key with the same body is carried out once, and answered alike each time.
    package static let idempotencyKey = "X-Tarn-Idempotency-Key"
    /// Requests to modify records, with the capability `own-changes`: up to where the sender knows the zone.
    package static let syncToken = "X-Tarn-Sync-Token"
    /// Names the device where several share one token, so that push leaves out the one that made a change.
    package static let device = "X-Tarn-Device"
    /// Requests: `Bearer` and the device's token.
    package static let authorization = "Authorization"
    /// Answers to requests with a web auth token: the next one.
    package static let webAuthToken = "X-Apple-CloudKit-Web-Auth-Token"
    package static let requestKeyID = "X-Apple-CloudKit-Request-KeyID"
    package static let requestDate = "X-Apple-CloudKit-Request-ISO8601Date"
    package static let requestSignature = "X-Apple-CloudKit-Request-SignatureV1"
    package static let contentType = "Content-Type"
    package static let retryAfter = "Retry-After"
    package static let range = "Range"
    /// In answers of servers that limit requests: how many may come at once, how many are left, and the seconds until all
    /// are left again. Source: the IETF draft *RateLimit header fields for HTTP*.
    package static let rateLimit = "RateLimit-Limit"
    package static let rateLimitRemaining = "RateLimit-Remaining"
    package static let rateLimitReset = "RateLimit-Reset"
    /// Answers, for who asked for the capability: milliseconds since 1970 UTC.
    package static let serverTime = "X-Tarn-Server-Time"
    /// Answers, for who asked for the capability: 32 hexadecimal digits that were made with the server's data and go with every backup.
    /// A server with another value never had what the client synced.
    package static let serverIdentity = "X-Tarn-Server-Identity"

    package static let json = "application/json; charset=UTF-8"
    /// Content type of the push stream: JSON objects, one a line.
    package static let jsonLines = "application/x-ndjson"
    package static let bytes = "application/octet-stream"

    package static func bearer(_ token: String) -> String { "Bearer \(token)" }

    /// The token of an `Authorization` value, or nil if it is of another kind.
    package static func token(inAuthorization value: String) -> String? {
        let scheme = "bearer "
        guard value.utf8.count > scheme.utf8.count, value.prefix(scheme.count).lowercased() == scheme else { return nil }
        return String(value.dropFirst(scheme.count))
    }
}
