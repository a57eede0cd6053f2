// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService
import Foundation

/// `tarn audit`: what operators and commands did, and which sign-ins were refused.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "List the audit log, newest first.",
        discussion: Help.discussion(
            """
            The log has each sign-in, each refusal, each change of accounts, \
            credentials, roles, schemas and settings of zones, and each look of an operator into records. It has no values and no names of \
            records. The limit auditDays of the server says how long events are stored.
            """, examples: "tarn audit --limit 20 --data /var/lib/tarn", "tarn audit --json | jq 'select(.outcome == \"refused\")'"))

    @Option(help: ArgumentHelp("Number of events.", valueName: "count"))
    var limit = 100
    @OptionGroup var options: DataOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is a number from 1 to 1000000.") }
    }

    func run() async throws {
        let events = try await options.withStore(mustExist: true) { try await $0.auditEvents(before: nil, limit: limit) }
        var table = Table(
            ("TIME", "time"), ("ACTOR", "actor"), ("NETWORK", "network"), ("ACTION", "action"), ("SUBJECT", "subject"),
            ("OUTCOME", "outcome"))
        for (_, event) in events {
            table.add(
                .time(event.time), .text(event.actor), Table.Cell(event.network.isEmpty ? nil : event.network), .text(event.action),
                .text(event.subject), .text(event.outcome.rawValue))
        }
        output.print(table, ifEmpty: "The audit log has no events.")
    }
}
