// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudWire
import Foundation
import SystemSupport

/// The database and zone that a command works on, in a server's data or on a server.
struct RecordTarget: ParsableArguments {
    @Option(help: ContainerOptions.containerHelp)
    var container: String
    @Option(help: ContainerOptions.environmentHelp)
    var environment = CloudEnvironment.development
    @Option(
        help: ArgumentHelp(
            "public or private; given once more, the servers' PostgreSQL database, such as postgres://user@host:port/name. (default: public)",
            valueName: "database"))
    var database: [RecordPlaceOption] = []
    @Option(help: ArgumentHelp("Owner of the private database. On a server it is the operator.", valueName: "name"))
    var user: String?
    @Option(help: ArgumentHelp("Name of the zone. (default: the default zone)", valueName: "name"))
    var zone: String?
    @Option(help: ArgumentHelp("Address of a running server, instead of a data folder.", valueName: "url"))
    var server: String?
    @Option(
        help: ArgumentHelp(
            "File with an operator's key for --server, readable by its owner only; TARN_OPERATOR_KEY has a key, too.", valueName: "path"))
    var keyFile: String?
    @Option(help: ServerData.folderHelp)
    var data = ServerData.standardFolder
    @Option(help: ServerData.settingsHelp)
    var config: String?

    private var scope: RecordScope { database.lazy.compactMap(\.scope).first ?? .public }
    private var address: String? { database.lazy.compactMap(\.address).first }

    func validate() throws {
        try ContainerOptions.check(container)
        guard database.count(where: { $0.scope != nil }) < 2, database.count(where: { $0.address != nil }) < 2 else {
            throw ValidationError("--database is given once as public or private, and once as the address of a database.")
        }
        guard server == nil || address == nil else {
            throw ValidationError("Use either --server or the address of a database.")
        }
        guard scope == .private || user == nil else { throw ValidationError("--user goes with --database private.") }
        if server == nil {
            guard scope == .public || user != nil else { throw ValidationError("A private database has an owner: name it with --user.") }
            guard keyFile == nil else { throw ValidationError("--key-file goes with --server.") }
        } else if user != nil {
            throw ValidationError("A server shows an operator the public databases and the operator's own private ones: leave --user out.")
        }
        if let server, !Self.isAddress(server) {
            throw ValidationError("'\(server)' isn't the address of a server, such as https://cloud.example.org.")
        }
    }

    /// Scheme and host, and no user, query or fragment.
    static func isAddress(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme?.lowercased()) else { return false }
        return parts.host?.isEmpty == false && parts.user == nil && parts.password == nil && parts.query == nil && parts.fragment == nil
    }

    var zoneID: ZoneID { zone.map { ZoneID(zoneName: $0) } ?? .defaultZone }

    /// The database and zone, for sentences.
    var place: String { "zone \(zoneID.zoneName) of \(databaseName)" }

    private var databaseName: String {
        let database = user.map { "the private database of \($0)" } ?? "the \(scope.rawValue) database"
        return "\(database), \(container), \(environment.rawValue)"
    }

    /// Runs `body` with the zone's records, and translates rejected requests into sentences.
    ///
    /// - Parameters:
    ///   - action: Name of the command in the audit log of the data. A server writes its own.
    ///   - types: The record types that the command is about, for the suggestion of a near name.
    ///   - fields: Fields of the first type that have to exist.
    func withDatabase<Value>(
        _ action: String, types: [String] = [], fields: [String] = [], _ body: (RecordDatabase) async throws -> Value
    ) async throws -> Value {
        if let server {
            // An export of several types has no other sign of a mistyped one, and a deletion none of a mistyped container.
            if !fields.isEmpty || types.count > 1 || action == "delete" { try await checkServer(types: types, fields: fields) }
            let carrier = RemoteCarrier(
                server: try RemoteServer(address: server, keyFile: keyFile),
                path: ServicePath(containerIdentifier: container, environment: environment, scope: scope.scope, operation: .queryRecords)
            )
            return try await translating(RecordDatabase(carrier: carrier, zoneID: zoneID), body)
        }
        let audit = CommandAudit("record.\(action)", "\(container) \(environment.rawValue) \(user ?? "public")")
        let place = try ServerData(folder: data, database: address, settingsFile: config)
        return try await place.withStore(mustExist: true, name: user ?? "", audited: audit) { store in
            let containers = try await store.containers()
            // In development, the first record creates the container.
            guard containers.contains(container) || environment == .development && (action == "put" || action == "import") else {
                throw CommandError(unknownContainer: container, data: place.shown, among: containers)
            }
            let service = store.service
            let call = try await call(store, service)
            if action != "put", action != "import" { for type in types { try await check(type, store, call) } }
            if let type = types.first, !fields.isEmpty {
                try check(fields, type, try await service.schema(of: container).export(environment))
            }
            return try await translating(RecordDatabase(carrier: FolderCarrier(service: service, call: call), zoneID: zoneID), body)
        }
    }

    private func call(_ store: any OperatedStorage, _ service: CloudService) async throws -> Call {
        var call: Call
        if let user {
            let account = try await store.requiredAccount(named: user)
            let name = try await service.userRecordName(of: account, in: container)
            call = service.call(
                Partition(containerIdentifier: container, environment: environment, owner: name),
                Caller(userRecordName: name, deviceID: "tarn", kind: .user), baseURL: "")
        } else {
            call = service.call(
                Partition(containerIdentifier: container, environment: environment, scope: .public, owner: Partition.publicOwner),
                Caller(userRecordName: "_tarn", deviceID: "tarn", kind: .operator), baseURL: "")
        }
        call.capabilities = [.publicChanges]
        return call
    }

    /// Reports a container, record types, or fields of the first type that the server does not have.
    ///
    /// The server answers a query of such a container like one of an empty container, which the first save of an app creates.
    func checkServer(types: [String] = [], fields: [String] = []) async throws {
        guard let server else { return }
        let client = RemoteAdminClient(server: try RemoteServer(address: server, keyFile: keyFile))
        do {
            let schema = try await client.perform(ExportSchema(container: container, environment: environment)).text
            guard let first = types.first, let schema = try? ContainerSchema(text: schema) else { return }
            for type in types { try check(type, Array(schema.types.keys)) }
            try check(fields, first, schema)
        } catch let error as WireError where error.code == .notFound && error.reason.hasPrefix("could not find handler") {
            // A server of a version without operators' requests.
        } catch let error as WireError {
            throw CommandError(operation: error, server: server)
        }
    }

    private func check(_ type: String, _ store: any OperatedStorage, _ call: Call) async throws {
        try check(type, try await store.read(call.partition) { try $0.recordTypes() })
    }

    private func check(_ fields: [String], _ type: String, _ schema: ContainerSchema) throws {
        guard let known = schema.types[type]?.schema.fields.keys.sorted() else { return }
        for field in fields where !known.contains(field) {
            throw CommandError(
                "The record type \(type) has no field '\(field)'. It has \(known.joined(separator: ", "))."
                    + Suggestion.sentence(for: field, among: known))
        }
    }

    private func check(_ type: String, _ types: [String]) throws {
        let types = types.filter { $0 != UsersType.name }
        guard !types.contains(type), type != UsersType.name else { return }
        let list = types.isEmpty ? "It has no record types yet." : "It has \(types.sorted().joined(separator: ", "))."
        throw CommandError(
            "The record type \(type) does not exist in \(container), \(environment.rawValue). \(list)"
                + Suggestion.sentence(for: type, among: types.sorted()))
    }

    private func translating<Value>(
        _ database: RecordDatabase, _ body: (RecordDatabase) async throws -> Value
    ) async throws -> Value {
        do {
            return try await body(database)
        } catch let error as WireError where error.code == .zoneNotFound {
            throw missingZone(among: try? await database.zoneNames())
        } catch let error as WireError {
            throw CommandError(record: error, place: place)
        }
    }

    /// - Parameter zones: The zones of the database; nil if the server did not list them.
    private func missingZone(among zones: [String]?) -> CommandError {
        let name = zoneID.zoneName
        let custom = zones?.filter { $0 != ZoneID.defaultZoneName }.sorted()
        var step = "'tarn zone list' shows the zones of a user."
        if scope == .public {
            step = "A public database has the default zone only: leave --zone out."
        } else if let custom, custom.isEmpty {
            step = "It has no custom zones: leave --zone out for the default zone."
        } else if let custom {
            step = "It has \(custom.joined(separator: ", ")).\(Suggestion.sentence(for: name, among: custom))"
        }
        return CommandError(TerminalText.escaped("The zone \(name) does not exist in \(databaseName). \(step)"))
    }
}

/// A value of `--database`: the scope of a database, or the address of the servers' database.
enum RecordPlaceOption: ExpressibleByArgument {
    case scope(RecordScope)
    /// Not checked yet. An error of the parser would show it, with a password.
    case address(String)

    init?(argument: String) {
        if let scope = RecordScope(rawValue: argument) {
            self = .scope(scope)
        } else if argument.contains(where: { ":/@=".contains($0) }) {
            self = .address(argument)
        } else {
            return nil
        }
    }

    var scope: RecordScope? { if case .scope(let scope) = self { scope } else { nil } }
    var address: String? { if case .address(let address) = self { address } else { nil } }
}

enum RecordScope: String {
    case `public`, `private`

    var scope: DatabaseScope { self == .public ? .public : .private }
}

extension CommandError {
    /// The error of a rejected request, with the next step.
    init(record error: WireError, place: String) {
        let step =
            switch error.code {
            case .zoneNotFound: "'tarn zone list' shows the zones of a user."
            case .accessDenied: "Use the key of an operator."
            case .quotaExceeded: "Raise the quota with 'tarn user quota', or delete records."
            case .tryAgainLater, .throttled: "Try again in a moment."
            case .badRequest
            where error.reason.contains("queryable") || error.reason.contains("indexable") || error.reason.contains("sortable"):
                "Add the index with 'tarn schema import', or leave --where and --sort out: then no index is needed."
            case .badRequest: RecordValueText.step(after: error.reason) ?? "It is about \(place)."
            default: "It is about \(place)."
            }
        self.init(reason: error.reason, step: step)
    }
}
