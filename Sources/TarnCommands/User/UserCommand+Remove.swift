// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import SystemSupport

extension UserCommand {
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an account with everything stored for it.",
            discussion: Help.discussion(
                """
                Revokes credentials and sessions immediately, also on a running server. Then deletes records, zones, assets, shares, \
                subscriptions and all other rows in batches; participants see shared zones as deleted. The same command resumes an \
                interrupted removal. 'tarn user export' makes a copy for the user before. Backups are not changed.

                With --server, an operator's account is not removed, and the removal goes on if the command is ended.

                What remains: the deletions of shared zones in the participants' lists for 90 days, and the lines of the audit log until \
                their retention ends.
                """, examples: "tarn user remove mia --public-records keep --data ./data"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(
            help: ArgumentHelp(
                "Records that the user created in public databases: 'keep' them without their creator, or 'remove' them.",
                valueName: "choice"))
        var publicRecords: AccountRemoval.PublicRecords
        @Flag(help: "Do not ask.")
        var yes = false
        @Flag(help: "Remove the only operator, too.")
        var lastOperator = false
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            guard try yes || Self.isConfirmed(name) else { throw CommandError("\(name) was not removed.") }
            let operation = RemoveUser(account: name, publicRecords: publicRecords)
            let audit = CommandAudit(RemoveUser.name, operation.subject)
            let report = try await options.withAdminClient(audit, name: name, needsFiles: true) { client in
                if let client = client as? LocalAdminClient, !lastOperator { try await Self.keepLastOperator(name, client.context) }
                return try await Self.report(of: operation, client)
            }
            // A running server does not know of a removal by another process, and its snapshots may have the user's records.
            if options.server == nil { SnapshotFolder.removeAll(data: options.data) }
            output.print(
                "\(name): removed, with \(CountText.text(report.zones, "zone")); \(CountText.text(report.shares, "share")) of others left, "
                    + "\(CountText.text(report.publicRecordsDeleted, "public record")) deleted, \(CountText.text(report.recordsAnonymized, "record")) of others without the name",
                [
                    "name": JSONText.string(name), "zones": "\(report.zones)", "sharesLeft": "\(report.shares)",
                    "publicRecordsDeleted": "\(report.publicRecordsDeleted)", "recordsAnonymized": "\(report.recordsAnonymized)",
                ])
        }

        /// Without an operator, the console and commands of other machines do not work. A server removes no operator.
        ///
        /// - Throws: ``CommandError`` if the account is the only operator's.
        private static func keepLastOperator(_ name: String, _ context: AdminContext) async throws {
            guard try await context.storage.profiles().filter(\.isOperator).map(\.accountName) == [name] else { return }
            throw CommandError(
                "\(name) is the only operator: make another with 'tarn user profile NAME --operator', or add --last-operator.")
        }

        /// Performs the removal, and asks a server for its end.
        private static func report(of operation: RemoveUser, _ client: any AdminClient) async throws -> RemovalReport {
            var seconds = 0.1, hasBegun = false
            while true {
                do {
                    if let report = try await client.perform(operation).report { return report }
                    hasBegun = true
                } catch let error as WireError where [.throttled, .tryAgainLater].contains(error.code) {
                    seconds = max(seconds, error.retryAfter ?? 1)
                } catch let error as WireError where error.code == .notFound && hasBegun {
                    // Another server of the same database ended it.
                    return RemovalReport()
                }
                try await Task.sleep(for: .seconds(seconds))
                // Each request has an event in the audit log.
                seconds = min(seconds * 2, 15)
            }
        }

        /// Asks for the name on the terminal.
        ///
        /// - Throws: ``CommandError`` without a terminal.
        private static func isConfirmed(_ name: String) throws -> Bool {
            guard isatty(STDIN_FILENO) != 0 else { throw CommandError("The removal of \(name) was not confirmed: add --yes.") }
            Output.note("Everything stored for \(name) will be deleted, with no way back. Type the name to go on:")
            return readLine() == name
        }
    }
}

extension AccountRemoval.PublicRecords: ExpressibleByArgument {}
