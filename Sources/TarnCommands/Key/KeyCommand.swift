// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService

/// `tarn key`: the keys with which the server authenticates its tokens and addresses.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "List, rotate and retire the server's authentication keys.",
        discussion: """
            The keys authenticate change tokens, web tokens, sign-ins, and the addresses of assets, couriers and shares. They are in the \
            database and in its backups. The identity of the server's data stays the same.
            """,
        subcommands: [List.self, Rotate.self, Retire.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys by number: which is current, and when it was made.",
            discussion: "Separated by tabs. The first key was made with the data folder and has '-' for its time." + "\n\n"
                + Help.discussion(examples: "tarn key list --data ./data"))

        @OptionGroup var options: DataOptions

        func run() async throws {
            for key in try await options.withStore(mustExist: true, { try await $0.sealingKeyDescriptions() }) {
                let time = key.made.map { UserCommand.Sessions.time($0) } ?? "-"
                Output.line("\(key.number)\t\(key.isCurrent ? "current" : "accepted")\t\(time)")
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new key for all new tokens and addresses.",
            discussion: """
                Earlier keys stay valid until 'tarn key retire': wait a day or more, so that devices and pages have new tokens. A running \
                server uses the new key within a second.
                """ + "\n\n" + Help.discussion(examples: "tarn key rotate --data ./data"))

        @OptionGroup var options: DataOptions

        func run() async throws {
            let now = CloudService.Surroundings.system.now()
            let number = try await options.withStore(mustExist: true, audited: CommandAudit("key.rotate", "server")) {
                try await $0.rotateSealingKey(now: now)
            }
            Output.line("key \(number) is current")
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an earlier key.",
            discussion: """
                Its tokens expire immediately: web sessions sign in again, devices refetch their zones without losing objects, and request \
                new URLs of assets and couriers. Links of shares stay valid; share objects again whose links a leaked key may have revealed.
                """ + "\n\n" + Help.discussion(examples: "tarn key retire 1 --data ./data"))

        @Argument(help: "Number from 'tarn key list'.")
        var number: Int
        @OptionGroup var options: DataOptions

        func run() async throws {
            try await options.withStore(mustExist: true, name: "key \(number)", audited: CommandAudit("key.retire", "\(number)")) {
                try await $0.retireSealingKey(number)
            }
        }
    }
}
