// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What goes beyond the documented protocol, by name. Without a capability the documented behaviour holds.
package enum Capability: String, Hashable, Sendable, CaseIterable {
    /// `GET /device/1/{container}/{environment}/push/stream` is held open; each line is one notification, and an
    /// empty line about every ``heartbeatSeconds`` seconds tells that the connection is alive.
    case pushStream = "push-stream"
    /// `X-Tarn-Idempotency-Key` on requests that write.
    case idempotencyKey = "idempotency-key"
    /// A record that failed with `CONFLICT` or `EXISTS` brings the server's record.
    case serverRecord = "server-record"
    /// `users/caller` and `users/current` tell what the caller's private database takes, and what it may.
    case quota
    /// `changes/zone` for the default zone of the public database, deletions included, and the push stream with
    /// `?database=public`.
    case publicChanges = "public-changes"
    /// `changes/zone` tells how many changes are still to come.
    case remainingCount = "remaining-count"
    /// A page of `changes/zone` has as many records as `resultsLimit` asks for, beyond the 200 that Apple documents: a device
    /// that begins waits for fewer answers.
    case largePages = "large-pages"
    /// Each answer has the server's time in ``HeaderNames/serverTime``.
    case serverTime = "server-time"
    /// Answers have `RateLimit-Limit`, `-Remaining` and `-Reset` where the operator limits requests. Who did not ask gets
    /// them, too.
    case budget
    /// `records/modify` with ``HeaderNames/syncToken`` answers `nextSyncToken` if nothing but the request's own changes lies
    /// between the two points: who sent it need not fetch them.
    case ownChanges = "own-changes"
    /// Notifications on the push stream bring what changed, where that is little: who knows the zone up to the change need not
    /// fetch it.
    case pushedChanges = "pushed-changes"
    /// Uploads of assets that break off go on where they were: `HEAD` and `PATCH` on the address of the upload.
    case resumableUpload = "resumable-upload"
    /// `users/caller` tells what the caller may do with records of the public database, by record type.
    case permissions

    /// Shares tell whether access may be asked for, and who may change them also who asked, who may not ask, and the links of
    /// participants who are not known yet.
    case accessRequests = "access-requests"
    /// `changes/zone` tells the `clientChangeToken` that this device sent last with `records/modify`.
    case clientChangeToken = "client-change-token"
    /// Records of models that Apple's container would refuse, as Capabilities.md describes them. The server keeps them as it keeps
    /// others; an operator who does not want them leaves this out.
    case modelExtensions = "model-extensions"
    /// `records/modify` takes a save in several requests and executes them in one transaction: ``SaveGroup``.
    case wholeSaves = "whole-saves"
    /// A sync token is refused with `historyLost` when the server was restored from a backup that is older than the token.
    case lostHistory = "lost-history"
    /// Each answer names the server's data in ``HeaderNames/serverIdentity``.
    case serverIdentity = "server-identity"

    /// What our own client asks for in each request; the others cost the server something, and are asked for where they are
    /// of use.
    package static let ofEachRequest: Set<Capability> = [.pushStream, .idempotencyKey, .serverRecord, .budget, .accessRequests]

    package static let heartbeatSeconds = 15

    /// Changes that are counted at most for ``remainingCount``.
    package static let changesCounted = 20_000

    /// The value of `X-Tarn-Capabilities`: names in alphabetical order, separated by commas.
    package static func headerValue(_ capabilities: Set<Capability>) -> String {
        capabilities.map(\.rawValue).sorted().joined(separator: ",")
    }

    /// The known capabilities in a header's value; unknown names are passed over.
    package static func parse(_ headerValue: String) -> Set<Capability> {
        var found: Set<Capability> = []
        for part in headerValue.split(separator: ",") {
            let name = part.drop { $0 == " " }.prefix { $0 != " " }
            if let capability = Capability(rawValue: String(name)) { found.insert(capability) }
        }
        return found
    }
}
