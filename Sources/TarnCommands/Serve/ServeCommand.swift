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
            GET /health tells that it runs, /ready that its data can be read, /metrics what Prometheus gathers; the \
            latter two answer this machine only, whoever has the token of the setting operations-token, or everybody. \
            Settings come from a file (NAME = VALUE, with the names of the flags), over it from TARN_HOST, TARN_PORT, \
            TARN_LOG_LEVEL, TARN_LOG_FORMAT, TARN_TLS_CERTIFICATE, TARN_TLS_KEY, TARN_OPERATIONS_ACCESS, \
            TARN_OPERATIONS_TOKEN and TARN_LIMITS, over these from flags.
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
    @Option(help: ArgumentHelp("How the log is written: text, or json for one object a line. (default: text)", valueName: "format"))
    var logFormat: String?
    @Option(help: ArgumentHelp("PEM file with the certificate, and those that lead to its root; the server speaks TLS then.", valueName: "path"))
    var tlsCertificate: String?
    @Option(help: ArgumentHelp("PEM file with the certificate's key.", valueName: "path"))
    var tlsKey: String?
    @Option(help: ArgumentHelp("Who may read /metrics and /ready: local or all. (default: local)", valueName: "who"))
    var operationsAccess: String?
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
        for (name, value) in [
            ("log-format", logFormat), ("tls-certificate", tlsCertificate), ("tls-key", tlsKey), ("operations-access", operationsAccess),
        ] {
            if let value { try settings.set(name, to: value) }
        }
        for text in limit { try settings.setLimit(text) }
        let (host, port, limits, access) = (settings.host, settings.port, settings.limits, settings.access)
        let identity = try settings.identity()
        let logsJSON = settings.logsJSON
        var logger = Logger(label: "tarn") { label in
            guard logsJSON else { return StreamLogHandler.standardError(label: label) }
            return JSONLogHandler { FileHandle.standardError.write(Data($0.utf8)) }
        }
        logger.logLevel = settings.logLevel
        let shownHost = host.contains(":") ? "[\(host)]" : host
        let server = try await CommandError.translating(data: options.data) { [logger] in
            try LocalServer(
                data: options.data, host: host, port: port, limits: limits, identity: identity, access: access, logger: logger)
        }
        let scheme = identity == nil ? "http" : "https"
        try await server.run(endsOnSignals: true) { port in
            Output.line("tarn: listening on \(scheme)://\(shownHost):\(port)")
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
    private let identity: CloudServer.Identity?
    private let access: OperationsAccess
    private let logger: Logger
    private let store: SQLiteServerStore
    private let hub = PushHub()

    /// - Throws: `StorageFailure` if the data folder cannot be used.
    init(
        data: String, host: String, port: Int, limits: Limits = Limits(), identity: CloudServer.Identity? = nil,
        access: OperationsAccess = OperationsAccess(), logger: Logger
    ) throws {
        self.identity = identity
        self.access = access
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
        try await CommandError.translating(data: data) {
            try await store.keepHistory(milliseconds: Int64(limits.historyDays) * 86_400_000, now: surroundings.now())
        }
        let metrics = RequestMetrics {
            let usage = (try? await store.totalUsage()) ?? StoredBytes()
            return [
                ("tarn_commits", "Commits since the server started.", store.commits),
                ("tarn_listeners", "Devices that hold a push stream.", hub.listeners),
                ("tarn_record_bytes", "Bytes of records that count for quotas.", Int(usage.records)),
                ("tarn_asset_bytes", "Bytes of assets that count for quotas.", Int(usage.assets)),
            ]
        }
        let application = try CloudServer.application(
            service: service, pages: Console(service: service, storage: store), host: host, port: port, identity: identity,
            metrics: metrics, access: access, logger: logger, onListening: onListening)
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
