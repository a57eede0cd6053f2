// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService

extension UserCommand {
    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List a user's devices and web sessions.",
            discussion: Help.discussion("Times are UTC; a server stores last uses once a minute.", examples: "tarn user sessions mia"))

        @Argument(help: "Name of the user.")
        var name: String
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let accesses = try await options.perform(ListAccesses(account: name)).accesses
            var table = Table(
                ("KIND", "kind"), ("ID", "id"), ("LABEL", "label"), ("SINCE", "since"), ("LAST USE", "lastUse"), ("NETWORK", "network"),
                ("PLATFORM", "platform"))
            for access in accesses { Self.add(access, to: &table) }
            output.print(table, ifEmpty: "\(name) has no device and no session: 'tarn user token \(name)' makes a token for a device.")
        }

        private static func add(_ access: AccountAccess, to table: inout Table) {
            let (kind, label) =
                switch access.kind {
                case .device(let label, let expires): ("device", label + (expires.map { " (until \(TimeText.utc($0)))" } ?? ""))
                case .session(let use, let device):
                    ("session", use.summary + (use.until.map { " (until \(TimeText.utc($0)))" } ?? "") + (device.map { " (by device \($0))" } ?? ""))
                }
            let use = access.lastUse
            table.add(
                .text(kind), .text(access.id), .text(label), .time(access.began), Table.Cell(time: use?.time), Table.Cell(use?.network),
                Table.Cell(use?.platform))
        }
    }

    struct SignOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign-out", abstract: "End a user's web sessions: all of them, or the one named.",
            discussion: Help.discussion(examples: "tarn user sign-out mia", "tarn user sign-out mia --session 5f0a1b2c3d4e5f60"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(help: ArgumentHelp("Identifier from 'tarn user sessions'.", valueName: "id"))
        var session: String?
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            _ = try await options.perform(EndSessions(account: name, id: session))
            output.printObject(["user": .text(name), "session": Table.Cell(session)])
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke the token of a user's device.",
            discussion: Help.discussion(
                """
                Push streams, courier addresses and web sessions that were made with it end within a second. Name the device by its \
                label, which several may share, or by its identifier from 'tarn user sessions'.
                """, examples: "tarn user revoke mia --device phone"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(help: ArgumentHelp("Label of the device.", valueName: "label"))
        var device: String?
        @Option(help: ArgumentHelp("Identifier of the device.", valueName: "id"))
        var id: String?
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (device == nil) != (id == nil) else { throw ValidationError("Name the device by either --device or --id.") }
        }

        func run() async throws {
            let named: RevokeDevice.Device = if let device { .label(device) } else { .id(id ?? "") }
            _ = try await options.perform(RevokeDevice(account: name, device: named))
            output.printObject(["user": .text(name), "device": Table.Cell(device), "id": Table.Cell(id)])
        }
    }
}
