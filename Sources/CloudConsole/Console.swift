// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire

/// The pages of a server: sign-in for web apps, the operator's console, and `/cloudkit.js`.
///
/// Pages are rendered here; scripts do only the work that needs one. The state is the log of the last requests, their history, and
/// the link of the first run.
package struct Console: PageResponder {
    let service: CloudService
    let storage: any AdministrationStorage
    let log = RequestLog()
    let firstRun = FirstRun()
    let history = ServerHistory()
    /// Milliseconds since 1970 UTC.
    let started: Int64
    let settings: [(name: String, value: String)]
    private let measures: @Sendable () async -> ServerMeasures?

    /// - Parameters:
    ///   - settings: Names and values for the page of settings, without secrets.
    ///   - measures: The present measures of the server.
    package init(
        service: CloudService, storage: any AdministrationStorage, settings: [(name: String, value: String)] = [],
        measures: @escaping @Sendable () async -> ServerMeasures? = { nil }
    ) {
        self.service = service
        self.storage = storage
        self.settings = settings
        self.measures = measures
        started = service.now
    }

    package func note(_ note: RequestNote) {
        log.add(note)
        history.add(note)
    }

    /// Takes the server's measures for the charts of the status page. Called once a minute.
    package func measure() async {
        if let measures = await measures() { history.add(measures, now: service.now) }
    }

    package func respond(to request: ServiceRequest) async -> ServiceResponse? {
        // Nearly all requests are for the service.
        if request.path.hasPrefix("/database/") { return nil }
        if request.method == "GET", let file = WebFile(rawValue: String(request.path.dropFirst())), let response = Page.file(file) {
            return response
        }
        switch (request.method, request.path) {
        case ("GET", "/"): return Page.redirect("/console")
        case (_, "/signin"): return await SignInPages(console: self).respond(to: request)
        default: break
        }
        if request.path.hasPrefix("/share/") { return SharePage.respond(to: request) }
        guard request.path == "/console" || request.path.hasPrefix("/console/") else { return nil }
        do {
            return try await ConsolePages(console: self).respond(to: request)
        } catch let error as WireError {
            return Page.problem(error.reason, status: error.code.httpStatus)
        } catch let refused as SchemaRefused {
            return Page.problem(refused.reasons.joined(separator: "\n"), status: 409)
        } catch let failure as StorageFailure {
            let isOwn = failure.code == .nameTaken || failure.code == .unknownName
            return Page.problem(isOwn ? failure.what : "the server could not read or write its data", status: isOwn ? 409 : 500)
        } catch {
            return Page.problem("the request could not be carried out", status: 500)
        }
    }
}
