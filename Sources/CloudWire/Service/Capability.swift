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

    package static let heartbeatSeconds = 15

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
