// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire

/// The pages of a server: sign-in for web apps, consents, the operator's console, and `/cloudkit.js`.
///
/// Pages are rendered here; scripts do only the work that needs one. The state is the log of the last requests, their history, the
/// link of the first run, the times at which operators entered their passwords, and removals of accounts in progress.
package struct Console: PageResponder {
    /// The pages that one address serves.
    package enum Part: Sendable {
        case all
        /// Sign-in for web apps, consents, links of shares and `/cloudkit.js`, without the operator's console.
        case apps
        /// The operator's console alone, and nothing of the service but what its pages need.
        case console
    }

    /// Paths of the service that the console's address has: files of assets, which its pages show and send, and its own state.
    private static let servicePaths = [AssetPath.prefix, "/health", "/ready"]

    let service: CloudService
    let storage: any AdministrationStorage
    let log = RequestLog()
    let firstRun = FirstRun()
    let history = ServerHistory()
    var sizes = ContainerSizes()
    var scanBounds = ScanBounds()
    let confirmations = Confirmations()
    let removals = AccountRemovals()
    /// Milliseconds since 1970 UTC.
    let started: Int64
    let settings: [(name: String, value: String)]
    /// Base of the protocol's URLs, if the console's own address does not have them.
    let serviceAddress: String?
    /// Version of the database's format; nil if it is unknown.
    let databaseFormat: Int?
    /// Nil for data that is backed up by dumps of its database.
    let backups: (any ServerBackups)?
    /// Nil for a server that keeps no requests.
    let requestArchive: (any RequestArchive)?
    /// The listening devices of this process; nil for a server that has none.
    let hub: PushHub?
    private let measures: @Sendable () async -> ServerMeasures?
    private(set) var part = Part.all

    /// - Parameters:
    ///   - settings: Names and values for the page of settings, without secrets.
    ///   - serviceAddress: Base of the protocol's URLs for the console on an address of its own; nil for the address of each request.
    ///   - databaseFormat: Version of the database's format, for the page of settings.
    ///   - backups: Makes backups of the server; nil for data that is backed up by dumps of its database.
    ///   - requestArchive: Keeps the requests that fail or are slow; nil keeps none.
    ///   - hub: The listening devices of this process, for the lists of connected devices.
    ///   - measures: The present measures of the server.
    package init(
        service: CloudService, storage: any AdministrationStorage, settings: [(name: String, value: String)] = [],
        serviceAddress: String? = nil, databaseFormat: Int? = nil, backups: (any ServerBackups)? = nil,
        requestArchive: (any RequestArchive)? = nil, hub: PushHub? = nil,
        measures: @escaping @Sendable () async -> ServerMeasures? = { nil }
    ) {
        self.service = service
        self.storage = storage
        self.settings = settings
        self.serviceAddress = serviceAddress
        self.databaseFormat = databaseFormat
        self.backups = backups
        self.requestArchive = requestArchive
        self.hub = hub
        self.measures = measures
        started = service.now
    }

    package func note(_ note: RequestNote) {
        log.add(note)
        history.add(note)
        requestArchive?.add(note)
    }

    /// Takes the server's measures for the charts of the status page. Called once a minute.
    package func measure() async {
        if let measures = await measures() { history.add(measures, now: service.now) }
    }

    /// Counts the records of containers for the overview, until the task is cancelled. Called once.
    package func countContainers() async { await sizes.countInBackground(storage, service) }

    /// The same pages with the same log, for an address that serves a part of them.
    package func serving(_ part: Part) -> Console {
        var console = self
        console.part = part
        return console
    }

    package func respond(to request: ServiceRequest) async -> ServiceResponse? {
        let isConsole = request.path == "/" || request.path == "/console" || request.path.hasPrefix("/console/")
        switch part {
        // Nearly all requests are for the service.
        case .all: return Self.isForService(request.path) ? nil : await page(for: request)
        case .apps: return isConsole || Self.isForService(request.path) ? nil : await page(for: request)
        case .console:
            if Self.servicePaths.contains(where: request.path.hasPrefix) || Self.isPushStream(request.path) { return nil }
            let isFile = request.method == "GET" && WebFile(rawValue: String(request.path.dropFirst())) != nil
            guard isConsole || isFile else { return Page.problem("This address has the console only.", status: 404) }
            return await page(for: request) ?? Page.problem("This page does not exist.", status: 404)
        }
    }

    private static func isForService(_ path: String) -> Bool { path.hasPrefix("/database/") || path.hasPrefix("/device/") }

    /// `tarn watch --server` listens where it sends an operator's requests.
    private static func isPushStream(_ path: String) -> Bool {
        DevicePath.isOne(path) && (try? DevicePath(parsing: path))?.operation == .pushStream
    }

    private func page(for request: ServiceRequest) async -> ServiceResponse? {
        if request.method == "GET", let file = WebFile(rawValue: String(request.path.dropFirst())), let response = Page.file(file) {
            return response
        }
        switch (request.method, request.path) {
        case ("GET", "/"): return Page.redirect("/console")
        case (_, "/signin"): return await anonymous(request) { await SignInPages(console: self).respond(to: request) }
        case (_, ConsentPages.path): return await ConsentPages(console: self).respond(to: request)
        case ("GET", ProviderPages.beginPath): return await anonymous(request) { await ProviderPages(console: self).begin(request) }
        case ("GET", ProviderSignIns.callbackPath):
            return await anonymous(request) { await ProviderPages(console: self).finish(request) }
        default: break
        }
        if request.path.hasPrefix("/share/") { return SharePage.respond(to: request) }
        guard request.path == "/console" || request.path.hasPrefix("/console/") else { return nil }
        do {
            return try await ConsolePages(console: self).respond(to: request)
        } catch {
            return Page.problem(error)
        }
    }

    /// A page for browsers without a session: it counts against the budget of their network.
    private func anonymous(_ request: ServiceRequest, _ respond: () async -> ServiceResponse) async -> ServiceResponse {
        do throws(WireError) {
            try service.budgets.take(ofPagesFrom: request.network)
        } catch {
            return Page.problem(error)
        }
        return await respond()
    }
}
