// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudService
import CloudWire

extension UserCommand {
    struct Quota: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set how much a user's private database may take in each container.",
            discussion: Help.discussion(
                """
                A number of bytes, with kB, MB, GB or TB behind it if you like; 'none' for any number; 'default' for the \
                server's limit userBytes. It holds from the user's next request on.
                """, examples: "tarn user quota mia 500MB", "tarn user quota mia default"))

        @Argument(help: "Name of the user.")
        var name: String
        @Argument(help: ArgumentHelp("Such as 500MB, none or default.", valueName: "bytes"))
        var bytes: ByteCount
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let bytes = bytes.bytes
            _ = try await options.perform(SetQuota(account: name, bytes: bytes))
            output.printObject(["user": .text(name), "quotaBytes": bytes.map { .bytes($0) } ?? .none])
        }
    }

    struct Usage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the storage that databases use.",
            discussion: Help.discussion(
                "A public database has no user. A quota of 0 means no limit; without a quota, the server's limit userBytes applies.",
                examples: "tarn user usage --data ./data"))

        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var table = Table(
                ("USER", "user"), ("CONTAINER", "container"), ("ENVIRONMENT", "environment"), ("RECORD SIZE", "recordBytes"),
                ("ASSET SIZE", "assetBytes"),
                ("QUOTA", "quotaBytes"))
            for line in try await options.withStore(mustExist: true, { try await $0.usage() }) {
                table.add(
                    Table.Cell(line.userName), .text(line.containerIdentifier), .text(line.environment.rawValue),
                    .bytes(line.usage.records),
                    .bytes(line.usage.assets), line.quota.map { .bytes($0) } ?? .none)
            }
            output.print(table, ifEmpty: "No database has any data yet.")
        }
    }
}

/// `500MB`, `none`, `default`.
struct ByteCount: ExpressibleByArgument, Equatable {
    /// 0 for any number, nil for the default.
    var bytes: Int64?

    init?(argument: String) {
        switch argument {
        case "none": bytes = 0
        case "default": bytes = nil
        default:
            let units: [(String, Int64)] = [("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)]
            let unit = units.first { argument.hasSuffix($0.0) }
            guard let number = Int64(argument.dropLast(unit?.0.count ?? 0)), number > 0 else { return nil }
            let (bytes, overflow) = number.multipliedReportingOverflow(by: unit?.1 ?? 1)
            guard !overflow else { return nil }
            self.bytes = bytes
        }
    }
}
