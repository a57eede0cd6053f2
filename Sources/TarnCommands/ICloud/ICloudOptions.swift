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

    @OptionGroup var app: ContainerOptions
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

    func validate() throws { try Self.check(address) }

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

/// Secrets of commands, from files or the environment. They can't be arguments, which other users of the machine see.
enum SecretText {
    /// - Throws: `CommandError` for a missing secret, and for a file that others may read.
    static func read(file: String?, variable: String, environment: [String: String], what: String, flag: String) throws -> String {
        let text: String
        if let file {
            guard let stamp = FileStamp(path: file), let content = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw CommandError("The file \(file) of \(flag) cannot be read.")
            }
            guard !stamp.isOpenToOthers else { throw CommandError("Other users may read the file \(file): run 'chmod 600 \(file)' first.") }
            text = content
        } else if let value = environment[variable] {
            text = value
        } else {
            throw CommandError("The command needs \(what): set \(variable), or name a file with \(flag).")
        }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), trimmed.utf8.count <= 16_384 else {
            throw CommandError("\(file ?? variable) is not one line of printable characters: copy the token again.")
        }
        return trimmed
    }

    /// Trusts the authorities of `TARN_CA_CERTIFICATE` as well, as other commands do.
    static func trust(_ environment: [String: String]) throws -> ServerTrust {
        guard let path = environment["TARN_CA_CERTIFICATE"], !path.isEmpty else { return .system }
        return try ServerTrust(authorities: path)
    }
}

/// The database that is copied or compared, in iCloud and on a Tarn server.
struct ICloudPairOptions: ParsableArguments {
    @OptionGroup var iCloud: ICloudAccessOptions
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

    /// Connects both sides, runs `body`, and translates errors into sentences.
    func withEnds<Value>(_ body: (_ iCloud: CloudEnd, _ tarn: CloudEnd) async throws -> Value) async throws -> Value {
        do {
            let environment = ProcessInfo.processInfo.environment
            guard let address = server ?? environment["TARN_SERVER"] else {
                throw CommandError("The command needs a Tarn server: name it with --server, or in TARN_SERVER.")
            }
            try ICloudAccessOptions.check(address)
            guard let tarnServer = ServerAddress(address) else { throw CommandError("\(address) isn't the address of a server.") }
            let token = try SecretText.read(
                file: tokenFile, variable: "TARN_TOKEN", environment: environment,
                what: "a device token of the user, which 'tarn user token NAME' makes", flag: "--token-file")
            let webServices = try iCloud.transport(environment: environment)
            let tarn = HTTPTransport(
                server: tarnServer, token: CKContainer.Configuration.Token(token), trust: try SecretText.trust(environment))
            return try await body(
                CloudEnd(name: "iCloud", client: client(webServices, .webServices)),
                CloudEnd(name: "The Tarn server", client: client(tarn, .tarn)))
        } catch let error as CKError {
            throw CommandError(iCloud: error)
        }
    }

    private func client(_ transport: any CloudTransport, _ dialect: ServiceDialect) -> CloudDatabaseClient {
        CloudDatabaseClient(
            containerIdentifier: iCloud.app.container, environment: iCloud.app.environment, scope: database.scope, transport: transport,
            dialect: dialect)
    }

    /// The zones and record types to read at one side.
    func parts(of ends: CloudEnd...) async throws -> [CopyPart] {
        var zones: Set<String> = []
        if database == .private { for end in ends { zones.formUnion(try await end.zones()) } }
        for name in zone where !zones.contains(name) { throw CommandError("The zone \(name) does not exist: leave --zone out to use all.") }
        let names = zone.isEmpty ? zones.sorted() : zone
        return names.map { CopyPart(zone: $0, recordType: nil) }
            + type.map { CopyPart(zone: ZoneID.defaultZoneName, recordType: $0) }
    }

    func copy(_ command: String, iCloud: CloudEnd, tarn: CloudEnd) async throws -> CopyState.Copy {
        CopyState.Copy(
            command: command, container: self.iCloud.app.container, environment: self.iCloud.app.environment.rawValue,
            database: database.rawValue, iCloud: self.iCloud.address,
            tarn: server ?? ProcessInfo.processInfo.environment["TARN_SERVER"] ?? "", iCloudUser: try await iCloud.userRecordName(),
            tarnUser: try await tarn.userRecordName())
    }
}

extension RecordScope: ExpressibleByArgument {}

extension CommandError {
    /// The error of a request of `tarn icloud`, with the next step.
    init(iCloud error: CKError) {
        let reason = error.localizedDescription.prefix(1).uppercased() + error.localizedDescription.dropFirst()
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
        self.init("\(reason). \(step)")
    }
}
