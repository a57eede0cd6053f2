// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// One app's data on a server: a public database, and a private and a shared one for each user.
///
/// Source: Apple's documentation of `CKContainer`. Differs: the server and the account come from ``Configuration``.
public final class CKContainer: NSObject, Sendable {
    /// The identifier of the container, such as `iCloud.org.example.notes`.
    public let containerIdentifier: String?
    private let identifier: String
    /// Queue of added operations. It belongs to the process, since operations outlive their container object.
    static let queue = OperationQueue()
    private let defaults: OperationSettings
    /// The connection of this container alone. `nil` uses the connection set for the identifier.
    private let ownConnection: OwnConnection?

    /// - Parameter containerIdentifier: By convention `iCloud.` and the app's reversed domain. The first use of a wrong
    ///   one throws ``CKError`` with `.badContainer`.
    public convenience init(identifier containerIdentifier: String) {
        self.init(containerIdentifier, OperationSettings(), nil)
    }

    /// Creates a container with a connection of its own, independent of the one set for its identifier.
    package convenience init(identifier: String, connection: OwnConnection) {
        self.init(identifier, OperationSettings(), connection)
    }

    private init(_ identifier: String, _ defaults: OperationSettings, _ ownConnection: OwnConnection?) {
        containerIdentifier = identifier
        self.identifier = identifier
        self.defaults = defaults
        self.ownConnection = ownConnection
    }

    /// The container named by `TARN_CONTAINER`, else `iCloud.` and the bundle identifier or the program's name.
    ///
    /// Differs: Apple takes it from the app's entitlements.
    public class func `default`() -> CKContainer {
        let named = ProcessInfo.processInfo.environment["TARN_CONTAINER"]
        let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return CKContainer(identifier: named ?? "iCloud." + program)
    }

    /// The database that only the signed-in user can read.
    public var privateCloudDatabase: CKDatabase { database(with: .private) }
    /// The database that every client can read.
    public var publicCloudDatabase: CKDatabase { database(with: .public) }
    /// The database with the zones that other users share with the signed-in user.
    public var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    /// Returns the database of a scope.
    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        CKDatabase(container: self, scope: databaseScope, defaults: defaults)
    }

    /// Starts an operation of this container. A database operation without a database runs on the private one.
    public func add(_ operation: CKOperation) {
        operation.addedToContainer = self
        Self.queue.addOperation(operation)
    }

    /// Calls a closure with a container that gives its operations a default configuration.
    ///
    /// - Throws: The error of `body`.
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(identifier, settings(configuration, group), ownConnection))
    }

    /// Calls an async closure with a container that gives its operations a default configuration.
    ///
    /// - Throws: The error of `body`.
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(identifier, settings(configuration, group), ownConnection))
    }

    private func settings(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> OperationSettings {
        var settings = OperationSettings(configuration, under: group)
        settings.fill(from: defaults)
        return settings
    }

    /// Fetches whether a user is signed in and accepted by the server.
    ///
    /// - Throws: ``CKError`` if the server could not be reached.
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

    /// Fetches the record ID of the signed-in user in this container.
    ///
    /// - Throws: ``CKError`` with `.notAuthenticated` if no user is signed in, or why the server could not be reached.
    public func userRecordID() async throws -> CKRecord.ID {
        CKRecord.ID(recordName: try await client(for: .private).callerIdentity().userRecordName)
    }

    /// The clock of the connection.
    package var clock: ClientClock { (try? connection().clock) ?? .real }

    func connection() throws(CKError) -> Connection {
        let connection: Connection
        if let ownConnection {
            connection = ownConnection.connection
        } else {
            connection = try ConfigurationRegistry.shared.connection(for: identifier)
        }
        // The first use of the container resumes the operations of an earlier process.
        connection.longLived?.resumeOperations(self, connection)
        return connection
    }

    /// Returns this container with its present connection and account, so that a later sign-in does not affect it.
    func boundToPresentConnection() throws(CKError) -> CKContainer {
        CKContainer(identifier, defaults, OwnConnection(try connection()))
    }

    /// Returns whether another container has the same connection.
    func hasConnection(of other: CKContainer) -> Bool {
        guard let ownConnection = try? connection(), let otherConnection = try? other.connection() else { return false }
        return ownConnection.id == otherConnection.id
    }

    /// The client of a database.
    ///
    /// - Throws: ``CKError`` with `.badContainer` or `.notAuthenticated`, with the setting to change.
    package func client(for scope: CKDatabase.Scope) throws(CKError) -> CloudDatabaseClient {
        let connection = try connection()
        return CloudDatabaseClient(
            containerIdentifier: identifier, environment: connection.environment, scope: scope.wire,
            transport: try connection.transport(for: scope), dialect: connection.dialect)
    }

    /// The client of a mirrored store, which waits in real time.
    ///
    /// - Throws: As ``client(for:)``.
    package func syncingClient(for scope: CKDatabase.Scope) throws(CKError) -> CloudDatabaseClient {
        var client = try client(for: scope)
        client.transport = try connection().transportInRealTime(for: scope)
        return client
    }
}

extension CKContainer {
    /// Sets the server and the account of a container for this process, and posts `.CKAccountChanged`.
    ///
    /// - Parameters:
    ///   - configuration: `nil` removes the setting, so that environment and files apply again.
    ///   - identifier: `nil` sets the default of all containers.
    public class func configure(_ configuration: Configuration?, for identifier: String? = nil) {
        ConfigurationRegistry.shared.set(configuration, for: identifier)
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
    }

    /// Connects a container to something other than a server at an address, such as an engine in this process.
    package class func connect(_ connection: Connection?, for identifier: String?) {
        ConfigurationRegistry.shared.set(connection, for: identifier)
    }
}

extension Notification.Name {
    /// Posted when the signed-in account changes. The object is the container.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}

/// Whether an account is signed in.
///
/// Source: Apple's documentation of `CKAccountStatus`.
public enum CKAccountStatus: Int, Sendable {
    /// The server could not be reached.
    case couldNotDetermine = 0
    /// A user is signed in and accepted by the server.
    case available = 1
    /// The server restricts the account.
    case restricted = 2
    /// No user is signed in.
    case noAccount = 3
    /// The account needs an action of the user.
    case temporarilyUnavailable = 4
}
