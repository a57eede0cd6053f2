// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
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
            discussion: Help.discussion(
                "The first key was made with the data and has no time.", examples: "tarn key list --data ./data"))

        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var table = Table(("NUMBER", "number"), ("STATE", "state"), ("MADE", "made"))
            for key in try await options.withStore(mustExist: true, { try await $0.sealingKeyDescriptions() }) {
                table.add(.number(Int64(key.number)), .text(key.isCurrent ? "current" : "accepted"), Table.Cell(time: key.made))
            }
            output.print(table, ifEmpty: "There are no keys.")
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new key for all new tokens and addresses.",
            discussion: Help.discussion(
                """
                Earlier keys stay valid until 'tarn key retire': wait a day or more, so that devices and pages have new tokens. A running \
                server uses the new key within a second.
                """, examples: "tarn key rotate --data ./data"))

        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let now = CloudService.Surroundings.system.now()
            let number = try await options.withStore(mustExist: true, audited: CommandAudit("key.rotate", "server")) {
                try await $0.rotateSealingKey(now: now)
            }
            output.print("key \(number) is current", ["number": "\(number)"])
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an earlier key.",
            discussion: Help.discussion(
                """
                Its tokens expire immediately: web sessions sign in again, devices refetch their zones without losing objects, and request \
                new URLs of assets and couriers. Links of shares stay valid; share objects again whose links a leaked key may have revealed.
                """, examples: "tarn key retire 1 --data ./data"))

        @Argument(help: "Number from 'tarn key list'.")
        var number: Int
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let isErased = try await options.withStore(
                mustExist: true, name: "key \(number)", audited: CommandAudit("key.retire", "\(number)")
            ) {
                try await $0.retireSealingKey(number)
            }
            output.printObject(["number": .number(Int64(number)), "erased": .flag(isErased)])
            guard !isErased else { return }
            let place = try options.location()
            Output.note(
                place.database == nil
                    ? "The key ended. Its bytes are in \(place.folder)/tarn.sqlite-wal until the server restarts: long reads kept them."
                    : "The key ended. Its bytes are in files of PostgreSQL until they are overwritten, and in dumps and archived logs.")
        }
    }
}
