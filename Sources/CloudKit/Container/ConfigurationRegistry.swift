// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation
import Synchronization

/// The connection of a container to its server.
package struct Connection: Sendable {
    /// Differs for each configuration and account, so that work begun with one never continues with another.
    let id = UUID()
    package var environment: CloudEnvironment
    /// A failure if no user is signed in, with the setting to change.
    package var transport: Result<any CloudTransport, CKError>
    /// The transport of an anonymous client, to the public database.
    package var visitor: (any CloudTransport)?
    package var clock: ClientClock
    /// The protocol of the server.
    package var dialect = ServiceDialect.tarn
    /// The transport to iCloud. `nil` for a Tarn server.
    var webServices: WebServicesTransport?
    /// Stores the account's long-lived operations. `nil` stores none.
    package var longLived: LongLivedOperationStore?

    package init(
        environment: CloudEnvironment, transport: any CloudTransport, clock: ClientClock = .real, longLived: LongLivedOperationStore? = nil
    ) {
        self.longLived = longLived
        self.environment = environment
        self.transport = .success(Throttle(transport, clock))
        self.clock = clock
    }

    /// Creates the connection of an anonymous client.
    package init(
        environment: CloudEnvironment, signedOut error: CKError, visitor: (any CloudTransport)? = nil, clock: ClientClock = .real
    ) {
        self.environment = environment
        transport = .failure(error)
        self.visitor = visitor.map { Throttle($0, clock) }
        self.clock = clock
    }

    /// Creates the connection to iCloud, or to a server with its protocol. A signed-out user reads public data.
    package init(environment: CloudEnvironment, webServices: WebServicesTransport, clock: ClientClock = .real) {
        self.environment = environment
        self.clock = clock
        self.webServices = webServices
        dialect = .webServices
        transport = .success(Throttle(webServices, clock))
    }

    init(_ resolved: ResolvedConfiguration, for container: String) {
        environment = resolved.environment
        clock = .real
        let trust: ServerTrust
        do throws(CKError) {
            trust = try resolved.caCertificate.map { path throws(CKError) in try ServerTrust(authorities: path) } ?? .system
        } catch {
            transport = .failure(error)
            return
        }
        if let webServices = resolved.webServices {
            do throws(CKError) {
                let webTransport = WebServicesTransport(
                    HTTPTransport(server: resolved.server, token: nil, trust: trust), apiToken: webServices.apiToken,
                    tokens: try .shared(webServices.sessionFile))
                self.webServices = webTransport
                dialect = .webServices
                transport = .success(Throttle(webTransport, .real))
            } catch {
                transport = .failure(error)
            }
            return
        }
        do throws(CKError) {
            let token = try resolved.signedIn()
            let http = HTTPTransport(server: resolved.server, token: token, trust: trust)
            transport = .success(Throttle(http, .real))
            longLived = LongLivedOperationStore.of(token, container, resolved)
        } catch {
            transport = .failure(error)
            visitor = Throttle(HTTPTransport(server: resolved.server, token: nil, trust: trust), .real)
        }
    }
}

extension Connection {
    /// Public data need no account.
    func transport(for scope: CKDatabase.Scope) throws(CKError) -> any CloudTransport {
        if case .failure = transport, scope == .public, let visitor { return visitor }
        return try transport.get()
    }

    /// The transport that waits in real time for as long as the server asks. With an injected clock, which such a wait
    /// does not advance, requests would stay blocked.
    func transportInRealTime(for scope: CKDatabase.Scope) throws(CKError) -> any CloudTransport {
        let transport = try transport(for: scope)
        guard !clock.isReal, let throttle = transport as? Throttle else { return transport }
        return throttle.base
    }
}

/// The connection of a single container, replaceable while it is in use.
package final class OwnConnection: Sendable {
    private let current: Locked<Connection>

    package init(_ connection: Connection) { current = Locked(connection) }

    package var connection: Connection { current.value }

    package func change(to connection: Connection) { current.update { $0 = connection } }
}

/// The connections of this process: those set in code, and those read from the environment and from files, which are
/// looked up once per container.
final class ConfigurationRegistry: Sendable {
    static let shared = ConfigurationRegistry()

    private enum Setting {
        case configuration(CKContainer.Configuration)
        case connection(Connection)
    }

    private struct State {
        /// By container. `nil` is the default of all.
        var settings: [String?: Setting] = [:]
        var connections: [String: Connection] = [:]
        /// Incremented with every setting, so that a lookup that began earlier is discarded.
        var generation = 0
    }

    private let state = Mutex(State())

    func set(_ configuration: CKContainer.Configuration?, for identifier: String?) {
        set(configuration.map { Setting.configuration($0) }, for: identifier)
    }

    func set(_ connection: Connection?, for identifier: String?) {
        set(connection.map { Setting.connection($0) }, for: identifier)
    }

    /// A setting for one identifier leaves the connections of others alone. A new connection would look like a change
    /// of account to their users.
    private func set(_ setting: Setting?, for identifier: String?) {
        state.withLock { state in
            state.settings[identifier] = setting
            if let identifier { state.connections[identifier] = nil } else { state.connections.removeAll() }
            state.generation += 1
        }
    }

    /// Makes the next use of a container connect anew, so that its users notice another account.
    func reconnect(_ identifier: String) {
        state.withLock { state in
            state.connections[identifier] = nil
            state.generation += 1
        }
    }

    /// All callers get the same connection until another one is set, concurrent callers too.
    func connection(for identifier: String) throws(CKError) -> Connection {
        while true {
            let (cachedConnection, setting, generation) = state.withLock { state in
                (state.connections[identifier], state.settings[identifier] ?? state.settings[nil], state.generation)
            }
            if let cachedConnection { return cachedConnection }
            var code: CKContainer.Configuration?
            switch setting {
            case .connection(let connection): return connection
            case .configuration(let configuration): code = configuration
            case nil: break
            }
            let sources = code.map { ConfigurationSources(code: $0) } ?? ConfigurationSources.ofThisProcess()
            let newConnection = Connection(try ConfigurationResolver.resolve(container: identifier, sources), for: identifier)
            let connection = state.withLock { state -> Connection? in
                // A concurrent call set another connection.
                guard state.generation == generation else { return nil }
                if let first = state.connections[identifier] { return first }
                state.connections[identifier] = newConnection
                return newConnection
            }
            if let connection { return connection }
        }
    }
}

extension ConfigurationSources {
    static let fileName = "tarn.json"

    /// The environment and the files of this process.
    static func ofThisProcess() -> ConfigurationSources {
        let environment = ProcessInfo.processInfo.environment
        let paths = candidates(environment: environment, executable: Bundle.main.executableURL)
        let files = paths.filter { FileManager.default.fileExists(atPath: $0.path) }.map { url in
            File(path: url.path, content: (try? Data(contentsOf: url)).map { Array($0) })
        }
        return ConfigurationSources(environment: environment, files: files, searchedPaths: paths.map(\.path))
    }

    /// The files to look for, in order of precedence.
    ///
    /// Source: *XDG Base Directory Specification*: the folder is `$XDG_CONFIG_HOME`, if that is absolute, else
    /// `~/.config`.
    static func candidates(environment: [String: String], executable: URL?) -> [URL] {
        var folders: [URL] = []
        if let executable { folders.append(executable.deletingLastPathComponent()) }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            folders.append(URL(fileURLWithPath: folder).appendingPathComponent("tarn"))
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            folders.append(URL(fileURLWithPath: home).appendingPathComponent(".config/tarn"))
        }
        return folders.map { $0.appendingPathComponent(fileName) }
    }
}
