// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudServer
import CloudService

/// `tarn user`: accounts and device tokens. The server may run at the same time.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Make, list, export and remove accounts.",
        subcommands: [
            Add.self, Token.self, Revoke.self, Sessions.self, SignOut.self, Password.self, SecondFactor.self, Identities.self,
            Profile.self, Roles.self, Quota.self, Usage.self, List.self, Export.self, Remove.self, OperatorKeyCommand.self,
        ])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an account and print its device token.",
            discussion: Help.discussion(
                "The token is printed once; the server keeps only a hash of it.",
                examples: "tarn user add mia --device laptop --data ./data"))

        @Argument(help: "Name of the user: letters, digits and . _ - @")
        var name: String
        @Option(help: ArgumentHelp("What to call the device in lists.", valueName: "label"))
        var device = "first device"
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard AccountName.isValid(name) else { throw ValidationError(AccountName.rule) }
        }

        func run() async throws {
            let token = try await options.perform(AddUser(account: name, device: device), mustExist: false)
            output.print(secret: token.secret, "token", UserCommand.tokenNote(name))
        }
    }

    struct Token: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a token for another device of a user and print it.",
            discussion: Help.discussion(
                "The token is printed once; the server keeps only a hash of it.",
                examples: "tarn user token mia --device phone", "tarn user token mia --device tablet --expires-after 90"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(help: ArgumentHelp("What to call the device in lists.", valueName: "label"))
        var device = "another device"
        @OptionGroup var expiry: ExpiryOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let now = CloudService.Surroundings.system.now()
            let token = try await options.withStore(mustExist: true, name: name, audited: CommandAudit("user.token", "\(name), \(device)"))
            {
                try await $0.addToken(userName: name, deviceLabel: device, now: now, expires: expiry.expires(now: now))
            }
            output.print(secret: token, "token", UserCommand.tokenNote(name))
        }
    }

    static func tokenNote(_ name: String) -> String {
        "Device token for \(name), shown once. Give it to the device as TARN_TOKEN, or in its tarn.json:"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List users and their devices.",
            discussion: Help.discussion(
                examples: "tarn user list --data ./data", "tarn user list --json | jq -r .name",
                "tarn user list --server https://cloud.example.org --key-file operator.key"))

        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let first = ListUsers()
            let users = try await options.withAdminClient(CommandAudit(ListUsers.name, first.subject)) { client in
                var (users, next) = ([Account](), Optional(first))
                while let operation = next {
                    let page = try await client.perform(operation)
                    users += page.users
                    next = page.next.map { ListUsers(after: $0) }
                }
                return users
            }
            var table = Table(("USER", "name"), ("DEVICES", "devices"))
            for user in users { table.add(.text(user.name), .list(user.devices)) }
            output.print(table, ifEmpty: "No users yet: 'tarn user add NAME' makes one.")
        }
    }
}
