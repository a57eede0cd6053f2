// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Pages of one container in one environment: `/console/c/{container}/{environment}/…`.
struct ContainerPages {
    /// The pages of a container, by the first component of their paths below the environment.
    enum Route: String, CaseIterable {
        case types, schema, tokens, roles, reach, records, consent, subscriptions, zones
    }

    let pages: ConsolePages
    let visit: ConsolePages.Visit
    var container = ""
    var environment = CloudEnvironment.development

    init(pages: ConsolePages, visit: ConsolePages.Visit) {
        self.pages = pages
        self.visit = visit
    }

    var service: CloudService { pages.console.service }
    var schemas: SchemaService { service.schema(of: container) }
    /// Path below the environment, with the names that ``NameSegment`` encodes.
    var pathComponents: [String] { visit.path.dropFirst(3).map(NameSegment.name) }
    var base: String { "/console/c/\(container)/\(environment.rawValue)" }

    func respond() async throws -> ServiceResponse {
        guard visit.path.count >= 4, PathSegments.isContainerIdentifier(visit.path[1]),
            let environment = CloudEnvironment(rawValue: visit.path[2])
        else { return problem("This page does not exist.", status: 404) }
        var target = self
        target.container = visit.path[1]
        target.environment = environment
        switch Route(rawValue: target.pathComponents[0]) {
        case .types: return try await target.types()
        case .schema: return try await target.schema()
        case .tokens: return try await target.tokens()
        case .roles: return try await target.roles()
        case .reach: return try await ReachPage(parent: target).respond()
        case .records: return try await RecordPages(parent: target).respond()
        case .consent: return try await ConsentPage(parent: target).respond()
        case .subscriptions: return try await SubscriptionPages(parent: target).respond()
        case .zones: return try await ZonePages(parent: target).respond()
        case nil: return problem("This page does not exist.", status: 404)
        }
    }

    func page(_ template: String, _ values: [String: Any], title: String, scripts: [String] = [], status: Int = 200) -> ServiceResponse {
        pages.page(template, values, title: title, visit, container: container, environment: environment, scripts: scripts, status: status)
    }

    func problem(_ text: String, status: Int) -> ServiceResponse { pages.problem(text, status: status, visit) }

    /// A page with a script that sends requests through `/cloudkit.js`.
    func page(_ template: String, _ values: [String: Any], title: String, askingScript script: String) -> ServiceResponse {
        var values = values
        values["asks"] = [["container": container, "environment": environment.rawValue, "code": visit.form]]
        return page(template, values, title: title, scripts: ["/cloudkit.js", "/console-cloud.js", script])
    }

    /// The consent of the user with the private and shared database that the pages show; nil for the operator's own databases.
    var consent: Consent? { visit.consent(for: container, environment) }

    enum Access {
        case reading, writing
    }

    /// The operator's call: as an operator in the public database, as a user in the operator's own databases or in those of a consent.
    ///
    /// - Throws: `WireError` with `.accessDenied` for writing with such a permission.
    func call(_ scope: DatabaseScope, _ access: Access) async throws -> Call {
        let consent = scope == .public ? nil : consent
        if let consent, access == .writing {
            throw WireError(
                .accessDenied,
                "\(consent.accountName) permitted to read, not to change. Stop reading their data to change your own.")
        }
        if let consent { service.consents.noteLook(with: consent, network: visit.request.network) }
        let name = try await service.userRecordName(of: consent?.account ?? visit.account, in: container)
        let partition = Partition(
            containerIdentifier: container, environment: environment, scope: scope,
            owner: scope == .public ? Partition.publicOwner : name)
        var call = service.call(
            partition,
            Caller(userRecordName: name, deviceID: "console", kind: scope == .public ? .operator : .user),
            baseURL: visit.request.baseURL)
        // Work of the account, not of the server itself: it waits its turn, and ends with the account.
        call.requester = "\(WorkTerms.accountPrefix)\(visit.account)"
        call.capabilities = [.publicChanges, .serverRecord]
        call.queriesUnmarkedFields = environment == .development
        return call
    }

    func ask<Response: WireMessage>(
        _ operation: ServicePath.Operation, _ message: (any WireMessage)?, _ scope: DatabaseScope,
        _ type: Response.Type = Response.self
    ) async throws -> Response {
        try Response(
            json: try await service.perform(
                operation, message?.encoded() ?? [], as: try await call(scope, operation.changesData ? .writing : .reading)))
    }

    // MARK: Roles

    /// Assigns the schema's custom roles to accounts.
    private func roles() async throws -> ServiceResponse {
        let accounts = try await pages.console.storage.profiles().map(\.accountName)
        let chosen = (visit.isPost ? visit.fields["account"] : visit.query["account"]).flatMap { accounts.contains($0) ? $0 : nil }
        var values: [String: Any] = [:]
        var held: Set<String> = []
        var all = Array(try await schemas.export(environment).roles)
        if let chosen, let account = try await pages.console.storage.account(named: chosen) {
            let user = try await service.userRecordName(of: account, in: container)
            if visit.isPost {
                let wanted = Set(all.filter { visit.fields["r.\($0)"] != nil })
                try await service.roles.set(wanted, ofUser: user, containerIdentifier: container, environment: environment)
                values["saved"] = "The roles of \(chosen) were saved."
            }
            (all, held) = try await service.roles.list(ofUser: user, containerIdentifier: container, environment: environment)
            values["chosen"] = chosen
        }
        values["accounts"] = accounts.map { ["name": $0, "isOn": $0 == chosen] as [String: Any] }
        if !all.isEmpty { values["hasRoles"] = true }
        values["roles"] = all.sorted().map { ["name": $0, "isOn": held.contains($0)] as [String: Any] }
        return page("roles", values, title: "Roles")
    }
}
