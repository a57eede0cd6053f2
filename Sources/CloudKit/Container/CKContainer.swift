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

    /// - Parameter containerIdentifier: By custom `iCloud.` and the app's reversed domain. A wrong one is noticed on
    ///   first use: ``CKError`` with `.badContainer`.
    public init(identifier containerIdentifier: String) {
        self.containerIdentifier = containerIdentifier
        identifier = containerIdentifier
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
        CKDatabase(container: self, scope: databaseScope)
    }

    /// Whether a user is signed in whom the server knows.
    ///
    /// - Throws: ``CKError`` if the server could not be asked.
    public func accountStatus() async throws -> CKAccountStatus {
        do {
            _ = try await client(for: .private).callerIdentity()
            return .available
        } catch {
            guard error.code == .notAuthenticated else { throw error }
            return .noAccount
        }
    }

    /// The signed-in user, as this container knows them.
    public func userRecordID() async throws -> CKRecord.ID {
        CKRecord.ID(recordName: try await client(for: .private).callerIdentity().userRecordName)
    }

    /// The client of one of the databases.
    ///
    /// - Throws: ``CKError`` with `.badContainer` or `.notAuthenticated` and a sentence that says what to configure.
    package func client(for scope: CKDatabase.Scope) throws(CKError) -> CloudDatabaseClient {
        let connection = try ConfigurationRegistry.shared.connection(for: identifier)
        return CloudDatabaseClient(
            containerIdentifier: identifier, environment: connection.environment, scope: scope.wire,
            transport: try connection.transport.get())
    }
}

extension CKContainer {
    /// Says where a container's server is and who is signed in, for this process.
    ///
    /// - Parameters:
    ///   - configuration: Nil takes back what was said, so that environment and files count again.
    ///   - identifier: Nil says it for all containers that have no configuration of their own.
    public class func configure(_ configuration: Configuration?, for identifier: String? = nil) {
        ConfigurationRegistry.shared.set(configuration, for: identifier)
    }

    /// Connects a container to something else than a server at an address, such as an engine in this process.
    package class func connect(_ connection: Connection?, for identifier: String?) {
        ConfigurationRegistry.shared.set(connection, for: identifier)
    }
}

/// Source: Apple's documentation of `CKAccountStatus`.
public enum CKAccountStatus: Int, Sendable {
    case couldNotDetermine = 0
    case available = 1
    case restricted = 2
    case noAccount = 3
    case temporarilyUnavailable = 4
}
