// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudServer
import CloudService
import CloudWire
import Foundation
import Glibc
import Logging
import SystemSupport

/// The server's settings: flags override the environment, which overrides the file, which overrides defaults.
///
/// | file | environment | flag |
/// |---|---|---|
/// | `host = 127.0.0.1` | `TARN_HOST` | `--host` |
/// | `port = 8080` | `TARN_PORT` | `--port` |
/// | `log-level = info` | `TARN_LOG_LEVEL` | `--log-level` |
/// | `tls-certificate = server.pem`, `tls-key = key.pem` | `TARN_TLS_CERTIFICATE`, `TARN_TLS_KEY` | `--tls-certificate`, `--tls-key` |
/// | `operations-access = token`, `local` or `all` | `TARN_OPERATIONS_ACCESS` | `--operations-access` |
/// | `operations-token = SECRET` | `TARN_OPERATIONS_TOKEN` | none, since others see flags |
/// | `public-address = https://cloud.example.com` | `TARN_PUBLIC_ADDRESS` | `--public-address` |
/// | `console-address = 127.0.0.1:8081` | `TARN_CONSOLE_ADDRESS` | `--console-address` |
/// | `console-public-address = https://console.example.com` | `TARN_CONSOLE_PUBLIC_ADDRESS` | `--console-public-address` |
/// | `trusted-proxies = 10.0.0.7,fd00::/8` | `TARN_TRUSTED_PROXIES` | `--trusted-proxies` |
/// | `log-format = text` or `json` | `TARN_LOG_FORMAT` | `--log-format` |
/// | `traces = http://127.0.0.1:4318/v1/traces` or `file:PATH` | `TARN_TRACES` | `--traces` |
/// | `database = postgres://user@host:port/name` | `TARN_DATABASE` | `--database` |
/// | `assets = s3://BUCKET/PREFIX`, `assets-endpoint`, `assets-region`, `assets-key-file` | `TARN_ASSETS`, … | `--assets`, … |
/// | `without = model-extensions` | `TARN_WITHOUT` | `--without` |
/// | `profile = tarn` or `apple` | `TARN_PROFILE` | `--profile` |
/// | `containers = iCloud.org.example.notes,…` | `TARN_CONTAINERS` | `--containers` |
/// | `development = all`, `operators` or `off` | `TARN_DEVELOPMENT` | `--development` |
/// | `oidc-issuer`, `oidc-client-id`, `oidc-client-secret-file`, `oidc-name`, `oidc-accounts` | `TARN_OIDC_ISSUER`, … | `--oidc-issuer`, … |
/// | `oidc-client-secret = SECRET` | `TARN_OIDC_CLIENT_SECRET` | none, since others see flags |
/// | `limit.recordBytes = 500000` | `TARN_LIMITS=recordBytes=500000,…` | `--limit recordBytes=500000` |
///
/// Lines of the file that begin with `#` are comments.
struct ServerSettings {
    var host = "127.0.0.1"
    var port = 8080
    var logLevel = Logger.Level.info
    var limits = Self.defaultLimits
    /// Allowed containers, and access to the development environment.
    var containerRules = ContainerRules()
    var tlsCertificate: String?
    var tlsKey: String?
    var access = OperationsAccess()
    /// The URL under which clients reach the server, if it is configured.
    var publicAddress: PublicAddress?
    /// The console's own address; nil if it shares the server's.
    var consoleAddress: ListenAddress?
    /// The URL under which operators reach the console's own address.
    var consolePublicAddress: PublicAddress?
    /// Proxies that may report the client's address.
    var proxies = TrustedProxies()
    var logsJSON = false
    var traces: SpanTarget?
    /// Sign-in at an OpenID provider.
    var provider = ProviderSettings()
    /// The PostgreSQL database; nil for SQLite in the data folder.
    var database: DatabaseAddress?
    /// The S3-compatible store of assets.
    var assets = AssetSettings()
    /// The protocol that is offered.
    var profile = ServiceProfile.tarn
    /// Disabled capabilities of Capabilities.md, in the order of the setting.
    var without: [Capability] = []

    /// Enabled capabilities.
    var offered: Set<Capability> { Set(Capability.allCases).subtracting(without) }

    /// Limits of a server on a network: unlike a cloud in a test, it has a rate limit.
    static var defaultLimits: Limits {
        var limits = Limits()
        limits.requestsPerMinute = 12_000
        limits.concurrentRequests = requestsPerProcessor * Processors.count
        return limits
    }

    /// Concurrent requests for each processor. More of them keep no processor busier, and every request waits for all of them: at four
    /// times the capacity of one processor, 64 let accepted requests take 600 ms at the 99th percentile, and 16 take 118 ms.
    private static let requestsPerProcessor = 16

    /// The default of a limit as the help and the guide print it.
    static func defaultText(of limit: Limits.Setting) -> String {
        limit.key == \Limits.concurrentRequests ? "\(requestsPerProcessor) for each processor" : "\(defaultLimits[keyPath: limit.key])"
    }

    init() {}

    /// Each setting with its name in the file, its environment variable and its help. Its flag has the same name.
    static let all: [(name: String, variable: String, what: String)] = [
        ("host", "TARN_HOST", "Address to listen on. (default: 127.0.0.1)"),
        ("port", "TARN_PORT", "Port to listen on; 0 lets the system choose. (default: 8080)"),
        (
            "log-level", "TARN_LOG_LEVEL",
            "Least level of the log: trace, debug, info, notice, warning, error, critical. (default: info)"
        ),
        ("log-format", "TARN_LOG_FORMAT", "How the log is written: text, or json for one object a line. (default: text)"),
        (
            "tls-certificate", "TARN_TLS_CERTIFICATE",
            "PEM file with the certificate, and those that lead to its root; the server speaks TLS then."
        ),
        ("tls-key", "TARN_TLS_KEY", "PEM file with the certificate's key."),
        (
            "operations-access", "TARN_OPERATIONS_ACCESS",
            "Requests that may read /metrics: token (those with the token of operations-token), local (also those over loopback without a gateway) or all. (default: token)"
        ),
        (
            "operations-token", "TARN_OPERATIONS_TOKEN",
            "Bearer token for /metrics, at least 16 characters. It has no flag, since other users of the machine see flags."
        ),
        (
            "public-address", "TARN_PUBLIC_ADDRESS",
            "Address under which clients reach the server, such as https://cloud.example.com. Requests for other hosts are refused, and addresses in answers begin with it. (default: the Host of each request)"
        ),
        (
            "console-address", "TARN_CONSOLE_ADDRESS",
            "Address and port of the console alone, such as 127.0.0.1:8081; the server's own port does not have the console then. (default: the server's own)"
        ),
        (
            "console-public-address", "TARN_CONSOLE_PUBLIC_ADDRESS",
            "Address under which operators reach the console of console-address, such as https://console.example.com. Requests for other hosts are refused. (default: addresses without a DNS name, and localhost)"
        ),
        (
            "trusted-proxies", "TARN_TRUSTED_PROXIES",
            "Addresses or networks of trusted proxies, such as 10.0.0.7,fd00::/8: their X-Forwarded-For has the client's address. (default: none)"
        ),
        (
            "traces", "TARN_TRACES",
            "Where a span of each request goes, in the JSON of the OpenTelemetry protocol: an address of a collector, such as http://127.0.0.1:4318/v1/traces, or file:PATH for one line each second."
        ),
        (
            "without", "TARN_WITHOUT",
            "Capabilities that are not offered, separated by commas, such as model-extensions; Capabilities.md has them. (default: none)"
        ),
        (
            "database", "TARN_DATABASE",
            "PostgreSQL database, such as postgres://user@host:port/name, that any number of servers share; the data folder has the files of assets then. A password belongs into ~/.pgpass or this variable, since others see flags. (default: SQLite in the data folder)"
        ),
        (
            "assets", "TARN_ASSETS",
            "Bucket of an S3-compatible store for the files of assets, such as s3://bucket/prefix; the prefix belongs to one database. The access key is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the file of assets-key-file. (default: the data folder)"
        ),
        (
            "assets-endpoint", "TARN_ASSETS_ENDPOINT",
            "Address of the S3-compatible store, such as https://s3.example.com. (default: that of AWS in the region)"
        ),
        ("assets-region", "TARN_ASSETS_REGION", "Region of the bucket. (default: us-east-1)"),
        (
            "assets-key-file", "TARN_ASSETS_KEY_FILE",
            "File with two lines: the ID of the access key, and its secret. (default: none, the environment)"
        ),
        (
            "profile", "TARN_PROFILE",
            "Protocol to offer: tarn, or apple for tests of clients of iCloud, with what Apple documents and nothing else: no device tokens and capabilities, web auth tokens that are valid for one request, documented limits. (default: tarn)"
        ),
        ("containers", "TARN_CONTAINERS", "Containers that the server has, separated by commas; others are refused. (default: any)"),
        (
            "development", "TARN_DEVELOPMENT",
            "Access to the development environment, where saves create types and fields: all, operators or off. (default: all)"
        ),
        (
            "oidc-issuer", "TARN_OIDC_ISSUER",
            "Issuer of an OpenID provider at which people sign in, such as https://id.example.com; needs public-address, and the provider needs its path /signin/callback as a redirect address."
        ),
        ("oidc-client-id", "TARN_OIDC_CLIENT_ID", "Identifier of this server at the provider."),
        ("oidc-client-secret-file", "TARN_OIDC_CLIENT_SECRET_FILE", "File with the client secret. (default: none, a public client)"),
        (
            "oidc-client-secret", "TARN_OIDC_CLIENT_SECRET",
            "The client secret itself. It has no flag, since other users of the machine see flags."
        ),
        ("oidc-name", "TARN_OIDC_NAME", "Name of the provider on the sign-in page. (default: the issuer's host)"),
        (
            "oidc-accounts", "TARN_OIDC_ACCOUNTS",
            "Identities that may sign in: linked ('tarn user identities' links them to accounts) or created (the first sign-in of a person makes an account). (default: linked)"
        ),
    ]

    static func sentence(of name: String) -> String { all.first { $0.name == name }?.what ?? "" }

    /// The server's certificate and key; nil without TLS.
    ///
    /// - Throws: `CommandError` for unusable files, or if only one is set.
    func identity() throws -> TLSIdentity? {
        guard tlsCertificate != nil || tlsKey != nil else { return nil }
        guard let tlsCertificate, let tlsKey else {
            throw CommandError("TLS needs both a certificate and its key: --tls-certificate and --tls-key.")
        }
        for (path, flag) in [(tlsCertificate, "--tls-certificate"), (tlsKey, "--tls-key")] where Glibc.access(path, R_OK) != 0 {
            let reason = String(cString: strerror(errno)).lowercased()
            throw CommandError("The file \(path) of \(flag) cannot be read (\(reason)): name a PEM file that this user may read.")
        }
        do {
            return try TLSIdentity(certificatePath: tlsCertificate, keyPath: tlsKey)
        } catch {
            throw CommandError(
                "The certificate \(tlsCertificate) and the key \(tlsKey) cannot be used together: both are PEM files, the key the certificate's own."
            )
        }
    }

    /// - Throws: `CommandError` with the invalid value and its source.
    init(file: String?, environment: [String: String]) throws {
        if let path = file ?? environment["TARN_CONFIG"] { try Self.forEachSetting(in: path) { try set($0, to: $1) } }
        for setting in Self.all {
            if let value = environment[setting.variable] { try set(setting.name, to: value) }
        }
        for limit in environment["TARN_LIMITS"]?.split(separator: ",") ?? [] { try setLimit(String(limit)) }
    }

    /// The database of the environment, or else of the file. Other settings are not checked.
    ///
    /// - Throws: `CommandError` for an unusable address or file.
    static func database(file: String?, environment: [String: String]) throws -> DatabaseAddress? {
        if let value = environment["TARN_DATABASE"] { return try DatabaseAddress(value) }
        var address: DatabaseAddress?
        if let path = file ?? environment["TARN_CONFIG"] {
            try forEachSetting(in: path) { name, value in
                if name == "database" { address = try DatabaseAddress(value) }
            }
        }
        return address
    }

    /// Visits the lines of a settings file.
    ///
    /// - Throws: `CommandError` with the line's number.
    private static func forEachSetting(in path: String, _ body: (_ name: String, _ value: String) throws -> Void) throws {
        guard let text = String(bytes: try NamedFile.content(of: path, "with settings"), encoding: .utf8) else {
            throw NamedFile.unreadable(path, "with settings")
        }
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2 else { throw CommandError("\(path):\(number + 1): expected NAME = VALUE.") }
            do {
                try body(parts[0], parts[1])
            } catch let error as CommandError {
                throw CommandError("\(path):\(number + 1): \(error.description)")
            }
        }
    }

    private static func publicAddress(_ name: String, _ value: String) throws -> PublicAddress {
        guard let address = PublicAddress(value) else {
            throw CommandError(
                "\(name) is http:// or https://, a host and, if needed, a port, such as https://cloud.example.com; \(value) is not.")
        }
        return address
    }

    mutating func set(_ name: String, to value: String) throws {
        switch name {
        case "host": host = value
        case "port":
            guard let number = Int(value), (0...65535).contains(number) else {
                throw CommandError("A port is a number from 0 to 65535.")
            }
            port = number
        case "log-level":
            guard let level = Logger.Level(rawValue: value) else {
                throw CommandError("A log level is trace, debug, info, notice, warning, error or critical.")
            }
            logLevel = level
        case "log-format":
            guard value == "text" || value == "json" else { throw CommandError("A log format is text or json.") }
            logsJSON = value == "json"
        case "tls-certificate": tlsCertificate = value
        case "tls-key": tlsKey = value
        case "operations-access":
            guard let scope = OperationsAccess.Scope(rawValue: value) else {
                throw CommandError("operations-access is token, local or all, not \(value).")
            }
            access.scope = scope
        case "operations-token":
            guard value.utf8.count >= 16 else { throw CommandError("A token for operations has at least 16 characters.") }
            access.token = value
        case "public-address": publicAddress = try Self.publicAddress(name, value)
        case "console-public-address": consolePublicAddress = try Self.publicAddress(name, value)
        case "console-address":
            guard let address = ListenAddress(value) else {
                throw CommandError("console-address is an address and a port, such as 127.0.0.1:8081 or [::1]:8081; \(value) is not.")
            }
            consoleAddress = address
        case "trusted-proxies":
            guard let proxies = TrustedProxies(value) else {
                throw CommandError("Trusted proxies are addresses or networks separated by commas, such as 10.0.0.7,fd00::/8.")
            }
            self.proxies = proxies
        case "traces": traces = try SpanTarget(value)
        case "database": database = try DatabaseAddress(value)
        case "without": without = try Self.capabilities(in: value)
        case "containers":
            let containers = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            guard !containers.isEmpty else { throw CommandError("Name at least one container, such as iCloud.org.example.notes.") }
            containerRules.containers = Set(containers)
        case "profile":
            guard let profile = ServiceProfile(rawValue: value) else {
                throw CommandError("The profile is \(ServiceProfile.allCases.map(\.rawValue).joined(separator: " or ")), not '\(value)'.")
            }
            self.profile = profile
        case "development":
            guard let development = ContainerRules.Development(rawValue: value) else {
                throw CommandError("The development environment is open to all, operators or off.")
            }
            containerRules.development = development
        case _ where name.hasPrefix("limit."): try setLimit("\(name.dropFirst(6))=\(value)")
        case _ where try provider.set(name, to: value): break
        case _ where try assets.set(name, to: value): break
        default:
            let names = Self.all.map(\.name)
            throw CommandError(
                "The setting \(name) is unknown. Choose one of \(names.joined(separator: ", ")) and limit.NAME."
                    + Suggestion.sentence(for: name, among: names))
        }
    }

    private static func capabilities(in value: String) throws -> [Capability] {
        try value.split(separator: ",").map { part in
            let name = part.trimmingCharacters(in: .whitespaces)
            guard let capability = Capability(rawValue: name) else {
                let all = Capability.allCases.map(\.rawValue).sorted().joined(separator: ", ")
                throw CommandError("The capability \(name) is unknown. Choose one of \(all).")
            }
            return capability
        }
    }

    /// - Parameter text: `NAME=VALUE`.
    mutating func setLimit(_ text: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 2 else { throw CommandError("A limit is set as NAME=NUMBER, such as recordBytes=500000; '\(text)' is not.") }
        let suggestion = Suggestion.sentence(for: parts[0], among: Limits.settings.map(\.name).filter { $0 != parts[0] })
        let isKnown = Limits.settings.contains { $0.name == parts[0] }
        guard let value = Int(parts[1]) else {
            throw CommandError("The limit \(parts[0]) is a whole number, not '\(parts[1])'.\(isKnown ? "" : suggestion)")
        }
        if let sentence = limits.set(parts[0], to: value) { throw CommandError(sentence + (isKnown ? "" : suggestion)) }
    }
}
