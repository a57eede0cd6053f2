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
                        let partitions = try await store.partitions(containerIdentifier: container, environment: environment)
                        var size = ContainerSize(container: container, environment: environment)
                        for (index, partition) in partitions.enumerated() {
                            progress.show("Counting", index, of: partitions.count, "databases of \(container)")
                            try await store.read(partition) { try Counts($0) }.add(to: &size, isPrivate: partition.scope == .private)
                        }
                        // A container is listed even if it has only tokens or a schema.
                        if !partitions.isEmpty || environment == .development { sizes.append(size) }
                    }
                }
                return sizes
            }
            var table = Table(
                ("CONTAINER", "container"), ("ENVIRONMENT", "environment"), ("USERS", "users"), ("ZONES", "zones"), ("RECORDS", "records"),
                ("SIZE", "recordBytes"), ("ASSETS", "assetBytes"), ("LAST CHANGE", "lastChange"))
            for size in sizes {
                table.add(
                    .text(size.container), .text(size.environment.rawValue), .number(Int64(size.users)), .number(Int64(size.zones)),
                    .number(Int64(size.records)), .bytes(size.bytes.records), .bytes(size.bytes.assets), Table.Cell(time: size.lastChange))
            }
            output.print(table, ifEmpty: "No containers yet: the first save of an app makes one.")
        }
    }
}

/// The size of a container in one environment.
private struct ContainerSize: Sendable {
    var container: String
    var environment: CloudEnvironment
    /// Users with a private database.
    var users = 0
    var zones = 0
    var records = 0
    var bytes = StoredBytes()
    /// Milliseconds since 1970 UTC.
    var lastChange: Int64?
}

/// The counts of one partition.
private struct Counts: Sendable {
    private var zones = 0
    private var records = 0
    private var bytes: StoredBytes
    private var lastChange: Int64?

    init(_ view: any PartitionReader) throws {
        bytes = try view.state().usage
        for zone in try view.zones() where !zone.isDeleted {
            zones += 1
            records += try view.count(ChangeSlice(after: 0), in: zone.key, shares: nil, includingDeleted: false, atMost: .max)
            let newest = ChangeSlice(after: 0, isNewestFirst: true)
            let last = try view.records(newest, in: zone.key, includingDeleted: true, limit: 1, bytesMax: .max).first?.record.modified?
                .timestamp
            lastChange = [lastChange, last].compactMap(\.self).max()
        }
    }

    func add(to size: inout ContainerSize, isPrivate: Bool) {
        size.users += isPrivate ? 1 : 0
        size.zones += zones
        size.records += records
        size.bytes.records += bytes.records
        size.bytes.assets += bytes.assets
        size.lastChange = [size.lastChange, lastChange].compactMap(\.self).max()
    }
}
