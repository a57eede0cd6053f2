// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudServer
import CloudService
import CloudWire
import Foundation

/// `tarn watch`: the changes of a container as they are saved.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the changes of a container live.",
        discussion: Help.discussion(
            """
            In a data folder or database, shows the changes of the public database and of each user's, also while servers run. With \
            --server, shows those of the public database, by the server's push stream and an operator's key. Prints names and types of records, not \
            their values. Ctrl-C ends it.
            """,
            examples: "tarn watch --container iCloud.org.example.notes --data ./data",
            "tarn watch --container iCloud.org.example.notes --json | jq -r .recordName"))

    @OptionGroup var app: ContainerOptions
    @Option(name: .customLong("type"), help: ArgumentHelp("Only this record type; may be repeated.", valueName: "type"))
    var types: [String] = []
    @Option(help: ArgumentHelp("End after so many changes.", valueName: "count"))
    var count: Int?
    @Option(help: ArgumentHelp("Address of a running server, instead of a data folder.", valueName: "url"))
    var server: String?
    @Option(help: ArgumentHelp("File with an operator's key for --server; TARN_OPERATOR_KEY has a key, too.", valueName: "path"))
    var keyFile: String?
    @OptionGroup var options: DataOptions
    @OptionGroup var output: OutputOptions

    private var container: String { app.container }
    private var environment: CloudEnvironment { app.environment }

    /// Polling interval of a data folder.
    private static let interval = Duration.milliseconds(200)

    func validate() throws {
        guard (1...Int.max).contains(count ?? 1) else { throw ValidationError("--count is a number from 1.") }
        if let server, !RecordTarget.isAddress(server) {
            throw ValidationError("'\(server)' isn't the address of a server, such as https://cloud.example.org.")
        }
        guard server != nil || keyFile == nil else { throw ValidationError("--key-file goes with --server.") }
    }

    func run() async throws {
        if let server { try await watch(server) } else { try await watchFolder() }
    }

    private func begin() {
        Output.note("Watching \(container), \(environment.rawValue). Ctrl-C ends it.")
        if !output.json { Output.line(TextStyle.output.heading(WatchedChange.heading)) }
    }

    /// - Returns: `false` once enough changes were printed.
    private func show(_ changes: [WatchedChange], _ shown: inout Int) -> Bool {
        let now = CloudService.Surroundings.system.now()
        for change in changes where types.isEmpty || types.contains(change.type) {
            Output.line(output.json ? change.json(now: now) : change.text(.output, now: now))
            shown += 1
            if let count, shown >= count { return false }
        }
        return true
    }

    private func watchFolder() async throws {
        // Audited before the first read, since the command may be ended at any moment.
        let place = try options.location()
        try await place.withStore(mustExist: true, audited: CommandAudit("watch", "\(container) \(environment.rawValue)")) { store in
            let containers = try await store.containers()
            guard containers.contains(container) else {
                throw CommandError(unknownContainer: container, data: place.shown, among: containers)
            }
        }
        try await place.withStore(mustExist: true) { store in
            var watch = FolderWatch(store: store, container: container, environment: environment)
            var shown = 0
            _ = try await watch.poll()
            begin()
            while !Task.isCancelled {
                guard show(try await watch.poll(), &shown) else { return }
                // Polls: SQLite has no notification of another process's commits, and PostgreSQL none of all of them.
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    private func watch(_ address: String) async throws {
        let remote = try RemoteServer(address: address, keyFile: keyFile)
        let server = remote.address
        let carrier = RemoteCarrier(
            server: remote,
            path: ServicePath(containerIdentifier: container, environment: environment, scope: .public, operation: .zoneChanges))
        let watch = ServerWatch(
            server: server, container: container, environment: environment,
            database: RecordDatabase(carrier: carrier, zoneID: .defaultZone))
        var (shown, isFirst) = (0, true)
        do {
            try await watch.run(
                {
                    if isFirst { begin() }
                    isFirst = false
                }, { show($0, &shown) })
        } catch let error as WireError {
            throw CommandError(record: error, place: "the public database, \(container), \(environment.rawValue)")
        }
    }
}
