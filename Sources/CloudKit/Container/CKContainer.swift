// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// One app's data on a server: a public database, and a private and a shared one for each user.
///
/// Source: Apple's documentation of `CKContainer`. Differs: where the server is and who is signed in comes from
/// ``Configuration``.
public final class CKContainer: NSObject, Sendable {
    public let containerIdentifier: String?
    private let identifier: String
    /// Where added operations run; of the process, since containers come and go while operations run.
    static let queue = OperationQueue()
    private let defaults: OperationSettings
    /// What this container alone is connected to; nil leaves it to what is said for its identifier.
    private let own: OwnConnection?

    /// - Parameter containerIdentifier: By custom `iCloud.` and the app's reversed domain. A wrong one is noticed on
    ///   first use: ``CKError`` with `.badContainer`.
    public convenience init(identifier containerIdentifier: String) {
        self.init(containerIdentifier, OperationSettings(), nil)
    }

    /// A container whose connection is its own, whatever is said for its identifier.
    package convenience init(identifier: String, connection: OwnConnection) {
        self.init(identifier, OperationSettings(), connection)
    }

    private init(_ identifier: String, _ defaults: OperationSettings, _ own: OwnConnection?) {
        containerIdentifier = identifier
        self.identifier = identifier
        self.defaults = defaults
        self.own = own
    }

    /// The container that `TARN_CONTAINER` names, else `iCloud.` and the bundle identifier or the program's name.
    ///
    /// Differs: Apple takes it from the app's entitlements.
    public class func `default`() -> CKContainer {
        let named = ProcessInfo.processInfo.environment["TARN_CONTAINER"]
        let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return CKContainer(identifier: named ?? "iCloud." + program)
    }

    public var privateCloudDatabase: CKDatabase { database(with: .private) }
    public var publicCloudDatabase: CKDatabase { database(with: .public) }
    public var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        CKDatabase(container: self, scope: databaseScope, defaults: defaults)
    }

    /// Starts an operation of this container; one on a database that names none works on the private one.
    public func add(_ operation: CKOperation) {
        operation.addedToContainer = self
        Self.queue.addOperation(operation)
    }

    /// Runs something with a container whose operations use a configuration, where they have none of their own.
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(identifier, settings(configuration, group), own))
    }

    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(identifier, settings(configuration, group), own))
    }

    private func settings(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> OperationSettings {
        var settings = OperationSettings(configuration, under: group)
        settings.fill(from: defaults)
        return settings
    }

    /// Whether a user is signed in whom the server knows, and lets in.
    ///
    /// - Throws: ``CKError`` if the server could not be asked.
    public func accountStatus() async throws -> CKAccountStatus {
        do {
            _ = try await client(for: .private).callerIdentity()
            return .available
        } catch {
            switch error.code {
            case .notAuthenticated: return .noAccount
            case .managedAccountRestricted: return .restricted
            case .accountTemporarilyUnavailable: return .temporarilyUnavailable
            default: throw error
            }
        }
    }

    /// The signed-in user, as this container knows them.
    public func userRecordID() async throws -> CKRecord.ID {
        CKRecord.ID(recordName: try await client(for: .private).callerIdentity().userRecordName)
    }

    /// Time as the connection sees it.
    package var pace: Pace { (try? connection().pace) ?? .real }

    func connection() throws(CKError) -> Connection {
        let connection: Connection
        if let own { connection = own.connection } else { connection = try ConfigurationRegistry.shared.connection(for: identifier) }
        // Whoever uses the container lets go on what an earlier process began.
        connection.longLived?.begin(self, connection)
        return connection
    }

    /// This container with the connection it has now, and with its account: whoever signs in later is not meant.
    func asNow() throws(CKError) -> CKContainer {
        CKContainer(identifier, defaults, OwnConnection(try connection()))
    }

    /// Whether another container has the same connection now.
    func hasConnection(of other: CKContainer) -> Bool {
        guard let own = try? connection(), let theirs = try? other.connection() else { return false }
        return own.id == theirs.id
    }

    /// The client of one of the databases.
    ///
    /// - Throws: ``CKError`` with `.badContainer` or `.notAuthenticated` and a sentence that says what to configure.
    package func client(for scope: CKDatabase.Scope) throws(CKError) -> CloudDatabaseClient {
        let connection = try connection()
        return CloudDatabaseClient(
            containerIdentifier: identifier, environment: connection.environment, scope: scope.wire,
            transport: try connection.transport(for: scope))
    }

    /// The client for a store that is synced, which waits in real time.
    ///
    /// - Throws: As ``client(for:)``.
    package func syncingClient(for scope: CKDatabase.Scope) throws(CKError) -> CloudDatabaseClient {
        var client = try client(for: scope)
        client.transport = try connection().transportInRealTime(for: scope)
        return client
    }
}

extension CKContainer {
    /// Says where a container's server is and who is signed in, for this process, and posts `.CKAccountChanged`.
    ///
    /// - Parameters:
    ///   - configuration: Nil takes back what was said, so that environment and files count again.
    ///   - identifier: Nil says it for all containers that have no configuration of their own.
    public class func configure(_ configuration: Configuration?, for identifier: String? = nil) {
        ConfigurationRegistry.shared.set(configuration, for: identifier)
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
    }

    /// Connects a container to something else than a server at an address, such as an engine in this process.
    package class func connect(_ connection: Connection?, for identifier: String?) {
        ConfigurationRegistry.shared.set(connection, for: identifier)
    }
}

extension Notification.Name {
    /// Posted when another account, or none, is signed in; the object is the container.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}

/// Source: Apple's documentation of `CKAccountStatus`.
public enum CKAccountStatus: Int, Sendable {
    case couldNotDetermine = 0
    case available = 1
    case restricted = 2
    case noAccount = 3
    case temporarilyUnavailable = 4
}
