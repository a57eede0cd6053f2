// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import ArgumentParser
import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudPush
import CloudServer
import CloudWire
import Foundation
import Hummingbird
public import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// `tarn serve`: the server alone.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server.",
        discussion: """
            Once it accepts requests it prints one line to standard output: 'tarn: listening on http://HOST:PORT'. \
            Its log goes to standard error. SIGTERM and SIGINT end it after the requests that are under way. \
            GET /health tells that it runs, /ready that its data can be read, /metrics what Prometheus gathers. \
            Settings come from a file (NAME = VALUE), over it from TARN_HOST, TARN_PORT, TARN_LOG_LEVEL and \
            TARN_LIMITS, over these from flags.
            """)

    @OptionGroup var options: DataOptions
    @Option(help: ArgumentHelp("Port to listen on; 0 lets the system choose. (default: 8080)", valueName: "port"))
    var port: Int?
    @Option(help: ArgumentHelp("Address to listen on. (default: 127.0.0.1)", valueName: "address"))
    var host: String?
    @Option(
        help: ArgumentHelp(
            "Least level of the log: trace, debug, info, notice, warning, error, critical. (default: info)", valueName: "level"))
    var logLevel: Logger.Level?
    @Option(help: ArgumentHelp("File with settings; TARN_CONFIG names one too.", valueName: "path"))
    var config: String?
    @Option(
        help: ArgumentHelp(
            "A limit, such as recordBytes=500000; may be repeated. A wrong name lists all.", valueName: "name=number"))
    var limit: [String] = []
    @Flag(help: ArgumentHelp("End when standard input ends.", visibility: .hidden))
    var exitWithParent = false

    func validate() throws {
        guard (0...65535).contains(port ?? 0) else { throw ValidationError("A port is a number from 0 to 65535.") }
    }

    func run() async throws {
        if exitWithParent { ParentProcess.exitWhenGone() }
        var settings = try ServerSettings(file: config, environment: ProcessInfo.processInfo.environment)
        settings.port = port ?? settings.port
        settings.host = host ?? settings.host
        settings.logLevel = logLevel ?? settings.logLevel
        for text in limit { try settings.setLimit(text) }
        let (host, port, limits) = (settings.host, settings.port, settings.limits)
        var logger = Logger(label: "tarn") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = settings.logLevel
        let shownHost = host.contains(":") ? "[\(host)]" : host
        let server = try await CommandError.translating(data: options.data) { [logger] in
            try LocalServer(data: options.data, host: host, port: port, limits: limits, logger: logger)
        }
        try await server.run(endsOnSignals: true) { port in
            Output.line("tarn: listening on http://\(shownHost):\(port)")
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// A server in this process: store, service, socket and housekeeping.
struct LocalServer {
    private let data: String
    private let host: String
    private let port: Int
    private let limits: Limits
    private let logger: Logger
    private let store: SQLiteServerStore
    private let hub = PushHub()

    /// - Throws: `StorageFailure` if the data folder cannot be used.
    init(data: String, host: String, port: Int, limits: Limits = Limits(), logger: Logger) throws {
        self.data = data
        self.host = host
        self.port = port
        self.limits = limits
        self.logger = logger
        store = try SQLiteServerStore(path: data, use: .server)
    }

    /// Runs until a signal comes or the task is cancelled.
    ///
    /// - Throws: `CommandError` if the port cannot be had.
    func run(endsOnSignals: Bool, onListening: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        let surroundings = CloudService.Surroundings.system
        let service = CloudService(
            engine: Engine(limits: limits, sealer: store.sealer), storage: store, accounts: store, assets: store, push: hub,
            surroundings: surroundings)
        let (store, hub) = (store, hub)
        let metrics = RequestMetrics {
            let usage = (try? await store.totalUsage()) ?? StoredBytes()
            return [
                ("tarn_commits", "Commits since the server started.", store.commits),
                ("tarn_listeners", "Devices that hold a push stream.", hub.listeners),
                ("tarn_record_bytes", "Bytes of records that count for quotas.", Int(usage.records)),
                ("tarn_asset_bytes", "Bytes of assets that count for quotas.", Int(usage.assets)),
            ]
        }
        let application = CloudServer.application(
            service: service, pages: Console(service: service, storage: store), host: host, port: port, metrics: metrics,
            logger: logger, onListening: onListening)
        let housekeeping = Housekeeping(store: store, service: service, hub: hub, now: surroundings.now, logger: logger)
        // Services stop in the reverse order: held connections end before the socket waits for its requests.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [application, housekeeping], gracefulShutdownSignals: endsOnSignals ? [.sigterm, .sigint] : [], logger: logger))
        do {
            try await group.run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw CommandError("Port \(port) is in use: choose another with --port, or 0 to let the system choose.")
        } catch let error as IOError where error.errnoCode == EACCES {
            throw CommandError("Port \(port) is not allowed to you: choose one above 1023 with --port.")
        } catch let error as IOError where error.errnoCode == EADDRNOTAVAIL {
            throw CommandError("This machine has no address \(host): choose one it has with --host.")
        }
        try await CommandError.translating(data: data) { try store.close() }
    }
}

/// Heartbeats of held connections, removal of what is no longer needed, and the end of held connections at shutdown.
private struct Housekeeping: ServiceLifecycle.Service {
    private static let interval = Duration.seconds(3600)

    let store: SQLiteServerStore
    let service: CloudService
    let hub: PushHub
    let now: @Sendable () -> Int64
    let logger: Logger

    func run() async throws {
        await withTaskGroup { group in
            group.addTask { await CloudServer.beat(hub) }
            group.addTask { await removeExpired() }
            try? await gracefulShutdown()
            hub.close()
            group.cancelAll()
        }
    }

    private func removeExpired() async {
        while !Task.isCancelled {
            do {
                try await service.deliverPendingNews()
                try await store.removeExpired(now: now())
            } catch {
                let cause = (error as? StorageFailure)?.what ?? "\(type(of: error))"
                logger.error("could not remove what expired", metadata: ["cause": "\(cause)"])
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
