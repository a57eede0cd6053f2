// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
package import SQLiteStore
import Synchronization

/// The types of store.
public let NSSQLiteStoreType = "SQLite"
/// Rows in memory, gone with the store.
public let NSInMemoryStoreType = "InMemory"
/// One file that is read and written as a whole.
public let NSBinaryStoreType = "Binary"
/// Apple's for macOS. Stores of this type are absent here: adding one fails with 134000.
public let NSXMLStoreType = "XML"

/// A place where a coordinator keeps rows: a file of a known type, or what a subclass of ``NSAtomicStore`` or
/// ``NSIncrementalStore`` makes of it.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstore
open class NSPersistentStore: NSObject, @unchecked Sendable {
    // Unchecked: what is not set while the store is added is behind `state`, or belongs to its subclass.
    private struct State: @unchecked Sendable {
        // Unchecked: property-list values.
        var metadata: [String: Any] = [:]
        var isMetadataChanged = false
        var ticket: StoreTicket?
    }

    private let givenConfigurationName: String
    /// The options the store was added with.
    open private(set) var options: [AnyHashable: Any]?
    open var url: URL?
    open var isReadOnly: Bool
    open internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
    private let state = Mutex(State())

    // Set by the coordinator before anybody else sees the store.
    package internal(set) final var number: UInt16 = 0
    /// The file, of a store that has one of SQLite's.
    package internal(set) final var sqlite: SQLiteStore?
    package internal(set) final var isHistoryTracked = false
    final var postsRemoteChanges = false
    /// What the store was opened by.
    final var source: NSPersistentStoreDescription?
    private final var entities: Set<Int> = []
    final let othersObservers = Mutex<[@Sendable () -> Void]>([])
    /// Who reads history says up to which transaction they have read, inside the transaction that purges.
    private let historyKeepers = Mutex<[@Sendable (StoreReader) throws -> Int64]>([])

    /// Keeps what somebody has yet to read of history from being purged.
    ///
    /// - Parameter position: The number of the last transaction that was read.
    package final func keepHistory(after position: @escaping @Sendable (StoreReader) throws -> Int64) {
        historyKeepers.withLock { $0.append(position) }
    }

    /// The transaction up to which history may be purged.
    final func purgeable(before number: Int64, _ reader: StoreReader) throws -> Int64 {
        try historyKeepers.withLock { $0 }.reduce(number) { min($0, try $1(reader) + 1) }
    }
    /// The last history transaction that listeners were told of.
    final let announced = Mutex<Int64>(0)

    /// - Parameter url: `/dev/null` for a store without a file.
    public init(
        persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
        options: [AnyHashable: Any]? = nil
    ) {
        persistentStoreCoordinator = root
        givenConfigurationName = name ?? "PF_DEFAULT_CONFIGURATION_NAME"
        self.url = url.path == "/dev/null" ? nil : url
        self.options = options
        isReadOnly = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? (options?[NSReadOnlyPersistentStoreOption] as? Bool) ?? false
        super.init()
    }

    // A subclass's own override of the designated initialiser runs, because a convenience initialiser delegates
    // through the vtable; the symbol lets a metatype that is known only at run time be instantiated.
    @_silgen_name("tarn_persistent_store_init")
    convenience init(place: StorePlace) {
        self.init(
            persistentStoreCoordinator: place.coordinator, configurationName: place.configuration, at: place.url, options: place.options)
    }

    open var configurationName: String { givenConfigurationName }

    /// What the store was registered as.
    open var type: String { source?.type ?? "" }

    /// The store's UUID, which is also the host of its objects' addresses.
    open var identifier: String! {
        get { state.withLock { $0.metadata[NSStoreUUIDKey] as? String } ?? "" }
        set { metadata = metadata.merging([NSStoreUUIDKey: newValue ?? ""]) { $1 } }
    }

    /// What is kept with the rows: the UUID, the type, and what was set. Changes reach the file with the next save.
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

    /// Reads what is kept with the rows, or makes it for a new store: at least the UUID and the type.
    open func loadMetadata() throws {}

    open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}
    open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

    /// What is kept with the rows of a store that is not open.
    open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
        throw CocoaError(
            .persistentStoreOperation, sentence: "\(self) does not say how to read metadata; override metadataForPersistentStore(with:).")
    }

    open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
        throw CocoaError(
            .persistentStoreOperation, sentence: "\(self) does not say how to write metadata; override setMetadata(_:forPersistentStoreAt:).")
    }

    // MARK: What coordinators and contexts need of any store

    /// Who addresses of this store's objects lead to.
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

    /// Takes metadata over as that of the file.
    final func adoptMetadata(_ metadata: [String: Any]) {
        self.metadata = metadata
        state.withLock { $0.isMetadataChanged = false }
    }

    /// The file has nothing left to do, which its metadata says already.
    final func forgetDeferredMigration() {
        state.withLock { _ = $0.metadata.removeValue(forKey: NSPersistentStoreDeferredLightweightMigrationOptionKey) }
    }

    final func metadataWasSaved() { state.withLock { $0.isMetadataChanged = false } }

    /// Reference objects of a store that has keys of its own kind.
    var references: ReferenceTable? { nil }

    /// The key of the row that an address names, by what stands after its `p`.
    final func primaryKey(of text: String, _ layout: EntityLayout) -> Int64? {
        guard let references else { return Int64(text) }
        return text.isEmpty ? nil : references.number(ofText: text, entity: layout.index)
    }

    package final func holds(_ entity: Int) -> Bool { entities.contains(entity) }

    final func adopt(_ plan: StorePlan) {
        number = plan.number
        source = plan.description
        entities = Set(plan.entities.map(\.index))
        isHistoryTracked = plan.description.isHistoryTracked
        postsRemoteChanges = plan.description.postsRemoteChanges
    }

    /// Opens the file, or makes it.
    func open(_ plan: StorePlan) throws { notAKind() }
    func close() {}
    /// - Returns: Whether the store is at the address now.
    func relocate(to url: URL) -> Bool { false }

    func fetch(_ query: StoreQuery) throws -> [Row] { notAKind() }
    func fetchKeys(_ query: StoreQuery) throws -> [RowKey] { try fetch(query).map(\.key) }
    /// Rows for objects, which make values of them when they are read; for SQLite stores only.
    final func fetchPacked(_ query: StoreQuery) throws -> [RowChunk] { try translated { try storage.read { try $0.fetchPacked(query) } } }
    /// Reads until `continuing`, which hears now and then how many rows there are, says otherwise.
    ///
    /// - Returns: nil when it was stopped.
    final func fetchPacked(_ query: StoreQuery, continuing: (Int) -> Bool) throws -> [RowChunk]? {
        try translated { try storage.read { try $0.fetchPacked(query, continuing: continuing) } }
    }
    func count(_ query: StoreQuery) throws -> Int { notAKind() }
    /// - Returns: nil for a row that is gone.
    func row(_ key: RowKey) throws -> Row? { notAKind() }
    /// - Returns: The rows that are there.
    func rows(_ keys: [RowKey]) throws -> [Row] { try keys.compactMap { try row($0) } }
    func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] { notAKind() }
    /// Keys for new objects of one entity, in their order.
    func allocateKeys(for objects: [NSManagedObject], entity: Int) throws -> [RowKey] { notAKind() }
    /// Writes changes and changed metadata, all or nothing.
    ///
    /// - Parameter objects: Those that the changes were made of.
    /// - Throws: ``StoreError`` with `.conflict`, or ``CocoaError``.
    func save(_ changes: StoreChanges, of objects: [NSManagedObject], in context: NSManagedObjectContext?) throws { notAKind() }
    /// Writes changed metadata alone.
    func saveMetadata(in context: NSManagedObjectContext?) throws { notAKind() }

    private func notAKind() -> Never {
        preconditionFailure("\(Swift.type(of: self)) is no kind of store; make it a subclass of NSAtomicStore or NSIncrementalStore")
    }

    /// The file, for what only SQLite stores can do.
    ///
    /// - Throws: ``CocoaError`` 134091.
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
    public struct StoreType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
        public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
        public static let binary = StoreType(rawValue: NSBinaryStoreType)
        /// Absent here: adding such a store fails with 134000.
        public static let xml = StoreType(rawValue: NSXMLStoreType)
    }

    @_silgen_name("tarn_persistent_store_init")
    private static func dynamicInit(_ place: __owned StorePlace) -> NSPersistentStore

    /// Makes a store of a class that is known only at run time.
    static func make(_ place: StorePlace) -> NSPersistentStore { dynamicInit(place) }
}
