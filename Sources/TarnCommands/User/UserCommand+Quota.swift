// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire

extension UserCommand {
    struct Quota: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set how much a user's private database may take in each container.",
            discussion: """
                A number of bytes, with kB, MB, GB or TB behind it if you like; 'none' for any number; 'default' for the \
                server's limit userBytes. It holds from the user's next request on.
                """)

        @Argument(help: "Name of the user.")
        var name: String
        @Argument(help: ArgumentHelp("Such as 500MB, none or default.", valueName: "bytes"))
        var bytes: ByteCount
        @OptionGroup var options: DataOptions

        func run() async throws {
            let bytes = bytes.bytes
            try await options.withStore(mustExist: true, name: name) { try await $0.setQuota(bytes, ofUser: name) }
        }
    }

    struct Usage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List what databases take, one a line: user, container, environment, bytes of records, of assets, quota.",
            discussion: "Separated by tabs. Public databases have '-' for the user; a quota that was not set is '-', too.")

        @OptionGroup var options: DataOptions

        func run() async throws {
            for line in try await options.withStore(mustExist: true, { try await $0.usage() }) {
                let fields = [
                    line.userName ?? "-", line.containerIdentifier, line.environment.rawValue, "\(line.usage.records)",
                    "\(line.usage.assets)", line.quota.map { $0 == 0 ? "none" : "\($0)" } ?? "-",
                ]
                Output.line(fields.joined(separator: "\t"))
            }
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
