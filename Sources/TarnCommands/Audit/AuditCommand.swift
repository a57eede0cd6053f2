// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import CloudService
import Foundation

/// `tarn audit`: what operators and commands did, and which sign-ins were refused.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "List the audit log, newest first, one event a line, separated by tabs.",
        discussion: """
            Columns: time (UTC), actor, network, action, subject, outcome. The log has each sign-in, each refusal, each change of accounts, \
            credentials, roles, schemas and settings of zones, and each look of an operator into records. It has no values and no names of \
            records. The limit auditDays of the server says how long events are stored.

            Example: tarn audit --limit 20 --data /var/lib/tarn
            """)

    @Option(help: ArgumentHelp("Number of events.", valueName: "count"))
    var limit = 100
    @OptionGroup var options: DataOptions

    func validate() throws {
        guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is a number from 1 to 1000000.") }
    }

    func run() async throws {
        let events = try await options.withStore(mustExist: true) { try await $0.auditEvents(before: nil, limit: limit) }
        for (_, event) in events {
            let words = [
                UserCommand.Sessions.time(event.time), event.actor, event.network.isEmpty ? "-" : event.network, event.action, event.subject,
                event.outcome.rawValue,
            ]
            Output.line(words.joined(separator: "\t"))
        }
    }
}
