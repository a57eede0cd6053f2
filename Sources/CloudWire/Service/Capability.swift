// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Extensions of the documented protocol, by name. Without a capability the documented behaviour applies.
package enum Capability: String, Hashable, Sendable, CaseIterable {
    /// `GET /device/1/{container}/{environment}/push/stream` is a long-lived response; each line is one notification,
    /// and an empty line about every ``heartbeatSeconds`` seconds shows that the connection is alive.
    case pushStream = "push-stream"
    /// `X-Tarn-Idempotency-Key` on requests that write.
    case idempotencyKey = "idempotency-key"
    /// A record that failed with `CONFLICT` or `EXISTS` has the server's record.
    case serverRecord = "server-record"
    /// `users/caller` and `users/current` return the size and the quota of the caller's private database.
    case quota
    /// `changes/zone` for the default zone of the public database, deletions included, and the push stream with
    /// `?database=public`.
    case publicChanges = "public-changes"
    /// `changes/zone` returns the number of changes after the page.
    case remainingCount = "remaining-count"
    /// A page of `changes/zone` has as many records as `resultsLimit` requests, beyond the 200 that Apple documents, so
    /// that a new device needs fewer round trips.
    case largePages = "large-pages"
    /// `changes/zone` without a token may offer a snapshot of the zone, ``SnapshotOffer``, instead of its first page.
    case snapshots
    /// Each response has the server's time in ``HeaderNames/serverTime``.
    case serverTime = "server-time"
    /// Responses have `RateLimit-Limit`, `-Remaining` and `-Reset` if the operator limits requests. Clients that do not
    /// request the capability get them as well.
    case budget
    /// `records/modify` with ``HeaderNames/syncToken`` returns `nextSyncToken` if only the request's own changes lie
    /// between the two tokens, so that the client need not fetch them.
    case ownChanges = "own-changes"
    /// Notifications of the push stream contain small changes, so that a client with the token before them need not
    /// fetch them.
    case pushedChanges = "pushed-changes"
    /// Interrupted uploads of assets can be resumed: `HEAD` and `PATCH` on the address of the upload.
    case resumableUpload = "resumable-upload"
    /// `users/caller` returns the caller's permissions for records of the public database, by record type.
    case permissions

    /// Shares state whether access can be requested. For users with write access to the share they also have the
    /// requesters, the blocked users, and the personal links of unknown participants.
    case accessRequests = "access-requests"
    /// `changes/zone` returns the `clientChangeToken` of this device's last `records/modify`.
    case clientChangeToken = "client-change-token"
    /// Records of models that Apple's container rejects, as Capabilities.md describes them. The server stores them as
    /// it stores others; an operator can omit the capability to disable them.
    case modelExtensions = "model-extensions"
    /// `records/modify` accepts a save in several requests and executes them in one transaction: ``SaveGroup``.
    case wholeSaves = "whole-saves"
    /// A token is rejected with `historyLost` if the server was restored from a backup that is older than the token.
    case lostHistory = "lost-history"
    /// Each response has the identity of the server's data in ``HeaderNames/serverIdentity``.
    case serverIdentity = "server-identity"

    /// The capabilities that Tarn's client requests always. The others cost the server something, and are requested
    /// where they are useful.
    package static let ofEachRequest: Set<Capability> = [.pushStream, .idempotencyKey, .serverRecord, .budget, .accessRequests]

    package static let heartbeatSeconds = 15

    /// Maximum number of changes counted for ``remainingCount``.
    package static let changesCounted = 20_000

    /// The value of `X-Tarn-Capabilities`: names in alphabetical order, separated by commas.
    package static func headerValue(_ capabilities: Set<Capability>) -> String {
        capabilities.map(\.rawValue).sorted().joined(separator: ",")
    }

    /// The known capabilities in a header's value. Unknown names are skipped.
    package static func parse(_ headerValue: String) -> Set<Capability> {
        var capabilities: Set<Capability> = []
        for part in headerValue.split(separator: ",") {
            let name = part.drop { $0 == " " }.prefix { $0 != " " }
            if let capability = Capability(rawValue: String(name)) { capabilities.insert(capability) }
        }
        return capabilities
    }
}
