// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService

/// `tarn user operator-key`: the key for `--server`.
struct OperatorKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator-key", abstract: "Make a key with which commands on another machine administer this server.",
        discussion: Help.discussion(
            """
            The user must be an operator. The key has the permissions of the console; the audit log has its actions under the user's \
            name. 'tarn user sessions' lists it, and 'tarn user sign-out' revokes it. It is printed once.
            """,
            examples: "tarn user operator-key mia > operator.key",
            "tarn record query Note --server https://cloud.example.org --container iCloud.org.example.notes --key-file operator.key"))

    @Argument(help: "Name of the operator.")
    var name: String
    @OptionGroup var options: DataOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (key, expires) = try await options.withStore(
            mustExist: true, name: name, audited: CommandAudit("user.operator-key", name)
        ) { store in
            let account = try await store.requiredAccount(named: name)
            guard try await store.profile(ofAccount: account)?.isOperator == true else {
                throw CommandError("\(name) is not an operator: 'tarn user profile \(name) --operator' makes the user one.")
            }
            return try await store.service.sessions.operatorKey(ofAccount: account)
        }
        output.print(
            secret: key, "key",
            "Operator's key of \(name), shown once, until \(TimeText.utc(expires)). Store it in a file that only you can read, for --key-file:"
        )
    }
}
