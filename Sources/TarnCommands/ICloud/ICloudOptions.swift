// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudKit
import CloudWire
import Foundation
import SystemSupport

/// The access to a container in iCloud.
struct ICloudAccessOptions: ParsableArguments {
    /// The environment variable with an API token.
    static let variable = "TARN_ICLOUD_API_TOKEN"

    @Option(help: ContainerOptions.containerHelp)
    var container: String
    @Option(help: ContainerOptions.environmentHelp)
    var environment = CloudEnvironment.development
    @Option(
        help: ArgumentHelp(
            "File with the API token of the container and environment, from the CloudKit Console; TARN_ICLOUD_API_TOKEN has one, too.",
            valueName: "path"))
    var apiTokenFile: String?
    @Option(help: ArgumentHelp("File that has the signed-in user's web auth token; 'tarn icloud sign-in' makes it.", valueName: "path"))
    var session: String
    @Option(
        name: .customLong("icloud"),
        help: ArgumentHelp("Address of CloudKit web services, or of a server with --profile apple.", valueName: "url"))
    var address = CKContainer.Configuration.iCloudServer

    func validate() throws {
        try ContainerOptions.check(container)
        try Self.check(address)
    }

    /// - Throws: `ValidationError` for an address of another form, or one that would send tokens without encryption.
    static func check(_ address: String) throws {
        guard let server = ServerAddress(address) else {
            throw ValidationError("'\(address)' isn't the address of a server, such as https://cloud.example.org.")
        }
        guard !server.isUnencryptedRemote else {
            throw ValidationError("\(address) is not encrypted, and tokens are secret: use an address that begins with https://.")
        }
    }

    /// - Throws: `CommandError` for missing credentials; `CKError` for a session file that cannot be used.
    func transport(environment: [String: String]) throws -> WebServicesTransport {
        let apiToken = try SecretText.read(
            file: apiTokenFile, variable: Self.variable, environment: environment,
            what: "the API token of the container, which the CloudKit Console makes", flag: "--api-token-file")
        guard let server = ServerAddress(address) else { throw CommandError("\(address) isn't the address of a server.") }
        return WebServicesTransport(
            HTTPTransport(server: server, token: nil, trust: try SecretText.trust(environment)), apiToken: .init(apiToken),
            tokens: try WebAuthTokenStore(URL(fileURLWithPath: session)))
    }
}

/// The database that is copied or compared, and its Tarn server.
struct ICloudPairOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Address of the Tarn server; TARN_SERVER names it, too.", valueName: "url"))
    var server: String?
    @Option(
        help: ArgumentHelp(
            "File with a device token of the user on the Tarn server, as 'tarn user token' prints it; TARN_TOKEN has one, too.",
            valueName: "path"))
    var tokenFile: String?
    @Option(help: ArgumentHelp("private or public.", valueName: "database"))
    var database = RecordScope.private
    @Option(help: ArgumentHelp("Only this custom zone; may be repeated. (default: all)", valueName: "name"))
    var zone: [String] = []
    @Option(
        help: ArgumentHelp(
            "A record type of the default zone; may be repeated. It has no change feed: the type needs the index QUERYABLE on recordName.",
            valueName: "type"))
    var type: [String] = []

    func validate() throws {
        guard database == .private || zone.isEmpty else {
            throw ValidationError("The public database has no custom zones: leave --zone out.")
        }
        guard database == .private || !type.isEmpty else {
            throw ValidationError("The public database has no change feed: name its record types with --type.")
        }
        if let server { try ICloudAccessOptions.check(server) }
    }

    /// The zones and record types to read at one side.
    func parts(of ends: CloudEnd...) async throws -> [CopyPart] {
        var zones: Set<String> = []
        if database == .private { for end in ends { zones.formUnion(try await end.zones()) } }
        for name in zone where !zones.contains(name) {
            let suggestion = Suggestion.sentence(for: name, among: zones.sorted())
            throw CommandError("The zone \(name) does not exist \(Self.places(ends)): leave --zone out to use all.\(suggestion)")
        }
        let names = zone.isEmpty ? zones.sorted() : zone
        return names.map { CopyPart(zone: $0, recordType: nil) }
            + type.map { CopyPart(zone: ZoneID.defaultZoneName, recordType: $0) }
    }
}

extension ICloudPairOptions {
    /// Checks the named record types: a query of one that does not exist would look like one without records.
    ///
    /// - Parameter ends: The source of a copy, or both sides of a comparison.
    /// - Throws: `CommandError` for a type that none of them has.
    func checkTypes(of ends: CloudEnd...) async throws {
        for name in type {
            if try await Self.exists(name, ends) { continue }
            var suggestion = ""
            // No documented request lists the types.
            for candidate in Self.candidates(for: name) {
                guard try await Self.exists(candidate, ends) else { continue }
                suggestion = " Did you mean '\(candidate)'?"
                break
            }
            throw CommandError(
                "The record type \(name) of --type does not exist \(Self.places(ends)), \(database.rawValue) database.\(suggestion)")
        }
    }

    /// A note about a database without zones, which is also that of another user or container.
    func emptiness(of ends: CloudEnd...) -> String {
        "There are no custom zones \(Self.places(ends)): name record types of the default zone with --type, and check container, environment and user."
    }

    /// Names that differ from a mistyped one in Core Data's prefix, the first letter, or the plural.
    private static func candidates(for name: String) -> [String] {
        let prefix = "CD_"
        let entity = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
        let capitalized: String = entity.prefix(1).uppercased() + entity.dropFirst()
        let forms = [entity, capitalized] + (entity.hasSuffix("s") ? [String(capitalized.dropLast())] : [capitalized + "s"])
        var known: Set<String> = [name]
        return forms.flatMap { [$0, prefix + $0] }.filter { known.insert($0).inserted }
    }

    private static func exists(_ type: String, _ ends: [CloudEnd]) async throws -> Bool {
        for end in ends { if try await end.hasRecordType(type) { return true } }
        return false
    }

    /// `in iCloud`, for sentences.
    private static func places(_ ends: [CloudEnd]) -> String { ends.map(\.place).joined(separator: " or ") }
}

/// The database that is copied or compared, in iCloud and on a Tarn server.
struct ICloudPair {
    let iCloud: ICloudAccessOptions
    let options: ICloudPairOptions

    private var scope: RecordScope { options.database }

    /// Connects both sides, runs `body`, and translates errors into sentences.
    func withEnds<Value>(_ body: (_ iCloud: CloudEnd, _ tarn: CloudEnd) async throws -> Value) async throws -> Value {
        do {
            let environment = ProcessInfo.processInfo.environment
            guard let address = options.server ?? environment["TARN_SERVER"] else {
                throw CommandError("The command needs a Tarn server: name it with --server, or in TARN_SERVER.")
            }
            try ICloudAccessOptions.check(address)
            guard let tarnServer = ServerAddress(address) else { throw CommandError("\(address) isn't the address of a server.") }
            let token = try SecretText.read(
                file: options.tokenFile, variable: "TARN_TOKEN", environment: environment,
                what: "a device token of the user, which 'tarn user token NAME' makes", flag: "--token-file")
            let webServices = try iCloud.transport(environment: environment)
            let signals = SessionSignals.watch(webServices.tokens)
            defer { signals.cancel() }
            let tarn = HTTPTransport(
                server: tarnServer, token: CKContainer.Configuration.Token(token), trust: try SecretText.trust(environment))
            return try await body(
                CloudEnd(name: "iCloud", client: client(webServices, .webServices), patience: patience(with: "iCloud")),
                CloudEnd(name: "The Tarn server", client: client(tarn, .tarn), patience: patience(with: "The Tarn server")))
        } catch let error as CKError {
            throw CommandError(iCloud: error)
        } catch let error as CommandError {
            // It may have names and reasons of a server.
            throw CommandError(TerminalText.escaped(error.description))
        }
    }

    /// Reports each delay: a mistyped address looks like a server that is down, for minutes.
    private func patience(with name: String) -> Patience {
        var patience = Patience()
        patience.report = { error, seconds in
            let delay = CountText.text(Int(seconds.rounded(.up)), "second")
            Output.note(TerminalText.escaped("\(name): \(error.localizedDescription). Trying again in \(delay)."))
        }
        return patience
    }

    private func client(_ transport: any CloudTransport, _ dialect: ServiceDialect) -> CloudDatabaseClient {
        CloudDatabaseClient(
            containerIdentifier: iCloud.container, environment: iCloud.environment, scope: scope.scope, transport: transport,
            dialect: dialect)
    }

    func copy(_ command: String, iCloud: CloudEnd, tarn: CloudEnd) async throws -> CopyState.Copy {
        CopyState.Copy(
            command: command, container: self.iCloud.container, environment: self.iCloud.environment.rawValue,
            database: scope.rawValue, iCloud: self.iCloud.address,
            tarn: options.server ?? ProcessInfo.processInfo.environment["TARN_SERVER"] ?? "", iCloudUser: try await iCloud.userRecordName(),
            tarnUser: try await tarn.userRecordName())
    }
}

extension RecordScope: ExpressibleByArgument {}

extension CommandError {
    /// The error of a request of `tarn icloud`, with the next step.
    init(iCloud error: CKError) {
        let step =
            switch error.code {
            case .notAuthenticated:
                "Sign in to iCloud with 'tarn icloud sign-in', and check the API token and the token of the Tarn server. Then run the command again: it continues."
            case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy, .serverResponseLost:
                "Run the command again later: it continues."
            case .invalidArguments where error.localizedDescription.contains("marked"):
                "Add the index QUERYABLE on recordName to the record type in the CloudKit Console, or with 'tarn schema import'."
            default: "Nothing is lost: correct it, and run the command again."
            }
        self.init(reason: error.localizedDescription, step: step)
    }
}
