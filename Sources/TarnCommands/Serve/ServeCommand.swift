// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import ArgumentParser
import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import Hummingbird
public import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import SystemSupport
import UnixSignals

#if TARN_POSTGRES
    import CloudEnginePostgres
#endif

/// `tarn serve`: the server alone.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server.",
        discussion: Help.discussion(
            """
            Once it accepts requests it prints one line to standard output: 'tarn: listening on http://HOST:PORT'. \
            Its log goes to standard error. SIGTERM and SIGINT end it after the requests in flight. \
            GET /health succeeds while it runs, /ready while its data can be read. \
            GET /metrics returns metrics for Prometheus, for requests that the setting operations-access allows.

            Settings come from a file (NAME = VALUE, # begins a comment), over it from the environment, over both from \
            flags:

            \(settings)

            Limits are set as limit.NAME = NUMBER in the file, as NAME=NUMBER,… in TARN_LIMITS, and by --limit \
            NAME=NUMBER:

            \(limits)
            """, examples: "tarn serve --data ./data", "tarn serve --host 0.0.0.0 --tls-certificate server.pem --tls-key key.pem"))

    private static var settings: String {
        ServerSettings.all.map { "\($0.name), \($0.variable): \($0.what)" }.joined(separator: "\n")
    }

    private static var limits: String {
        Limits.settings.map { "\($0.name) (\(ServerSettings.defaultText(of: $0))): \($0.what)" }.joined(separator: "\n")
    }

    @Option(help: ServerData.folderHelp)
    var data = ServerData.standardFolder
    @Option(help: ServeCommand.help("port", "port"))
    var port: Int?
    @Option(help: ServeCommand.help("host", "address"))
    var host: String?
    @Option(help: ServeCommand.help("log-level", "level"))
    var logLevel: Logger.Level?
    @Option(help: ServeCommand.help("log-format", "format"))
    var logFormat: String?
    @Option(help: ServeCommand.help("tls-certificate", "path"))
    var tlsCertificate: String?
    @Option(help: ServeCommand.help("tls-key", "path"))
    var tlsKey: String?
    @Option(help: ServeCommand.help("operations-access", "scope"))
    var operationsAccess: String?
    @Option(help: ServeCommand.help("public-address", "url"))
    var publicAddress: String?
    @Option(help: ServeCommand.help("console-address", "address"))
    var consoleAddress: String?
    @Option(help: ServeCommand.help("console-public-address", "url"))
    var consolePublicAddress: String?
    @Option(help: ServeCommand.help("trusted-proxies", "addresses"))
    var trustedProxies: String?
    @Option(help: ServeCommand.help("traces", "target"))
    var traces: String?
    @Option(help: ServeCommand.help("without", "names"))
    var without: String?
    @Option(help: ServeCommand.help("database", "url"))
    var database: String?
    @Option(help: ServeCommand.help("assets", "url"))
    var assets: String?
    @Option(help: ServeCommand.help("assets-endpoint", "url"))
    var assetsEndpoint: String?
    @Option(help: ServeCommand.help("assets-region", "name"))
    var assetsRegion: String?
    @Option(help: ServeCommand.help("assets-key-file", "path"))
    var assetsKeyFile: String?
    @Option(help: ServeCommand.help("profile", "name"))
    var profile: String?
    @Option(help: ServeCommand.help("containers", "names"))
    var containers: String?
    @Option(help: ServeCommand.help("development", "who"))
    var development: String?
    @Option(help: ServeCommand.help("oidc-issuer", "url"))
    var oidcIssuer: String?
    @Option(name: .customLong("oidc-client-id"), help: ServeCommand.help("oidc-client-id", "id"))
    var oidcClientID: String?
    @Option(help: ServeCommand.help("oidc-client-secret-file", "path"))
    var oidcClientSecretFile: String?
    @Option(help: ServeCommand.help("oidc-name", "name"))
    var oidcName: String?
    @Option(help: ServeCommand.help("oidc-accounts", "who"))
    var oidcAccounts: String?
    @Option(help: ArgumentHelp("File with settings; TARN_CONFIG names one too.", valueName: "path"))
    var config: String?
    @Option(help: ArgumentHelp("A limit, such as recordBytes=500000; may be repeated.", valueName: "name=number"))
    var limit: [String] = []
    @Flag(help: ArgumentHelp("End when standard input ends.", visibility: .hidden))
    var exitWithParent = false

    private static func help(_ name: String, _ value: String) -> ArgumentHelp {
        ArgumentHelp("\(ServerSettings.sentence(of: name))", valueName: value)
    }

    func validate() throws {
        guard (0...65535).contains(port ?? 0) else { throw ValidationError("A port is a number from 0 to 65535.") }
    }

    /// The effective settings: flags over the environment over the file.
    func settings(environment: [String: String]) throws -> ServerSettings {
        var settings = try ServerSettings(file: config, environment: environment)
        settings.port = port ?? settings.port
        settings.host = host ?? settings.host
        settings.logLevel = logLevel ?? settings.logLevel
        for (name, value) in [
            ("log-format", logFormat), ("tls-certificate", tlsCertificate), ("tls-key", tlsKey), ("operations-access", operationsAccess),
            ("public-address", publicAddress), ("console-address", consoleAddress),
            ("console-public-address", consolePublicAddress), ("trusted-proxies", trustedProxies), ("traces", traces),
            ("without", without), ("database", database), ("assets", assets), ("assets-endpoint", assetsEndpoint),
            ("assets-region", assetsRegion), ("assets-key-file", assetsKeyFile), ("profile", profile), ("containers", containers),
            ("development", development),
            ("oidc-issuer", oidcIssuer), ("oidc-client-id", oidcClientID),
            ("oidc-client-secret-file", oidcClientSecretFile), ("oidc-name", oidcName), ("oidc-accounts", oidcAccounts),
        ] {
            if let value { try settings.set(name, to: value) }
        }
        for text in limit { try settings.setLimit(text) }
        return settings
    }

    func run() async throws {
        if exitWithParent { ParentProcess.exitWhenGone() }
        OpenFiles.allowAll()
        FreedMemory.keepForNextRequest()
        let keepsJournals = StatementJournals.keepInMemory()
        let settings = try settings(environment: ProcessInfo.processInfo.environment)
        let (host, port, limits, access) = (settings.host, settings.port, settings.limits, settings.access)
        let identity = try settings.identity()
        let identitySignIn = try settings.provider.signIn(
            hasPublicAddress: settings.publicAddress != nil, now: CloudService.Surroundings.system.now)
        let objects = try settings.assets.objects(environment: ProcessInfo.processInfo.environment)
        let (logsJSON, traceTarget) = (settings.logsJSON, settings.traces)
        var logger = Logger(label: "tarn") { label in
            guard logsJSON else { return StreamLogHandler.standardError(label: label) }
            return JSONLogHandler { FileHandle.standardError.write(Data($0.utf8)) }
        }
        logger.logLevel = settings.logLevel
        // Not in the line on standard output: programs read the address from it.
        logger.notice("starting", metadata: ["version": "\(TarnVersion.current)"])
        if !keepsJournals { logger.warning("SQLite keeps journals of statements in files, since it was in use before the server started") }
        let shownHost = host.contains(":") ? "[\(host)]" : host
        let scheme = identity == nil ? "http" : "https"
        let consoleAddress = settings.consoleAddress
        // A browser cannot open a wildcard address.
        let reachable = ["0.0.0.0", "::"].contains(host) ? "localhost" : shownHost
        let firstRunLink = FirstRunLink(data: data)
        firstRunLink.remove()
        defer { firstRunLink.remove() }
        @Sendable func showFirstRun(of server: LocalServer, at address: String) async {
            guard let path = try? await server.openFirstRun() else { return }
            do {
                Output.line(try firstRunLink.show(address + path))
            } catch {
                Output.note("tarn: the one-time link for the first operator cannot be written: use 'tarn user profile NAME --operator'.")
            }
        }
        // One of the system's choice stays the same after a move.
        let boundPort = Atomic(port)
        var (place, origin) = (ServerData(folder: data, database: settings.database), ServerData?.none)
        while true {
            let (current, former) = (place, origin)
            let (server, opened) = try await CommandError.translating(data: current.folder, database: current.database) { [logger] in
                try await current.opening(after: former) { place in
                    try LocalServer(
                        data: place.folder, database: place.database, objects: objects, host: host,
                        port: boundPort.load(ordering: .relaxed), limits: limits, identity: identity, access: access,
                        proxies: settings.proxies, publicAddress: settings.publicAddress, consoleAddress: settings.consoleAddress,
                        consolePublicAddress: settings.consolePublicAddress, traces: traceTarget, offered: settings.offered,
                        profile: settings.profile, containerRules: settings.containerRules, identitySignIn: identitySignIn, logger: logger)
                }
            }
            let moved = try await server.run(
                endsOnSignals: true,
                onConsole: { port in
                    // To standard error: the lines of standard output are for programs.
                    let address = settings.consolePublicAddress?.text ?? "\(scheme)://\(consoleAddress?.shown(port: port) ?? "")"
                    Output.note("tarn: console on \(address)")
                    await showFirstRun(of: server, at: address)
                }
            ) { port in
                boundPort.store(port, ordering: .relaxed)
                ProgramPages.release()
                Output.line("tarn: listening on \(scheme)://\(shownHost):\(port)")
                if consoleAddress == nil {
                    await showFirstRun(of: server, at: settings.publicAddress?.text ?? "\(scheme)://\(reachable):\(port)")
                }
            }
            guard let next = try opened.following(moved) else { return }
            logger.notice("the data was moved", metadata: ["to": "\(next.shown)"])
            (place, origin) = (next, opened)
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// A server in this process: store, service, socket and housekeeping.
struct LocalServer {
    private let data: String
    private let database: DatabaseAddress?
    private let host: String
    private let port: Int
    private let limits: Limits
    private let identity: TLSIdentity?
    private let access: OperationsAccess
    private let proxies: TrustedProxies
    private let publicAddress: PublicAddress?
    private let consoleAddress: ListenAddress?
    private let consolePublicAddress: PublicAddress?
    private let traces: SpanTarget?
    private let offered: Set<Capability>
    private let profile: ServiceProfile
    private let containerRules: ContainerRules
    private let logger: Logger
    private let store: any ServerStorage & FileUploads & MovableStorage
    private let objects: S3Assets?
    private let push: any FollowingPushBus
    private let console: Console
    private let service: CloudService
    private let hub: PushHub

    /// - Throws: `StorageFailure` if the data folder cannot be used.
    init(
        data: String, database: DatabaseAddress? = nil, objects: S3Assets? = nil, host: String, port: Int, limits: Limits = Limits(),
        identity: TLSIdentity? = nil,
        access: OperationsAccess = OperationsAccess(), proxies: TrustedProxies = TrustedProxies(),
        publicAddress: PublicAddress? = nil, consoleAddress: ListenAddress? = nil, consolePublicAddress: PublicAddress? = nil,
        traces: SpanTarget? = nil,
        offered: Set<Capability> = Set(Capability.allCases), profile: ServiceProfile = .tarn,
        containerRules: ContainerRules = ContainerRules(),
        identitySignIn: IdentitySignIn? = nil, logger: Logger
    ) throws {
        self.profile = profile
        let limits = profile.limits(limits)
        self.identity = identity
        self.traces = traces
        self.offered = offered
        self.containerRules = containerRules
        self.access = access
        self.proxies = proxies
        self.publicAddress = publicAddress
        self.consoleAddress = consoleAddress
        self.consolePublicAddress = consolePublicAddress
        self.data = data
        self.database = database
        self.host = host
        self.port = port
        self.limits = limits
        self.logger = logger
        self.objects = objects
        hub = PushHub(now: CloudService.Surroundings.system.now)
        (store, push) = try Self.storage(data: data, database: database, objects: objects, hub: hub, logger)
        let snapshots = limits.snapshotBytes > 0 && profile == .tarn ? try SnapshotFolder(data: data) : nil
        service = CloudService(
            engine: Engine(limits: limits, sealer: store.sealer), storage: store, accounts: store, assets: store, push: push,
            surroundings: .system, offered: offered, profile: profile, containerRules: containerRules, identitySignIn: identitySignIn,
            snapshots: snapshots, auditLog: Self.auditLog(logger))
        let scheme = identity == nil ? "http" : "https"
        let consoleText = consoleAddress.map { "\(scheme)://\($0.shown(port: $0.port))" } ?? "the server's own"
        let providerText = identitySignIn.map { "\($0.provider.name), \($0.provider.issuer), accounts: \($0.accounts.rawValue)" } ?? "none"
        let containersText = containerRules.containers?.sorted().joined(separator: ", ") ?? "any"
        let settings: [(name: String, value: String)] = [
            ("data folder", data), ("database", database?.shown ?? "SQLite in the data folder"),
            ("assets", objects?.client.location.shown ?? "in the data folder"), ("address", "\(scheme)://\(host):\(port)"),
            ("public address", publicAddress?.text ?? "as each request names it"), ("console address", consoleText),
            ("console public address", consolePublicAddress?.text ?? "addresses without a DNS name, and localhost"),
            ("identity provider", providerText), ("containers", containersText), ("development", containerRules.development.rawValue),
            ("profile", profile.rawValue),
        ].filter { profile.isShownInSettings || $0.name != "profile" }.filter {
            consoleAddress != nil || $0.name != "console public address"
        }
        // A console of its own does not have the protocol's operations.
        let shownHost = host.contains(":") ? "[\(host)]" : host
        let serviceAddress = consoleAddress == nil ? nil : publicAddress?.text ?? "\(scheme)://\(shownHost):\(port)"
        let backups = (store as? SQLiteServerStore).map { FolderBackups(of: $0, data: data) }
        console = Console(
            service: service, storage: store, settings: settings, serviceAddress: serviceAddress,
            databaseFormat: Self.databaseFormat(database), backups: backups, requestArchive: RequestFiles(data: data), hub: hub
        ) { [store, hub] in
            guard let usage = try? await store.totalUsage() else { return nil }
            return ServerMeasures(
                listeners: hub.listeners, recordBytes: usage.records, assetBytes: usage.assets, commits: store.commits,
                freeBytes: DiskSpace.freeBytes(of: data).map { Int64(clamping: $0) })
        }
    }

    private static func databaseFormat(_ database: DatabaseAddress?) -> Int {
        #if TARN_POSTGRES
            if database != nil { return PostgresServerStore.databaseFormat }
        #endif
        return SQLiteServerStore.databaseFormat
    }

    private static func storage(
        data: String, database: DatabaseAddress?, objects: S3Assets?, hub: PushHub, _ logger: Logger
    ) throws -> (any ServerStorage & FileUploads & MovableStorage, any FollowingPushBus) {
        guard let database else { return (try SQLiteServerStore(path: data, use: .server, objects: objects), hub) }
        try ServerData(folder: data, database: database).checkNoOtherDatabase()
        #if TARN_POSTGRES
            let store = try PostgresServerStore(
                address: database.text, assets: data, objects: objects,
                onSlowStatement: { logger.report($0) })
            return (store, PostgresPushRelay(hub: hub, store: store))
        #else
            throw CommandError.withoutPostgreSQL(database)
        #endif
    }

    /// Checks the store of assets: that it can be used, and that this database is the one whose assets it has.
    ///
    /// - Throws: `CommandError`, also for a database whose assets are in a store that the settings lack.
    private func checkObjects() async throws {
        guard let objects else {
            guard try await store.assetOwner(makesOne: false) != nil else { return }
            throw CommandError("The assets of this server are in an S3-compatible store: name it with --assets, as before.")
        }
        let location = objects.client.location
        if !location.isEncrypted, !location.isLoopback {
            logger.warning(
                "assets are sent without encryption: assets-endpoint begins with http://; use https:// outside of a trusted network")
        }
        do {
            try await store.claimObjects(makesOwner: true)
        } catch let failure as S3Failure {
            throw CommandError(failure, location)
        }
    }

    /// Opens the link that makes the first operator.
    ///
    /// - Returns: Its path and query; nil if the server has an operator.
    func openFirstRun() async throws -> String? { try await console.openFirstRun() }

    /// One line for each event, for collectors of logs: `event=audit`.
    private static func auditLog(_ logger: Logger) -> @Sendable (AuditEvent) -> Void {
        { event in
            logger.notice(
                "audit",
                metadata: [
                    "event": "audit", "actor": "\(event.actor)", "network": "\(event.network)", "action": "\(event.action)",
                    "subject": "\(event.subject)", "outcome": "\(event.outcome.rawValue)",
                ])
        }
    }

    /// Runs until a signal arrives, the task is cancelled, or the data was moved to another database.
    ///
    /// - Returns: The state of the database if the data was moved.
    /// - Throws: `CommandError` if the port cannot be bound.
    func run(
        endsOnSignals: Bool, onConsole: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        onListening: @escaping @Sendable (_ port: Int) async -> Void
    ) async throws -> MoveState? {
        let (store, hub, service, surroundings) = (store, hub, service, service.surroundings)
        try await CommandError.translating(data: data, database: database) {
            try await store.keepHistory(milliseconds: Int64(limits.historyDays) * 86_400_000, now: surroundings.now())
            try await checkObjects()
        }
        let spans = try traces.map { target in
            let send = try target.sender()
            return SpanExporter(now: surroundings.now, randomBytes: surroundings.randomBytes, logger: logger, send: send)
        }
        let metrics = RequestMetrics {
            let usage = (try? await store.totalUsage()) ?? StoredBytes()
            let requests = service.admission.counts
            let snapshots = service.snapshots.counts ?? SnapshotCounts()
            return [
                ("tarn_requests_running", "Requests to databases that run now.", requests.running),
                ("tarn_requests_waiting", "Requests to databases that wait to run.", requests.waiting),
                ("tarn_requests_in_service", "Requests that have arrived and have no response yet.", service.admission.inService),
                ("tarn_requests_shed", "Requests to databases refused since the server started because of an overload.", requests.refused),
                ("tarn_commits", "Commits since the server started.", store.commits),
                ("tarn_listeners", "Devices that hold a push stream.", hub.listeners),
                ("tarn_spans_dropped", "Spans of traces that could not be sent.", spans?.dropped ?? 0),
                ("tarn_record_bytes", "Bytes of records that count for quotas.", Int(usage.records)),
                ("tarn_asset_bytes", "Bytes of assets that count for quotas.", Int(usage.assets)),
                ("tarn_snapshots", "Snapshots of zones that are stored.", snapshots.stored),
                ("tarn_snapshot_bytes", "Bytes of the snapshots that are stored.", Int(snapshots.storedBytes)),
                ("tarn_snapshots_built", "Snapshots built since the server started.", snapshots.built),
                ("tarn_snapshots_failed", "Snapshots that could not be built since the server started.", snapshots.failed),
                ("tarn_snapshots_served", "Requests that read a snapshot since the server started.", snapshots.served),
                ("tarn_snapshot_bytes_served", "Bytes of snapshots sent since the server started.", Int(snapshots.servedBytes)),
            ]
        }
        var services: [any ServiceLifecycle.Service] = []
        if let consoleAddress {
            // The public address is that of the apps' clients. Without one of the console's own, pages of sites with a rebound DNS name
            // are refused.
            services.append(
                try CloudServer.application(
                    service: service, pages: console.serving(.console), host: consoleAddress.host, port: consoleAddress.port,
                    identity: identity, metrics: metrics, spans: spans, access: access, proxies: proxies,
                    publicAddress: consolePublicAddress,
                    refusesOtherNames: true, logger: logger, onListening: onConsole))
        }
        let application = try CloudServer.application(
            service: service, pages: consoleAddress == nil ? console : console.serving(.apps), host: host, port: port, identity: identity,
            metrics: metrics, spans: spans, access: access, proxies: proxies, publicAddress: publicAddress, logger: logger,
            onListening: onListening)
        let housekeeping = Housekeeping(
            store: store, console: console, service: service, hub: hub, push: push, spans: spans, identity: identity,
            auditMilliseconds: Int64(limits.auditDays) * 86_400_000, now: surroundings.now, logger: logger)
        // Services stop in reverse order: push streams end before the HTTP server waits for its requests.
        var configuration = ServiceGroupConfiguration(
            services: services + [application, housekeeping], gracefulShutdownSignals: endsOnSignals ? [.sigterm, .sigint] : [],
            logger: logger)
        // A client with an endless request must not keep the server from stopping.
        configuration.maximumGracefulShutdownDuration = .seconds(limits.stopSeconds)
        let follower = MoveFollower(store: store)
        configuration.services.append(
            ServiceGroupConfiguration.ServiceConfiguration(service: follower, successTerminationBehavior: .gracefullyShutdownGroup))
        let group = ServiceGroup(configuration: configuration)
        do {
            try await group.run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            let other = consoleAddress.map { ", or port \($0.port) of the console with --console-address" } ?? ""
            throw CommandError("Port \(port) is in use: choose another with --port\(other), or 0 to let the system choose.")
        } catch let error as IOError where error.errnoCode == EACCES {
            throw CommandError("Port \(port) is not allowed to you: choose one above 1023 with --port.")
        } catch let error as IOError where error.errnoCode == EADDRNOTAVAIL {
            throw CommandError("This machine has no address \(host): choose one it has with --host.")
        } catch let error as SocketAddressError.UnknownHost {
            throw CommandError("The host '\(error.host)' is unknown: choose an address of this machine with --host.")
        }
        await spans?.flush()
        try await CommandError.translating(data: data, database: database) { try store.close() }
        return follower.state
    }
}
