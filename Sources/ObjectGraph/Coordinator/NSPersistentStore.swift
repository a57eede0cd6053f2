// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
package import SQLiteStore
import Synchronization

/// The types of store. Only the SQLite type is built.
public let NSSQLiteStoreType = "SQLite"
public let NSInMemoryStoreType = "InMemory"

/// One file of rows, added to a coordinator.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstore
open class NSPersistentStore: NSObject, @unchecked Sendable {
    // Unchecked: nothing is written after init but the weak coordinator, which is set once while it is added.
    public let configurationName: String
    public let url: URL?
    public let isReadOnly: Bool
    public let options: [AnyHashable: Any]?
    public let type: String
    open internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
    package let storage: SQLiteStore
    package let isHistoryTracked: Bool
    let postsRemoteChanges: Bool
    /// What the store was opened by.
    let source: NSPersistentStoreDescription
    private let entities: Set<Int>
    let othersObservers = Mutex<[@Sendable () -> Void]>([])
    /// The last history transaction that listeners were told of.
    let announced = Mutex<Int64>(0)

    /// - Parameter isReadOnly: Also for a reason that the description does not give.
    init(_ storage: SQLiteStore, description: NSPersistentStoreDescription, entities: Set<Int>, isReadOnly: Bool) {
        self.storage = storage
        self.entities = entities
        source = description
        configurationName = description.configuration ?? "PF_DEFAULT_CONFIGURATION_NAME"
        url = description.url
        self.isReadOnly = isReadOnly
        options = description.options
        type = description.type
        isHistoryTracked = description.isHistoryTracked
        postsRemoteChanges = description.postsRemoteChanges
    }

    public struct StoreType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
        public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
    }

    /// What is kept with the rows: the UUID, the type, and what was set. Empty when it cannot be read.
    ///
    /// Differs: read only.
    open var metadata: [String: Any] { (try? storage.read { try $0.metadata() }) ?? [:] }

    /// The store's UUID, which is also the host of its objects' addresses.
    public var identifier: String { storage.identifier }

    package var number: UInt16 { storage.number }

    package func holds(_ entity: Int) -> Bool { entities.contains(entity) }

    /// Rows for objects, which make values of them when they are read.
    func fetchPacked(_ query: StoreQuery) throws -> [RowChunk] { try translated { try storage.read { try $0.fetchPacked(query) } } }
    func fetchKeys(_ query: StoreQuery) throws -> [RowKey] { try translated { try storage.read { try $0.fetchKeys(query) } } }
    func fetch(_ query: StoreQuery) throws -> [Row] { try translated { try storage.read { try $0.fetch(query) } } }
    func count(_ query: StoreQuery) throws -> Int { try translated { try storage.read { try $0.count(query) } } }

    func allocateKeys(for entity: Int, count: Int) throws -> [RowKey] {
        try translated { try storage.write { try $0.allocateKeys(for: entity, count: count) } }
    }

    func translated<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as StoreError {
            throw CocoaError(error)
        }
    }
}
