// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudService
import CloudWire

/// `tarn container`: lists the containers of a server.
struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container", abstract: "List the containers of a server.", subcommands: [List.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List containers and environments with their size and last change.",
            discussion: Help.discussion(
                """
                Counts have the records that are not deleted, of the public database and of all users, and sizes are those of quotas. The \
                counting of a container ends after 1,000,000 records or 10,000 databases: the table then has 1000000+, and JSON has isPartial.
                """,
                examples: "tarn container list --data ./data", "tarn container list --json | jq -r 'select(.records > 0).container'"))

        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let progress = ProgressLine()
            let (sizes, usage) = try await options.withStore(mustExist: true) { store in
                defer { progress.end() }
                var sizes: [ContainerSize] = []
                for container in try await store.containers() {
                    for environment in CloudEnvironment.allCases {
                        let size = try await store.size(ofContainer: container, environment) { index, count in
                            progress.show("Counting", index, of: count, "databases of \(container)")
                        }
                        // A container is listed even if it has only tokens or a schema.
                        if size.databases > 0 || environment == .development { sizes.append(size) }
                    }
                }
                return (sizes, try await store.containerUsage())
            }
            var table = Table(
                ("CONTAINER", "container"), ("ENVIRONMENT", "environment"), ("USERS", "users"), ("ZONES", "zones"), ("RECORDS", "records"),
                ("RECORD SIZE", "recordBytes"), ("ASSET SIZE", "assetBytes"), ("LAST CHANGE", "lastChange"), ("", "isPartial"))
            for size in sizes {
                func count(_ number: Int) -> Table.Cell { size.isPartial ? .atLeast(Int64(number)) : .number(Int64(number)) }
                let stored = usage.first { $0.containerIdentifier == size.containerIdentifier && $0.environment == size.environment }?.usage
                table.add(
                    .text(size.containerIdentifier), .text(size.environment.rawValue), .number(Int64(size.users)), count(size.zones),
                    count(size.records), .bytes(stored?.records ?? 0), .bytes(stored?.assets ?? 0), Table.Cell(time: size.lastChange),
                    .flag(size.isPartial))
            }
            output.print(table, ifEmpty: "No containers yet: the first save of an app makes one.")
        }
    }
}
