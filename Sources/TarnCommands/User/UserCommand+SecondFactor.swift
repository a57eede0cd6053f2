// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService

extension UserCommand {
    struct SecondFactor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "second-factor", abstract: "Show whether a user has a second factor, or turn it off.",
            discussion: Help.discussion(
                """
                Users turn it on in the console, at /console/second-factor. Turn it off for a user who lost the authenticator app and the \
                recovery codes.
                """, examples: "tarn user second-factor mia --data ./data", "tarn user second-factor mia --off --data ./data"))

        @Argument(help: "Name of the user.")
        var name: String
        @Flag(help: "Turn it off.")
        var off = false
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            if off {
                try await options.withStore(mustExist: true, name: name, audited: CommandAudit("user.second-factor.off", name)) {
                    try await $0.removeSecondFactor(ofUser: name)
                }
                return
            }
            let state = try await options.withStore(mustExist: true, name: name) { store -> SecondFactorState? in
                try await store.secondFactor(ofAccount: store.requiredAccount(named: name))
            }
            guard let state else { return output.print("off", ["on": "false", "since": "null", "recoveryCodes": "0"]) }
            let since = TimeText.utc(state.since)
            output.print(
                "on since \(since), recovery codes left: \(state.recoveryCodes)",
                ["on": "true", "since": JSONText.string(since), "recoveryCodes": "\(state.recoveryCodes)"])
        }
    }

    struct Identities: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List, add or remove the identities with which a user signs in at an OpenID provider.",
            discussion: Help.discussion(
                """
                An identity is the provider's issuer and the subject that the provider gives the person; addresses and names are not \
                compared. The page of a refused sign-in shows the subject. Removing an identity ends the user's web sessions.
                """, examples: "tarn user identities mia --data ./data"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(help: ArgumentHelp("Subject to add.", valueName: "subject"))
        var add: String?
        @Option(help: ArgumentHelp("Subject to remove.", valueName: "subject"))
        var remove: String?
        @Option(help: ArgumentHelp("Issuer of the subject, as in --oidc-issuer of 'tarn serve'.", valueName: "url"))
        var issuer: String?
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard add == nil || remove == nil else { throw ValidationError("Use either --add or --remove.") }
            guard (add == nil && remove == nil) == (issuer == nil) else {
                throw ValidationError("--add and --remove need --issuer, and nothing else does.")
            }
            guard (1...255).contains((add ?? remove ?? "x").utf8.count) else { throw ValidationError("A subject has 1 to 255 bytes.") }
        }

        func run() async throws {
            if let add, let issuer {
                try await options.withStore(mustExist: true, name: name, audited: CommandAudit("user.identity.add", "\(name), \(add)")) {
                    try await $0.addIdentity(
                        Identity(issuer: issuer, subject: add), ofUser: name, now: CloudService.Surroundings.system.now())
                }
            } else if let remove, let issuer {
                try await options.withStore(
                    mustExist: true, name: name, audited: CommandAudit("user.identity.remove", "\(name), \(remove)")
                ) {
                    try await $0.removeIdentity(Identity(issuer: issuer, subject: remove), ofUser: name)
                }
            } else {
                let identities = try await options.withStore(mustExist: true, name: name) { try await $0.identities(ofUser: name) }
                var table = Table(("ISSUER", "issuer"), ("SUBJECT", "subject"))
                for identity in identities { table.add(.text(identity.issuer), .text(identity.subject)) }
                output.print(table, ifEmpty: "\(name) has no identity: --add SUBJECT --issuer URL adds one.")
            }
        }
    }
}
