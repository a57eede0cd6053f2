// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// One of a container's databases.
///
/// Whoever calls one of the methods for a single item gets that item's error thrown. The methods for many items throw
/// only if the request as a whole failed; each item has a result of its own.
///
/// Source: Apple's documentation of `CKDatabase`. Differs: nothing is tried again by itself; see
/// ``CKError/retryAfterSeconds``.
public final class CKDatabase: NSObject, Sendable {
    public enum Scope: Int, Hashable, Sendable, CaseIterable {
        case `public` = 1
        case `private` = 2
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

    public let databaseScope: Scope
    let container: CKContainer
    /// Holds for what operations do not say themselves; see ``configuredWith(configuration:group:body:)``.
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

    /// Runs something with a database whose operations use a configuration, where they have none of their own.
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

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

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKDatabase else { return false }
        return databaseScope == other.databaseScope && container.containerIdentifier == other.container.containerIdentifier
    }

    public override var hash: Int { databaseScope.hashValue }

    /// The client underneath, for what works on wire values.
    package func client() throws(CKError) -> CloudDatabaseClient {
        try container.client(for: databaseScope)
    }

    func zoneID(_ zoneID: ZoneID) -> CKRecordZone.ID { CKRecordZone.ID(zoneID, scope: databaseScope) }
}

extension Dictionary {
    /// The item of an answer about one item, or its error.
    func item<Item>(_ key: Key) throws -> Item where Value == Result<Item, any Error> {
        guard let result = self[key] else { throw CKError.unreadable("the server's answer leaves out what was asked for") }
        return try result.get()
    }
}
