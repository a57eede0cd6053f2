// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
package import SQLiteStore
import Synchronization

/// The type of SQLite stores.
public let NSSQLiteStoreType = "SQLite"
/// The type of in-memory stores. Their rows are lost when the store is removed.
public let NSInMemoryStoreType = "InMemory"
/// The type of stores that read and write one file as a whole.
public let NSBinaryStoreType = "Binary"
/// Apple's type of XML stores on macOS. Absent here: adding one fails with 134000.
public let NSXMLStoreType = "XML"

/// A coordinator's storage of rows: a file of a known type, or the storage of a subclass of ``NSAtomicStore`` or
/// ``NSIncrementalStore``.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstore
open class NSPersistentStore: NSObject, @unchecked Sendable {
    // Unchecked: values that change after the store was added are behind `state`, or belong to the subclass.
    private struct State: @unchecked Sendable {
        // Unchecked: property-list values.
        var metadata: [String: Any] = [:]
        var isMetadataChanged = false
        var ticket: StoreTicket?
    }

    private let givenConfigurationName: String
    /// The options the store was added with.
    open private(set) var options: [AnyHashable: Any]?
    /// The store's file; nil for an in-memory store.
    open var url: URL?
    /// Whether saves to the store fail.
    open var isReadOnly: Bool
    /// The coordinator that the store was added to.
    open internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
    private let state = Mutex(State())

    // Set by the coordinator before the store is published.
    package internal(set) final var number: UInt16 = 0
    /// The SQLite file; nil for other types of stores.
    package internal(set) final var sqlite: SQLiteStore?
    package internal(set) final var isHistoryTracked = false
    final var postsRemoteChanges = false
    /// The description that the store was opened by.
    final var source: NSPersistentStoreDescription?
    private final var entities: Set<Int> = []
    final let othersObservers = Mutex<[@Sendable () -> Void]>([])
    /// Readers of history report the transaction they have read up to, inside the transaction that purges.
    private let historyKeepers = Mutex<[@Sendable (StoreReader) throws -> Int64]>([])

    /// Keeps unread history from being purged.
    ///
    /// - Parameter position: Returns the number of the reader's last transaction.
    package final func keepHistory(after position: @escaping @Sendable (StoreReader) throws -> Int64) {
        historyKeepers.withLock { $0.append(position) }
    }

    /// The transaction before which history may be purged.
    final func purgeable(before number: Int64, _ reader: StoreReader) throws -> Int64 {
        try historyKeepers.withLock { $0 }.reduce(number) { min($0, try $1(reader) + 1) }
    }
    /// The last history transaction that listeners were notified of.
    final let announced = Mutex<Int64>(0)

    /// Creates a store that isn't open yet.
    ///
    /// - Parameter url: `/dev/null` for a store without a file.
    public init(
        persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
        options: [AnyHashable: Any]? = nil
    ) {
        persistentStoreCoordinator = root
        givenConfigurationName = name ?? "PF_DEFAULT_CONFIGURATION_NAME"
        self.url = url.path == "/dev/null" ? nil : url
        self.options = options
        isReadOnly =
            (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? (options?[NSReadOnlyPersistentStoreOption] as? Bool)
            ?? false
        super.init()
    }

    // A convenience initializer delegates through the vtable, so a subclass's override of the designated initializer
    // runs; the symbol creates an instance of a metatype known only at run time.
    @_silgen_name("tarn_persistent_store_init")
    convenience init(arguments: StoreArguments) {
        self.init(
            persistentStoreCoordinator: arguments.coordinator, configurationName: arguments.configuration, at: arguments.url,
            options: arguments.options)
    }

    /// The configuration of the model that the store holds.
    open var configurationName: String { givenConfigurationName }

    /// The registered type of the store.
    open var type: String { source?.type ?? "" }

    /// The store's UUID, which is also the host of its objects' URIs.
    open var identifier: String! {
        get { state.withLock { $0.metadata[NSStoreUUIDKey] as? String } ?? "" }
        set { metadata = metadata.merging([NSStoreUUIDKey: newValue ?? ""]) { $1 } }
    }

    /// The store's metadata: the UUID, the type, and the app's values. Changes reach the file with the next save.
    open var metadata: [String: Any]! {
        get { state.withLock { $0.metadata } }
        set {
            state.withLock { state in
                state.metadata = newValue ?? [:]
                state.isMetadataChanged = true
                if state.ticket?.identifier != state.metadata[NSStoreUUIDKey] as? String { state.ticket = nil }
            }
        }
    }

    /// Reads the metadata, or creates it for a new store: at least the UUID and the type. Subclasses override it; this
    /// one has no effect.
    ///
    /// - Throws: An override's error; the store isn't added then.
    open func loadMetadata() throws {}

    /// Called after the store was added to a coordinator.
    open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}
    /// Called before the store is removed from its coordinator.
    open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

    /// The class that migrates stores of this class.
    open class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

    /// Reads the metadata of a store that need not be open.
    ///
    /// - Throws: `CocoaError` 134070 unless a subclass overrides the method, or the error of the override.
    open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
        throw CocoaError(
            .persistentStoreOperation, sentence: "\(self) does not say how to read metadata; override metadataForPersistentStore(with:).")
    }

    /// Replaces the metadata of a store that need not be open.
    ///
    /// - Throws: `CocoaError` 134070 unless a subclass overrides the method, or the error of the override.
    open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
        throw CocoaError(
            .persistentStoreOperation,
            sentence: "\(self) does not say how to write metadata; override setMetadata(_:forPersistentStoreAt:).")
    }

    // MARK: The interface of coordinators and contexts to any store

    /// The store's identity in its objects' URIs.
    final var ticket: StoreTicket {
        state.withLock { state in
            if let ticket = state.ticket { return ticket }
            let ticket = StoreTicket(self, identifier: state.metadata[NSStoreUUIDKey] as? String ?? "")
            state.ticket = ticket
            return ticket
        }
    }

    /// Whether metadata was set since the last save.
    var isMetadataChanged: Bool { state.withLock { $0.isMetadataChanged } }

    /// Stores metadata that was read from the file.
    final func adoptMetadata(_ metadata: [String: Any]) {
        self.metadata = metadata
        state.withLock { $0.isMetadataChanged = false }
    }

    /// Removes the metadata key of a deferred migration that has finished.
    final func forgetDeferredMigration() {
        state.withLock { _ = $0.metadata.removeValue(forKey: NSPersistentStoreDeferredLightweightMigrationOptionKey) }
    }

    final func metadataWasSaved() { state.withLock { $0.isMetadataChanged = false } }

    /// Reference objects of a store that assigns its own kind of keys.
    var references: ReferenceTable? { nil }

    /// The key of the row that a URI names; `text` follows its `p`.
    final func primaryKey(of text: String, _ layout: EntityLayout) -> Int64? {
        guard let references else { return Int64(text) }
        return text.isEmpty ? nil : references.number(ofText: text, entity: layout.index)
    }

    package final func holds(_ entity: Int) -> Bool { entities.contains(entity) }

    final func adopt(_ plan: StorePlan) {
        number = plan.number
        source = plan.description
        entities = Set(plan.entities.map(\.index))
        // Others have no tables for it, and ignore the option.
        isHistoryTracked = plan.description.isHistoryTracked && self is SQLitePersistentStore
        postsRemoteChanges = plan.description.postsRemoteChanges
    }

    /// Opens the file, or creates it.
    func open(_ plan: StorePlan) throws { notAKind() }
    func close() {}
    /// - Returns: Whether the store is at the URL now.
    func relocate(to url: URL) -> Bool { false }

    func fetch(_ query: StoreQuery) throws -> [Row] { notAKind() }
    func fetchKeys(_ query: StoreQuery) throws -> [RowKey] { try fetch(query).map(\.key) }
    /// Rows of a SQLite store in packed form; objects decode values when they are read.
    final func fetchPacked(_ query: StoreQuery) throws -> [RowChunk] { try translated { try storage.read { try $0.fetchPacked(query) } } }
    /// Reads rows until `continuing`, called repeatedly with the number of rows so far, returns false.
    ///
    /// - Returns: nil when it was stopped.
    final func fetchPacked(_ query: StoreQuery, continuing: (Int) -> Bool) throws -> [RowChunk]? {
        try translated { try storage.read { try $0.fetchPacked(query, continuing: continuing) } }
    }
    func count(_ query: StoreQuery) throws -> Int { notAKind() }
    /// - Returns: nil if the row does not exist.
    func row(_ key: RowKey) throws -> Row? { notAKind() }
    /// - Returns: The rows that exist.
    func rows(_ keys: [RowKey]) throws -> [Row] { try keys.compactMap { try row($0) } }
    func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] { notAKind() }
    /// Keys for new objects of one entity, in their order.
    func allocateKeys(for objects: [NSManagedObject], entity: Int) throws -> [RowKey] { notAKind() }
    /// Writes changes and changed metadata, all or nothing.
    ///
    /// - Parameter objects: The objects that the changes were made of.
    /// - Throws: ``StoreError`` with `.conflict`, or `CocoaError`. Nothing was written then.
    func save(_ changes: StoreChanges, of objects: [NSManagedObject], in context: NSManagedObjectContext?) throws { notAKind() }
    /// Writes changed metadata without rows.
    func saveMetadata(in context: NSManagedObjectContext?) throws { notAKind() }

    private func notAKind() -> Never {
        preconditionFailure("\(Swift.type(of: self)) isn't a store; make it a subclass of NSAtomicStore or NSIncrementalStore")
    }

    /// The SQLite file, for features that need one.
    ///
    /// - Throws: `CocoaError` 134091 for other types of stores.
    package final func requireSQLite() throws -> SQLiteStore {
        guard let sqlite else {
            throw CocoaError(
                .persistentStoreUnsupportedRequestType, sentence: "Stores of type '\(type)' do not take this request; SQLite stores do.")
        }
        return sqlite
    }

    /// - Precondition: This is a SQLite store, as every store with history or mirroring is.
    package final var storage: SQLiteStore {
        guard let sqlite else { preconditionFailure("a store of type '\(type)' has no SQLite file") }
        return sqlite
    }

    func translated<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as StoreError {
            throw CocoaError(error)
        }
    }
}

extension NSPersistentStore {
    /// A type of store.
    public struct StoreType: RawRepresentable, Hashable, Sendable {
        /// The type as text, such as ``NSSQLiteStoreType``.
        public let rawValue: String
        /// Creates a type from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A SQLite file.
        public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
        /// Rows in memory, lost when the store is removed.
        public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
        /// One file that is read and written as a whole.
        public static let binary = StoreType(rawValue: NSBinaryStoreType)
        /// Absent here: adding such a store fails with 134000.
        public static let xml = StoreType(rawValue: NSXMLStoreType)
    }

    @_silgen_name("tarn_persistent_store_init")
    private static func dynamicInit(_ arguments: __owned StoreArguments) -> NSPersistentStore

    /// Creates a store of a class known only at run time.
    static func make(_ arguments: StoreArguments) -> NSPersistentStore { dynamicInit(arguments) }
}
