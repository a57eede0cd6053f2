// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudKit
import CloudWire
import Foundation
import SystemSupport

/// `tarn icloud`: copies and compares databases between iCloud and a Tarn server.
struct ICloudCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "icloud", abstract: "Copy databases from and to iCloud, and compare them.",
        discussion: """
            Both sides are reached by Apple's documented web services: iCloud with an API token of the container and a signed-in user, the \
            Tarn server with a device token of the user. Custom zones with all records and assets are copied, and record types of the \
            default zone and of the public database. Shares and the records of users are not: they are about accounts of one server.

            A schema is not reachable by web services: export it with Apple's 'xcrun cktool export-schema', and import it with \
            'tarn schema import', before records are copied to the production environment.
            """,
        subcommands: [SignIn.self, Pull.self, Push.self, Compare.self])
}

extension ICloudCommand {
    struct SignIn: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign-in", abstract: "Sign a user in to iCloud and store the session.",
            discussion: Help.discussion(
                """
                Prints the address of the sign-in page. Open it in a browser, sign in, and give the command the address of the page to \
                which the browser goes then, or the web auth token itself, as one line on standard input. The API token needs a sign-in \
                callback with an address, such as https://localhost/, for that.

                The session file is replaced with each request, and one command at a time can use it.
                """,
                examples: "tarn icloud sign-in --container iCloud.org.example.notes --api-token-file api-token --session mia.session"))

        @OptionGroup var access: ICloudAccessOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            do {
                let transport = try access.transport(environment: ProcessInfo.processInfo.environment)
                let url = try await transport.signInURL(container: access.container, environment: access.environment)
                Output.note("Sign in at this address, then paste the address of the page that follows, or the web auth token:")
                Output.note(TerminalText.escaped(url.absoluteString))
                guard let line = readLine()?.trimmingCharacters(in: .whitespacesAndNewlines), !line.isEmpty else {
                    throw CommandError("Standard input had no line: paste the address of the page that follows the sign-in.")
                }
                try transport.tokens.signIn(try Self.token(in: line))
                let client = CloudDatabaseClient(
                    containerIdentifier: access.container, environment: access.environment, scope: .private, transport: transport,
                    dialect: .webServices)
                let name = try await client.callerIdentity().userRecordName
                output.print("Signed in as \(TerminalText.escaped(name)).", ["userRecordName": JSONText.string(name)])
            } catch let error as CKError {
                throw CommandError(iCloud: error)
            }
        }

        /// The web auth token in the address of a page, or the token itself.
        ///
        /// - Throws: `CommandError` for an address without a token.
        static func token(in line: String) throws -> String {
            if let token = URL(string: line).flatMap({ CKContainer.webAuthToken(inCallback: $0) }) { return token }
            // Tokens have no colon.
            guard !line.contains("://") else {
                throw CommandError(
                    "The address has no ckWebAuthToken: paste the address of the page that follows the sign-in, which the API token's callback sets."
                )
            }
            return line
        }
    }

    /// The options of a copy.
    struct CopyOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "File with the progress of this copy. Run the command again with it to continue, or to copy later changes.",
                valueName: "path"))
        var state: String

        /// - Parameter isPull: Whether iCloud is the source.
        func run(_ command: String, _ pair: ICloudPair, isPull: Bool, _ output: OutputOptions) async throws {
            let line = ProgressLine()
            let copier = try await pair.withEnds { iCloud, tarn in
                defer { line.end() }
                let file = CopyStateFile(path: state)
                let progress = try file.read(try await pair.copy(command, iCloud: iCloud, tarn: tarn))
                let (source, destination) = isPull ? (iCloud, tarn) : (tarn, iCloud)
                try await pair.options.checkTypes(of: source)
                let parts = try await pair.options.parts(of: source)
                if parts.isEmpty { Output.note(pair.options.emptiness(of: source)) }
                var copier = RecordCopier(from: source, to: destination, file: file, state: progress)
                copier.progress = { line.show("Copying", $0, of: nil, "records") }
                try await copier.copy(parts)
                return copier
            }
            report(copier, output)
            if !copier.state.deferred.isEmpty { throw ExitCode.failure }
        }

        private static let problemsMax = 20

        private func report(_ copier: RecordCopier, _ output: OutputOptions) {
            let state = copier.state
            for zone in Set(copier.restarted).sorted() {
                Output.note(
                    "The sync token of the zone \(TerminalText.escaped(zone)) had expired, so records that were deleted since then may be left: 'tarn icloud compare' lists them."
                )
            }
            for problem in state.deferred.prefix(Self.problemsMax) {
                Output.note("Error: \(TerminalText.escaped("\(problem.zone): \(problem.recordName): \(problem.reason)"))")
            }
            if state.deferred.count > Self.problemsMax {
                Output.note("and \(state.deferred.count - Self.problemsMax) more; the state has all.")
            }
            let parts = [
                "\(CountText.text(state.copied, "record")) copied", state.deleted > 0 ? "\(state.deleted) deleted" : "",
                state.skipped > 0 ? "\(state.skipped) left out: shares, or records of users" : "",
                state.deferred.isEmpty ? "" : "\(state.deferred.count) rejected",
            ]
            output.print(
                parts.filter { !$0.isEmpty }.joined(separator: ", "),
                [
                    "copied": "\(state.copied)", "deleted": "\(state.deleted)", "leftOut": "\(state.skipped)",
                    "rejected": "\(state.deferred.count)",
                ])
        }
    }

    struct Pull: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy a database from iCloud to a Tarn server.",
            discussion: Help.discussion(
                """
                A record that the Tarn server has is replaced. Run the command again with the same --state to copy later changes of \
                custom zones, deletions included. Exit code 1: some records were rejected; they are retried by the next run.
                """,
                examples:
                    "tarn icloud pull --container iCloud.org.example.notes --api-token-file api-token --session mia.session --server https://cloud.example.org --token-file mia.token --state pull.json",
                "tarn icloud pull --container iCloud.org.example.notes --database public --type CD_Post --api-token-file api-token --session mia.session --server https://cloud.example.org --token-file mia.token --state public.json"
            ))

        @OptionGroup var iCloud: ICloudAccessOptions
        @OptionGroup var pair: ICloudPairOptions
        @OptionGroup var copy: CopyOptions
        @OptionGroup var output: OutputOptions

        func run() async throws { try await copy.run("pull", ICloudPair(iCloud: iCloud, options: pair), isPull: true, output) }
    }

    struct Push: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy a database from a Tarn server to iCloud.",
            discussion: Help.discussion(
                """
                A record that iCloud has is replaced. Run the command again with the same --state to copy later changes of custom zones, \
                deletions included. Exit code 1: some records were rejected; they are retried by the next run.
                """,
                examples:
                    "tarn icloud push --container iCloud.org.example.notes --api-token-file api-token --session mia.session --server https://cloud.example.org --token-file mia.token --state push.json"
            ))

        @OptionGroup var iCloud: ICloudAccessOptions
        @OptionGroup var pair: ICloudPairOptions
        @OptionGroup var copy: CopyOptions
        @OptionGroup var output: OutputOptions

        func run() async throws { try await copy.run("push", ICloudPair(iCloud: iCloud, options: pair), isPull: false, output) }
    }

    struct Compare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare a database in iCloud with one on a Tarn server, record by record.",
            discussion: Help.discussion(
                """
                Prints each difference, and nothing for records that are equal: in type, parent, fields and the contents of assets. Change \
                tags, times and users are not compared, since each server has its own. Exit code 0: no difference; 2: differences; 1: a \
                failure, or records that could not be compared.
                """,
                examples:
                    "tarn icloud compare --container iCloud.org.example.notes --api-token-file api-token --session mia.session --server https://cloud.example.org --token-file mia.token"
            ))

        @OptionGroup var iCloud: ICloudAccessOptions
        @OptionGroup var pair: ICloudPairOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let pair = ICloudPair(iCloud: iCloud, options: self.pair)
            let line = ProgressLine()
            let output = output
            let comparer = try await pair.withEnds { iCloud, tarn in
                defer { line.end() }
                var comparer = RecordComparer(iCloud: iCloud, tarn: tarn) { zone, name, type, difference in
                    var members = ""
                    var reason = "null"
                    switch difference {
                    case .fields(let names): members = names.map(JSONText.string).joined(separator: ",")
                    case .unreadable(let text): reason = JSONText.string(text)
                    case .onlyInICloud, .onlyInTarn, .recordType, .parent: break
                    }
                    output.print(
                        TerminalText.escaped("\(zone)  \(type.isEmpty ? "-" : type)  \(name)  \(difference.sentence)"),
                        [
                            "zone": JSONText.string(zone), "recordType": JSONText.string(type), "recordName": JSONText.string(name),
                            "difference": JSONText.string(difference.kind), "fields": "[\(members)]", "reason": reason,
                        ])
                }
                comparer.progress = { line.show("Comparing", $0, of: nil, "records") }
                try await pair.options.checkTypes(of: iCloud, tarn)
                let parts = try await pair.options.parts(of: iCloud, tarn)
                if parts.isEmpty { Output.note(pair.options.emptiness(of: iCloud, tarn)) }
                try await comparer.compare(parts)
                return comparer
            }
            let failures = comparer.failed > 0 ? ", \(comparer.failed) not compared" : ""
            Output.note("\(CountText.text(comparer.compared, "record")) compared, \(comparer.differing) differ\(failures).")
            if comparer.failed > 0 { throw ExitCode.failure }
            if comparer.differing > 0 { throw ExitCode(2) }
        }
    }
}
