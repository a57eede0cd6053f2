// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// One of a container's databases.
///
/// The methods for a single item throw that item's error. The methods for many items throw only if the request failed
/// as a whole; each item has a result of its own.
///
/// Source: Apple's documentation of `CKDatabase`. Differs: nothing is retried; see ``CKError/retryAfterSeconds``.
public final class CKDatabase: NSObject, Sendable {
    /// The kinds of databases of a container.
    public enum Scope: Int, Hashable, Sendable, CaseIterable {
        /// Readable by every client.
        case `public` = 1
        /// Readable by the signed-in user only.
        case `private` = 2
        /// The zones that other users share with the signed-in user.
        case shared = 3

        package var wire: DatabaseScope {
            switch self {
            case .public: .public
            case .private: .private
            case .shared: .shared
            }
        }

        package init(_ scope: DatabaseScope) {
            switch scope {
            case .public: self = .public
            case .private: self = .private
            case .shared: self = .shared
            }
        }
    }

    /// The kind of this database.
    public let databaseScope: Scope
    let container: CKContainer
    /// Defaults of operations that set nothing themselves; see ``configuredWith(configuration:group:body:)``.
    let defaults: OperationSettings

    init(container: CKContainer, scope: Scope, defaults: OperationSettings = OperationSettings()) {
        self.container = container
        databaseScope = scope
        self.defaults = defaults
    }

    /// Starts an operation on this database.
    public func add(_ operation: CKDatabaseOperation) {
        operation.database = self
        CKContainer.queue.addOperation(operation)
    }

    /// Calls a closure with a database that gives its operations a default configuration.
    ///
    /// - Throws: The error of `body`.
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Calls an async closure with a database that gives its operations a default configuration.
    ///
    /// - Throws: The error of `body`.
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(configured(configuration, group))
    }

    private func configured(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> CKDatabase {
        var settings = OperationSettings(configuration, under: group)
        settings.fill(from: defaults)
        return CKDatabase(container: container, scope: databaseScope, defaults: settings)
    }

    /// Returns whether an object is the same database of the same container.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKDatabase else { return false }
        return databaseScope == other.databaseScope && container.containerIdentifier == other.container.containerIdentifier
    }

    /// A hash of the scope.
    public override var hash: Int { databaseScope.hashValue }

    /// The client below, for callers that use wire values.
    package func client() throws(CKError) -> CloudDatabaseClient {
        try container.client(for: databaseScope)
    }

    func zoneID(_ zoneID: ZoneID) -> CKRecordZone.ID { CKRecordZone.ID(zoneID, scope: databaseScope) }
}

extension Dictionary {
    /// The result of a request for a single item, or its error.
    func item<Item>(_ key: Key) throws -> Item where Value == Result<Item, any Error> {
        guard let result = self[key] else { throw CKError.unreadable("the server's response lacks the requested item") }
        return try result.get()
    }
}
