// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudStorageSupport
import Foundation

extension UserCommand {
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an account with everything stored for it.",
            discussion: Help.discussion(
                """
                Revokes credentials and sessions immediately, also on a running server. Then deletes records, zones, assets, shares, \
                subscriptions and all other rows in batches; participants see shared zones as deleted. The same command resumes an \
                interrupted removal. 'tarn user export' makes a copy for the user before. Backups are not changed.

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
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (name, choice) = (name, publicRecords)
            guard try yes || Self.isConfirmed(name) else { throw CommandError("\(name) was not removed.") }
            let folder = try options.location().folder
            let report = try await options.withStore(
                mustExist: true, name: name, audited: CommandAudit("user.remove", "\(name), public records: \(choice.rawValue)"),
                needsFiles: true
            ) { store in
                let report = try await store.service.removeUser(named: name, publicRecords: choice, storage: store)
                // A running server does not know of the removal, and its snapshots may have the user's records.
                SnapshotFolder.removeAll(data: folder)
                return report
            }
            output.print(
                "\(name): removed, with \(report.zones) zones; \(report.shares) shares of others left, "
                    + "\(report.publicRecordsDeleted) public records deleted, \(report.recordsAnonymized) records of others without the name",
                [
                    "name": JSONText.string(name), "zones": "\(report.zones)", "sharesLeft": "\(report.shares)",
                    "publicRecordsDeleted": "\(report.publicRecordsDeleted)", "recordsAnonymized": "\(report.recordsAnonymized)",
                ])
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
