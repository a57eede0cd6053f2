// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore
import Synchronization

/// A store with rows from anything that a subclass reads: a service, a folder, another database.
///
/// The subclass identifies rows by reference objects, and responds to requests: ``loadMetadata()``, ``execute(_:with:)``,
/// ``newValuesForObject(with:with:)``, ``newValue(forRelationship:forObjectWith:with:)``, and
/// ``obtainPermanentIDs(for:)`` if it accepts new objects.
///
/// Source: developer.apple.com/documentation/coredata/nsincrementalstore
open class NSIncrementalStore: NSPersistentStore, @unchecked Sendable {
    // Unchecked: this class's state is behind locks; a subclass guards its own.
    private let table = ReferenceTable()
    /// The number of saves of each row here: stores need not count versions themselves.
    private let saves = Mutex<[RowKey: Int64]>([:])
    private let helper = Mutex<NSManagedObjectContext?>(nil)

    public override init(
        persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
        options: [AnyHashable: Any]? = nil
    ) {
        super.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
    }

    // MARK: For subclasses

    /// Sets ``NSPersistentStore/metadata``: at least the store's UUID and type.
    ///
    /// - Throws: `CocoaError` 134070 unless a subclass overrides the method, or the override's error; the store isn't
    ///   added then.
    open override func loadMetadata() throws {
        throw CocoaError(.persistentStoreOperation, sentence: "\(Swift.type(of: self)) does not override loadMetadata().")
    }

    /// Executes a request.
    ///
    /// - Returns: For a fetch, an array of objects, object IDs or dictionaries, or of one number for a count, by the
    ///   request's result type. For a save, an empty array.
    /// - Throws: `CocoaError` 134091 unless a subclass overrides the method, or the override's error; the context's
    ///   changes stay pending then.
    open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
        throw CocoaError(.persistentStoreUnsupportedRequestType, sentence: "\(Swift.type(of: self)) does not override execute(_:with:).")
    }

    /// Returns the attributes and to-one relationships of an object.
    ///
    /// - Throws: `CocoaError` 134070 unless a subclass overrides the method. An override throws 133000 for a missing
    ///   object.
    open func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext) throws -> NSIncrementalStoreNode {
        throw CocoaError(.persistentStoreOperation, sentence: "\(Swift.type(of: self)) does not override newValuesForObject(with:with:).")
    }

    /// Returns the destinations of a relationship.
    ///
    /// - Returns: For a to-one relationship the ID or `NSNull`; for a to-many relationship an array or set of IDs.
    /// - Throws: `CocoaError` 134070 unless a subclass overrides the method, or the override's error; the relationship
    ///   stays a fault then.
    open func newValue(
        forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
        with context: NSManagedObjectContext?
    ) throws -> Any {
        throw CocoaError(
            .persistentStoreOperation, sentence: "\(Swift.type(of: self)) does not override newValue(forRelationship:forObjectWith:with:).")
    }

    /// Returns IDs for objects before their first save, in their order.
    ///
    /// - Throws: `CocoaError` 134030 unless a subclass overrides the method, or the override's error; the objects keep
    ///   their temporary IDs then.
    open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
        throw CocoaError(
            .persistentStoreSave, sentence: "\(Swift.type(of: self)) takes no new objects: it does not override obtainPermanentIDs(for:).")
    }

    /// Returns the UUID of a new store.
    open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

    /// Differs: never called; contexts cache their own rows.
    open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}
    /// Differs: never called; contexts cache their own rows.
    open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

    /// Returns the ID of the row with a reference object: a text, a number or a UUID.
    public final func newObjectID(for entity: NSEntityDescription, referenceObject data: Any) -> NSManagedObjectID {
        table.objectID(of: data, entity, in: self)
    }

    /// Returns the reference object of a row.
    public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
        table.referenceObject(for: objectID, madeBy: "newObjectID(for:referenceObject:)")
    }

    // MARK: For the coordinator

    override var references: ReferenceTable? { table }

    override func open(_ plan: StorePlan) throws {
        try loadMetadata()
        guard metadata[NSStoreUUIDKey] is String, metadata[NSStoreTypeKey] is String else {
            throw CocoaError(
                .persistentStoreOpen, sentence: "loadMetadata() of \(Swift.type(of: self)) sets no NSStoreUUIDKey and NSStoreTypeKey.")
        }
        try plan.check(metadata)
        metadataWasSaved()
    }

    override func fetch(_ query: StoreQuery) throws -> [Row] {
        let ids: [NSManagedObjectID] = try withContext { context in
            try answers(query, .managedObjectResultType, context).compactMap {
                ($0 as? NSManagedObject)?.objectID ?? $0 as? NSManagedObjectID
            }
        }
        return try ids.compactMap { try row($0.key) }
    }

    override func count(_ query: StoreQuery) throws -> Int {
        try withContext { context in
            let answers = try answers(query, .countResultType, context)
            if answers.count == 1, let number = answers[0] as? NSNumber { return number.intValue }
            if answers.count == 1, let number = answers[0] as? Int { return number }
            return answers.count
        }
    }

    private func answers(_ query: StoreQuery, _ type: NSFetchRequestResultType, _ context: NSManagedObjectContext) throws -> [Any] {
        guard let coordinator = persistentStoreCoordinator else { return [] }
        let request = query.request(coordinator.layouts, type)
        let answer = try execute(request, with: context)
        if let answers = answer as? [Any] { return answers }
        if let answers = answer as? NSArray { return answers.map { $0 } }
        throw CocoaError(.persistentStoreOperation, sentence: "execute(_:with:) of \(Swift.type(of: self)) answers a fetch with no array.")
    }

    override func row(_ key: RowKey) throws -> Row? {
        guard let id = id(key) else { return nil }
        let node: NSIncrementalStoreNode
        do {
            node = try withContext { try newValuesForObject(with: id, with: $0) }
        } catch let error as CocoaError where error.code == .managedObjectReferentialIntegrity {
            return nil
        }
        let layout = try layout(key)
        var values = layout.defaults
        for (slot, definition) in layout.entity.slots.enumerated() {
            guard let property = layout.description.propertiesByName[definition.name] else { continue }
            switch definition {
            case .attribute(let attribute):
                guard !attribute.isTransient else { continue }
                values[slot] = try stored(node.value(for: property), attribute, layout)
            case .toOne:
                values[slot] = try reference(node.value(for: property), property, id)
            }
        }
        let saved = saves.withLock { $0[key] ?? 0 }
        return Row(key: key, version: Int64(truncatingIfNeeded: node.version) + saved, values: values)
    }

    private func stored(_ value: Any?, _ attribute: Attribute, _ layout: EntityLayout) throws -> StoredValue {
        guard let stored = AttributeCoding.stored(value, as: attribute.type) else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "The store's value for \(layout.name).\(attribute.name) isn't of type \(attribute.type).")
        }
        return stored
    }

    private func reference(_ value: Any?, _ property: NSPropertyDescription, _ id: NSManagedObjectID) throws -> StoredValue {
        guard value == nil, let relationship = property as? NSRelationshipDescription else {
            return (value as? NSManagedObjectID).map { .reference($0.key) } ?? .null
        }
        let resolved: Any = try withContext { try newValue(forRelationship: relationship, forObjectWith: id, with: $0) }
        return (resolved as? NSManagedObjectID).map { .reference($0.key) } ?? .null
    }

    override func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let id = id(key) else { return [] }
        let layout = try layout(key)
        let name = layout.entity.toMany[index].name
        guard let relationship = layout.description.relationshipsByName[name] else { return [] }
        let answer = try withContext { try newValue(forRelationship: relationship, forObjectWith: id, with: $0) }
        let members: [Any] =
            switch answer {
            case let array as [Any]: array
            case let set as NSSet: set.allObjects
            case let set as NSOrderedSet: set.array
            case let set as Set<NSManagedObjectID>: Array(set)
            default: []
            }
        return members.compactMap { ($0 as? NSManagedObjectID)?.key ?? ($0 as? NSManagedObject)?.key }
    }

    override func allocateKeys(for objects: [NSManagedObject], entity: Int) throws -> [RowKey] {
        let ids = try obtainPermanentIDs(for: objects)
        guard ids.count == objects.count else {
            throw CocoaError(
                .persistentStoreSave,
                sentence: "obtainPermanentIDs(for:) of \(Swift.type(of: self)) gave \(ids.count) IDs for \(objects.count) objects.")
        }
        return ids.map(\.key)
    }

    override func save(_ changes: StoreChanges, of objects: [NSManagedObject], in context: NSManagedObjectContext?) throws {
        let living = objects.filter { !($0.isMarkedInserted && $0.isMarkedDeleted) }
        let request = NSSaveChangesRequest(
            inserted: Set(living.filter { $0.isMarkedInserted && !$0.isMarkedDeleted }),
            updated: Set(living.filter { $0.isMarkedUpdated && !$0.isMarkedDeleted }),
            deleted: Set(living.filter(\.isMarkedDeleted)), locked: nil)
        _ = try execute(request, with: context)
        saves.withLock { saves in for update in changes.updates { saves[update.key, default: 0] += 1 } }
        metadataWasSaved()
    }

    /// A save request without objects.
    override func saveMetadata(in context: NSManagedObjectContext?) throws {
        _ = try execute(NSSaveChangesRequest(inserted: nil, updated: nil, deleted: nil, locked: nil), with: context)
        metadataWasSaved()
    }

    private func layout(_ key: RowKey) throws -> EntityLayout {
        guard let layouts = persistentStoreCoordinator?.layouts, layouts.indices.contains(key.entityIndex) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store was removed from its coordinator.")
        }
        return layouts[key.entityIndex]
    }

    private func id(_ key: RowKey) -> NSManagedObjectID? {
        guard table.object(key.primaryKey) != nil, let layout = try? layout(key) else { return nil }
        return NSManagedObjectID(key: key, layout: layout, store: self)
    }

    /// Runs a block with the context of the current block, or with one of the store's own.
    private func withContext<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
        let coordinator = persistentStoreCoordinator
        if let current = NSManagedObjectContext.current.value, current.persistentStoreCoordinator === coordinator {
            return try body(current)
        }
        let helper = helper.withLock { helper in
            if let helper { return helper }
            let made = NSManagedObjectContext(.privateQueue)
            made.persistentStoreCoordinator = coordinator
            helper = made
            return made
        }
        return try helper.performAndWait { try body(helper) }
    }
}

/// The values of one object in an incremental store.
///
/// Source: developer.apple.com/documentation/coredata/nsincrementalstorenode
open class NSIncrementalStoreNode: NSObject {
    /// The ID of the object.
    open private(set) var objectID: NSManagedObjectID
    /// The version of the row.
    open private(set) var version: UInt64
    private var values: [String: Any]

    /// Creates a node.
    ///
    /// - Parameter values: Attributes by name, IDs for to-one relationships. A missing to-one relationship is requested
    ///   when the object is read.
    public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
        self.objectID = objectID
        self.values = values
        self.version = version
    }

    /// Replaces the values.
    open func update(withValues values: [String: Any], version: UInt64) {
        self.values = values
        self.version = version
    }

    /// Returns a value.
    ///
    /// - Returns: nil for a missing value; `NSNull` for an empty relationship.
    open func value(for property: NSPropertyDescription) -> Any? { values[property.name] }
}
