// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation
import Synchronization

/// What one container is connected to.
package struct Connection: Sendable {
    /// Another for every configuration and every account: what was begun with one is not carried on with another.
    let id = UUID()
    package var environment: CloudEnvironment
    /// Nil if nobody is signed in; the error says what to do.
    package var transport: Result<any CloudTransport, CKError>
    /// The way of somebody who is not signed in to the public database.
    package var visitor: (any CloudTransport)?
    package var pace: Pace
    /// Where long-lived operations of the account are kept; nil keeps none.
    package var longLived: LongLivedHome?

    package init(
        environment: CloudEnvironment, transport: any CloudTransport, pace: Pace = .real, longLived: LongLivedHome? = nil
    ) {
        self.longLived = longLived
        self.environment = environment
        self.transport = .success(Throttle(transport, pace))
        self.pace = pace
    }

    /// What a container is connected to while nobody is signed in.
    package init(
        environment: CloudEnvironment, signedOut error: CKError, visitor: (any CloudTransport)? = nil, pace: Pace = .real
    ) {
        self.environment = environment
        transport = .failure(error)
        self.visitor = visitor.map { Throttle($0, pace) }
        self.pace = pace
    }

    init(_ resolved: ResolvedConfiguration, for container: String) {
        environment = resolved.environment
        pace = .real
        let trust: ServerTrust
        do throws(CKError) {
            trust = try resolved.caCertificate.map { path throws(CKError) in try ServerTrust(authorities: path) } ?? .system
        } catch {
            transport = .failure(error)
            return
        }
        do throws(CKError) {
            let token = try resolved.signedIn()
            let http = HTTPTransport(server: resolved.server, token: token, trust: trust)
            transport = .success(Throttle(http, .real))
            longLived = LongLivedHome.of(token, container, resolved)
        } catch {
            transport = .failure(error)
            visitor = Throttle(HTTPTransport(server: resolved.server, token: nil, trust: trust), .real)
        }
    }
}

extension Connection {
    /// What everybody may read needs nobody to be signed in.
    func transport(for scope: CKDatabase.Scope) throws(CKError) -> any CloudTransport {
        if case .failure = transport, scope == .public, let visitor { return visitor }
        return try transport.get()
    }

    /// The way of somebody who waits in real time for as long as the server asks. Where the connection has a time of its own,
    /// which that does not move, requests would never be let through again.
    func transportInRealTime(for scope: CKDatabase.Scope) throws(CKError) -> any CloudTransport {
        let transport = try transport(for: scope)
        guard !pace.isReal, let throttle = transport as? Throttle else { return transport }
        return throttle.base
    }
}

/// The connection of single containers, which may change while they are used.
package final class OwnConnection: Sendable {
    private let current: Locked<Connection>

    package init(_ connection: Connection) { current = Locked(connection) }

    package var connection: Connection { current.value }

    package func change(to connection: Connection) { current.update { $0 = connection } }
}

/// The process's connections: those set in code, and those found in the environment and in files, which are looked up
/// once for each container.
final class ConfigurationRegistry: Sendable {
    static let shared = ConfigurationRegistry()

    private enum Setting {
        case configuration(CKContainer.Configuration)
        case connection(Connection)
    }

    private struct State {
        /// By container; nil is for all that have none of their own.
        var settings: [String?: Setting] = [:]
        var found: [String: Connection] = [:]
        /// Raised with every setting, so that what was looked up before does not count after it.
        var generation = 0
    }

    private let state = Mutex(State())

    func set(_ configuration: CKContainer.Configuration?, for identifier: String?) {
        set(configuration.map { Setting.configuration($0) }, for: identifier)
    }

    func set(_ connection: Connection?, for identifier: String?) {
        set(connection.map { Setting.connection($0) }, for: identifier)
    }

    /// A container that is not meant keeps its connection: whoever is set up with it would take another for another account's.
    private func set(_ setting: Setting?, for identifier: String?) {
        state.withLock { state in
            state.settings[identifier] = setting
            if let identifier { state.found[identifier] = nil } else { state.found.removeAll() }
            state.generation += 1
        }
    }

    /// All who ask get the same connection until something else is set, also those who ask at once.
    func connection(for identifier: String) throws(CKError) -> Connection {
        while true {
            let (found, setting, generation) = state.withLock { state in
                (state.found[identifier], state.settings[identifier] ?? state.settings[nil], state.generation)
            }
            if let found { return found }
            var code: CKContainer.Configuration?
            switch setting {
            case .connection(let connection): return connection
            case .configuration(let configuration): code = configuration
            case nil: break
            }
            let sources = code.map { ConfigurationSources(code: $0) } ?? ConfigurationSources.ofThisProcess()
            let made = Connection(try ConfigurationResolver.resolve(container: identifier, sources), for: identifier)
            let connection = state.withLock { state -> Connection? in
                // Something was set meanwhile.
                guard state.generation == generation else { return nil }
                if let first = state.found[identifier] { return first }
                state.found[identifier] = made
                return made
            }
            if let connection { return connection }
        }
    }
}

extension ConfigurationSources {
    static let fileName = "tarn.json"

    /// The environment and files of this process.
    static func ofThisProcess() -> ConfigurationSources {
        let environment = ProcessInfo.processInfo.environment
        let paths = candidates(environment: environment, executable: Bundle.main.executableURL)
        let files = paths.filter { FileManager.default.fileExists(atPath: $0.path) }.map { url in
            File(path: url.path, content: (try? Data(contentsOf: url)).map { Array($0) })
        }
        return ConfigurationSources(environment: environment, files: files, searchedPaths: paths.map(\.path))
    }

    /// Where a file is looked for, the place that counts most first.
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
