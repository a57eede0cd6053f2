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
                "Counts have every record that is not deleted, of the public database and of all users, and sizes are those of quotas.",
                examples: "tarn container list --data ./data", "tarn container list --json | jq -r 'select(.records > 0).container'"))

        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let progress = ProgressLine()
            let sizes = try await options.withStore(mustExist: true) { store in
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
                return sizes
            }
            var table = Table(
                ("CONTAINER", "container"), ("ENVIRONMENT", "environment"), ("USERS", "users"), ("ZONES", "zones"), ("RECORDS", "records"),
                ("SIZE", "recordBytes"), ("ASSETS", "assetBytes"), ("LAST CHANGE", "lastChange"))
            for size in sizes {
                table.add(
                    .text(size.containerIdentifier), .text(size.environment.rawValue), .number(Int64(size.users)),
                    .number(Int64(size.zones)),
                    .number(Int64(size.records)), .bytes(size.bytes.records), .bytes(size.bytes.assets), Table.Cell(time: size.lastChange))
            }
            output.print(table, ifEmpty: "No containers yet: the first save of an app makes one.")
        }
    }
}
