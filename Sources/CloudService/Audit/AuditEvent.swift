// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One line of the audit log: the actor, the action, the subject, the network, and whether it was allowed.
///
/// It names accounts, containers and identifiers of credentials. It never has a record's name, a value, a password or a token.
package struct AuditEvent: Hashable, Sendable {
    package enum Actor: Hashable, Sendable {
        case account(String)
        /// A user of the machine that ran a command.
        case commandLine(String)
        /// A client that did not prove an account.
        case anonymous

        package var text: String {
            switch self {
            case .account(let name): name
            case .commandLine(let login): "command line (\(login))"
            case .anonymous: "anonymous"
            }
        }
    }

    package enum Outcome: String, Hashable, Sendable {
        case done, refused
    }

    /// Milliseconds since 1970 UTC.
    package var time: Int64
    package var actor: String
    /// The client's network; empty for commands.
    package var network: String
    /// A verb phrase with dots, such as `console.users.password`.
    package var action: String
    /// The subject: an account, a container with its environment, a credential's identifier.
    package var subject: String
    package var outcome: Outcome

    package init(time: Int64, actor: Actor, network: String = "", action: String, subject: String, outcome: Outcome) {
        self.init(time: time, actorText: actor.text, network: network, action: action, subject: subject, outcome: outcome)
    }

    package init(time: Int64, actorText: String, network: String, action: String, subject: String, outcome: Outcome) {
        self.time = time
        actor = Self.clean(actorText)
        self.network = network
        self.action = Self.clean(action)
        self.subject = Self.clean(subject)
        self.outcome = outcome
    }

    private static let wordBytesMax = 200

    /// Printable, on one line, and short: names may come from a request.
    private static func clean(_ text: String) -> String {
        String(text.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(wordBytesMax).map(Character.init))
    }
}

/// The append-only log of ``AuditEvent``s.
package protocol AuditStorage: Sendable {
    /// Appends an event durably.
    func append(_ event: AuditEvent) async throws

    /// Events, newest first.
    ///
    /// - Parameters:
    ///   - before: The number of an event, for those before it; nil begins with the newest.
    ///   - limit: At most that many.
    func auditEvents(before number: Int64?, limit: Int) async throws -> [(number: Int64, event: AuditEvent)]

    /// Deletes events from before a time: the only way in which the log becomes shorter.
    func removeAuditEvents(before time: Int64) async throws
}
