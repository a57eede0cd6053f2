// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import SQLiteStore
import Synchronization

/// An object of an app's data, backed by a row of a store.
///
/// An object belongs to one context and is used on that context's queue only; pass its ``objectID`` to other queues.
/// Until a property is read an object may be a fault: only its identity is loaded.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobject
open class NSManagedObject: NSObject {
    struct Flags: OptionSet {
        let rawValue: UInt16
        /// No value was read yet. The row may be cached all the same (``hasRow``).
        static let fault = Flags(rawValue: 1)
        static let inserted = Flags(rawValue: 2)
        static let updated = Flags(rawValue: 4)
        static let deleted = Flags(rawValue: 8)
        /// `values` holds the row, so that firing the fault needs no read.
        static let hasRow = Flags(rawValue: 16)
        /// Deleted and saved, its row missing, or released by its context: the object has no values any more.
        static let detached = Flags(rawValue: 32)
        /// Changed since the context's last notification.
        static let unannounced = Flags(rawValue: 64)
        /// Delete rules were applied for this deletion.
        static let propagated = Flags(rawValue: 128)
        /// A notification announced the object's insertion.
        static let presented = Flags(rawValue: 256)
        /// Has no values, and records reads: see ``KeyPathProbe``.
        static let probe = Flags(rawValue: 512)
        /// Observation tracks reads and changes: see ``NSManagedObjectContext/isObservationEnabled``.
        static let observed = Flags(rawValue: 1024)
        /// Key-value observers may exist: see ``PropertyObservers``.
        static let keyValueObserved = Flags(rawValue: 2048)
        static let pending: Flags = [.inserted, .updated, .deleted]
        /// An observer of either kind may exist.
        static let anyObserver: Flags = [.observed, .keyValueObserved]
    }

    // Objects are many: in this order the stored properties have no gaps, and an instance has 120 bytes (128 of the heap).
    package final let layout: EntityLayout
    /// The values, unless they are ``packed`` still.
    @exclusivity(unchecked) private final var storage: ContiguousArray<StoredValue>
    /// The packed row, until more values are read or one is written.
    @exclusivity(unchecked) private final var packed: RowChunk?
    /// The store's values, while `values` differs or may differ from them.
    @exclusivity(unchecked) final var committed: ContiguousArray<StoredValue>?
    @exclusivity(unchecked) final var toMany: ToManyStates
    @exclusivity(unchecked) final var flags: Flags = []
    /// The number of values read while the row was packed, at most ``packedReadsMax``.
    @exclusivity(unchecked) private final var packedReads: UInt8 = 0
    /// Whether the object left its context, though ``map`` still names the stores of its ID.
    @exclusivity(unchecked) private final var hasLeft = false
    /// The key, without the entity, which is the layout's.
    @exclusivity(unchecked) private final var primaryKey: Int64
    @exclusivity(unchecked) private final var storeNumber: UInt16
    /// The offset of the row in the packed chunk, divided by ``RowChunk/rowAlignment``.
    @exclusivity(unchecked) private final var packedPlace: UInt16 = 0
    /// Index in the context's pending objects; -1 if it isn't pending.
    @exclusivity(unchecked) final var pendingPlace: Int32 = -1
    /// Optimistic-lock version of the row that `values` came from; 0 before the first save.
    @exclusivity(unchecked) final var version: Int64 = 0
    /// Created by the first read with tracking enabled, and by key-value observers.
    final var observers: PropertyObservers?
    /// Increases with creation: saves and notifications are in order of creation.
    final let sequence: Int64
    /// The registry of the context, or the map of related objects without one; nil for an object without either.
    @exclusivity(unchecked) final var map: IdentityMap?
    /// Created on demand.
    @exclusivity(unchecked) private final var identity: NSManagedObjectID?

    private static let packedReadsMax = Int(UInt8.max)
    private static let counter = Atomic<Int64>(0)
    private static let identities = Mutex(())

    /// Creates an object with a temporary ID and its entity's default values.
    ///
    /// - Precondition: The entity belongs to a valid model and isn't abstract.
    public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
        let layout = Self.layout(of: entity)
        sequence = Self.counter.add(1, ordering: .relaxed).newValue
        self.layout = layout
        storage = layout.defaults
        toMany = ToManyStates(count: layout.toManyCount, isNew: true, ordered: layout.orderedToMany)
        primaryKey = -sequence
        storeNumber = RowKey.temporaryStore
        super.init()
        if let context {
            precondition(!entity.isAbstract, "entity '\(layout.name)' is abstract; insert an object of an heir")
            context.insert(self)
        }
    }

    deinit { map?.remove(self) }

    /// Creates an object of this class's entity in a context.
    ///
    /// - Precondition: The context's model has one entity of the class.
    public convenience init(context: NSManagedObjectContext) {
        self.init(entity: Self.entity(in: context), insertInto: context)
    }

    // A convenience initializer delegates through the vtable, so a class's override of the designated initializer runs;
    // the symbol creates an instance of a metatype known only at run time.
    @_silgen_name("tarn_managed_object_init")
    convenience init(dynamicEntity entity: NSEntityDescription, context: NSManagedObjectContext?) {
        self.init(entity: entity, insertInto: context)
    }

    /// Whether setting a property outside the model leaves the context without changes. Always true here: the context
    /// does not observe such properties.
    open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

    /// Returns the entity of this class in any frozen model.
    open class func entity() -> NSEntityDescription {
        guard let entity = ManagedClassEntities.entity(for: self) else {
            preconditionFailure(
                "no loaded model has an entity of the class \(self); create the persistent container first")
        }
        return entity
    }

    /// Returns a request for the objects of this class's entity.
    open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
        NSFetchRequest(entityName: entity().name ?? "")
    }

    /// The object's ID.
    open var objectID: NSManagedObjectID { withIdentityLock { knownIdentity() } }
    /// The object's entity.
    open var entity: NSEntityDescription { layout.description }
    /// The object's context; nil after it has left the context.
    open var managedObjectContext: NSManagedObjectContext? { contextReference }

    /// Changed by ``setKey(_:)`` only.
    package final var key: RowKey { RowKey(store: storeNumber, entity: layout.index, primaryKey: primaryKey) }

    final var contextReference: NSManagedObjectContext? {
        get { hasLeft ? nil : map?.context }
        set {
            if let newValue, map !== newValue.registry {
                map?.remove(self)
                map = newValue.registry
            }
            hasLeft = newValue == nil
        }
    }

    final func isIn(_ context: NSManagedObjectContext) -> Bool { !hasLeft && map === context.registry }

    /// Whether the object has no living context.
    final var isAlone: Bool { map == nil || contextReference == nil }

    /// Registers a new object in its context.
    fileprivate final func join(_ map: IdentityMap, as key: RowKey) {
        (storeNumber, primaryKey) = (key.store, key.primaryKey)
        self.map = map
        flags = .fault
        toMany.fault()
        map.insert(self)
    }

    /// Sets the object's key. The caller updates the context's registry.
    final func setKey(_ key: RowKey) {
        let former = withIdentityLock {
            (storeNumber, primaryKey) = (key.store, key.primaryKey)
            return identity.take()
        }
        withExtendedLifetime(former) {}
    }

    /// One value per slot of the layout. References may be temporary until the save.
    final var values: ContiguousArray<StoredValue> {
        @inline(__always) _read {
            if packed != nil { unpack() }
            yield storage
        }
        @inline(__always) _modify {
            if packed != nil { unpack() }
            yield &storage
        }
    }

    /// Returns one value, for reads.
    @inline(__always)
    final func value(at slot: Int) -> StoredValue { packed == nil ? storage[slot] : packedValue(at: slot) }

    /// Most objects are read once, value by value, and decoded without caching. The row is unpacked after more reads.
    @inline(never)
    private final func packedValue(at slot: Int) -> StoredValue {
        guard let packed, packed.promise == nil, packedReads < min(layout.entity.slots.count, Self.packedReadsMax) else {
            return values[slot]
        }
        packedReads += 1
        return packed.value(at: packedOffset, slot)
    }

    @inline(never)
    private final func unpack() {
        guard let chunk = packed.take(), chunk.promise == nil else { return }
        storage = chunk.values(at: packedOffset)
    }

    /// Caches a packed row; values are decoded when they are read.
    final func pack(_ chunk: RowChunk, at offset: Int) {
        packed = chunk
        packedPlace = UInt16(offset / RowChunk.rowAlignment)
        packedReads = 0
    }

    private final var packedOffset: Int { Int(packedPlace) * RowChunk.rowAlignment }

    /// The batch that reads the row of a fault.
    final var promise: AnyObject? { packed?.promise }

    /// The destination of a to-one relationship, without unpacking the values.
    final func packedReference(_ slot: Int) -> RowKey? {
        guard let packed, packed.promise == nil else { return storage[slot].reference }
        return packed.reference(slot, at: packedOffset)
    }

    /// Replaces the values by those of another row, without unpacking them first.
    final func replaceValues(_ values: ContiguousArray<StoredValue>) {
        packed = nil
        storage = values
    }

    private final func withIdentityLock<T>(_ body: () -> T) -> T {
        if let map { map.withIdentityLock(body) } else { Self.identities.withLock { _ in body() } }
    }

    private final func knownIdentity() -> NSManagedObjectID {
        if let identity { return identity }
        let made = NSManagedObjectID(key: key, layout: layout, ticket: key.isTemporary ? nil : map?.ticket(numbered: key.store))
        identity = made
        return made
    }

    // The library's own flags. The open properties below are for apps: a subclass may override them.
    final var isMarkedInserted: Bool { flags.contains(.inserted) }
    final var isMarkedUpdated: Bool { flags.contains(.updated) && !flags.contains(.inserted) }
    final var isMarkedDeleted: Bool { flags.contains(.deleted) }
    final var isMarkedFault: Bool { flags.contains(.fault) }
    final var isMarkedChanged: Bool { !flags.isDisjoint(with: .pending) && !flags.contains(.detached) }

    /// Whether the next save inserts the object.
    open var isInserted: Bool { isMarkedInserted }
    /// Whether the object has unsaved changes.
    open var isUpdated: Bool { isMarkedUpdated }
    /// Whether the next save deletes the object.
    open var isDeleted: Bool { isMarkedDeleted }
    /// Whether the object's values aren't loaded.
    open var isFault: Bool { isMarkedFault }
    /// 0 for an object with loaded values, 1 for a fault.
    open var faultingState: Int { isMarkedFault ? 1 : 0 }
    /// Whether the object is inserted, updated or deleted.
    open var hasChanges: Bool { isMarkedChanged }

    /// Whether a persistent value differs from the last saved one. Reads no relationship.
    open var hasPersistentChangedValues: Bool { isMarkedInserted || isMarkedDeleted || !changedSlots().isEmpty || toMany.hasChanges }

    // MARK: Life cycle, for subclasses

    /// Called once, after the insertion; defaults are set already.
    open func awakeFromInsert() {}
    /// Called after the object's values were read from the store.
    open func awakeFromFetch() {}
    /// Called after undo, redo, rollback, refresh or a merge policy replaced the values.
    open func awake(fromSnapshotEvents flags: NSSnapshotEventType) {}
    /// Called before a save, and again if the object was changed since. Changes made here are part of the save.
    open func willSave() {}
    /// Called after a save.
    open func didSave() {}
    /// Called when the object is marked for deletion, before delete rules are applied.
    open func prepareForDeletion() {}
    /// Called before the object becomes a fault.
    open func willTurnIntoFault() {}
    /// Called after the object became a fault.
    open func didTurnIntoFault() {}

    /// Validates a new object before its save.
    ///
    /// - Throws: `CocoaError` of the violated rule (1570–1680), or 1560 with several; the save fails with it.
    open func validateForInsert() throws { try validateProperties() }
    /// Validates a changed object before its save.
    ///
    /// - Throws: `CocoaError` of the violated rule (1570–1680), or 1560 with several; the save fails with it.
    open func validateForUpdate() throws { try validateProperties() }
    /// Validates an object's deletion before the save.
    ///
    /// - Throws: `CocoaError` 1600 for a relationship that denies the deletion; the save fails with it.
    open func validateForDelete() throws { try validateDeletion() }

    // MARK: Key-value coding, open to subclasses

    /// Returns the value of a property. Calls a hand-written accessor that the class declares for Objective-C.
    ///
    /// - Precondition: The entity has a property of that name.
    /// - Returns: A value of the attribute's type, an object, or a set of objects.
    open func value(forKey key: String) -> Any? {
        if let property = layout.keyedProperties[key] { return property.get(self) }
        return readProperty(key)
    }

    /// Sets the value of a property.
    ///
    /// - Precondition: The entity has a property of that name, and the value has its type.
    open func setValue(_ value: Any?, forKey key: String) {
        if let set = layout.keyedProperties[key]?.set { return set(self, value) }
        writeProperty(key, value)
    }

    /// Returns the value of a property outside the model, for ``value(forKey:)``.
    ///
    /// - Precondition: A subclass overrides this.
    open func value(forUndefinedKey key: String) -> Any? { undefined(key) }

    /// Sets a property outside the model, for ``setValue(_:forKey:)``.
    ///
    /// - Precondition: A subclass overrides this.
    open func setValue(_ value: Any?, forUndefinedKey key: String) { undefined(key) }

    /// Sets nil for a subclass's own property that cannot be nil; attributes can.
    ///
    /// - Precondition: A subclass overrides this.
    open func setNilValueForKey(_ key: String) { preconditionFailure("'\(layout.name).\(key)' cannot be nil") }

    /// Returns the values of several properties; `NSNull` stands for nil.
    open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keepingFirst: keys.map { ($0, value(forKey: $0) ?? NSNull()) })
    }

    /// Sets several properties; `NSNull` stands for nil.
    open func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(value is NSNull ? nil : value, forKey: key) }
    }

    /// Returns the value at the end of a path of relationships; `@count`, `@sum` and other operators precede their
    /// property.
    open func value(forKeyPath keyPath: String) -> Any? { followed(keyPath) }

    /// Sets the property at the end of a path of relationships.
    open func setValue(_ value: Any?, forKeyPath keyPath: String) { setFollowed(keyPath, value) }

    /// Validates one value; overrides may replace it.
    ///
    /// - Throws: `CocoaError` of the violated rule, or 1560 with several. The object is unchanged then.
    open func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
        try check(value.pointee, forKey: key)
    }

    /// Validates a value for the property at the end of a path of relationships.
    ///
    /// - Throws: The errors of the last object's ``validateValue(_:forKey:)``.
    open func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKeyPath keyPath: String) throws {
        try checkFollowed(value, keyPath)
    }

    /// Whether saves call ``validateValue(_:forKey:)`` for each property, for classes that override it.
    ///
    /// Tarn's own: Apple's framework finds overrides by itself, which would make every save slower here.
    open class var validatesEachValue: Bool { false }

    /// Returns a value without calling accessors.
    open func primitiveValue(forKey key: String) -> Any? { readProperty(key) }

    /// Sets a value without marking the object as changed. Differs: a relationship changes with its inverse, and marks the object.
    open func setPrimitiveValue(_ value: Any?, forKey key: String) { writePrimitive(key, value) }

    /// Returns the values that differ from the last saved ones, by property name.
    open func changedValues() -> [String: Any] { changedValuesImplementation() }

    /// Returns the values last fetched or saved.
    ///
    /// - Parameter keys: Names of properties; nil for all of them, except unread to-many relationships.
    open func committedValues(forKeys keys: [String]?) -> [String: Any] { committedValuesImplementation(forKeys: keys) }

    /// Whether reading the relationship would read from the store.
    open func hasFault(forRelationshipNamed key: String) -> Bool { hasFaultImplementation(forRelationshipNamed: key) }

    /// Returns the IDs of the members, without creating objects.
    open func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] { objectIDsImplementation(forRelationshipNamed: key) }

    /// Returns the former values of properties that changed since the context's last notification, by name.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsmanagedobject/changedvaluesforcurrentevent()
    open func changedValuesForCurrentEvent() -> [String: Any] { changedValuesForCurrentEventImplementation() }

    /// Returns a set through which the relationship at the end of a path can be changed.
    open func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet { mutableSetValueImplementation(forKeyPath: keyPath) }

    /// Returns an ordered set through which the relationship at the end of a path can be changed.
    open func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
        mutableOrderedSetValueImplementation(forKeyPath: keyPath)
    }

    /// Loads the object's values before an accessor of the app reads one.
    open func willAccessValue(forKey key: String?) { willRead() }
    /// Called after an accessor of the app has read a value.
    open func didAccessValue(forKey key: String?) {}
    /// Announces a change. Call ``didChangeValue(forKey:)`` after it.
    open func willChangeValue(forKey key: String) {
        _ = willWrite()
        announceChange(key, .setting)
    }
    /// Ends a change announced by ``willChangeValue(forKey:)``.
    open func didChangeValue(forKey key: String) { finishAnnounced(key) }
    /// Announces a change of a to-many relationship's members.
    open func willChangeValue(forKey key: String, withSetMutation mutation: NSKeyValueSetMutationKind, using objects: Set<AnyHashable>) {
        _ = willWrite()
        announceChange(key, self.mutation(mutation, objects, of: key))
    }
    /// Ends an announced change of a to-many relationship.
    open func didChangeValue(forKey key: String, withSetMutation mutation: NSKeyValueSetMutationKind, using objects: Set<AnyHashable>) {
        finishAnnounced(key)
    }
    /// Announces a change of an ordered relationship's members at some indices.
    open func willChange(_ change: NSKeyValueChange, valuesAt indexes: IndexSet, forKey key: String) {
        _ = willWrite()
        announceChange(key, mutation(change, at: indexes, of: key), at: indexes)
    }
    /// Ends an announced change of an ordered relationship.
    open func didChange(_ change: NSKeyValueChange, valuesAt indexes: IndexSet, forKey key: String) {
        finishAnnounced(key, members: change == .removal ? nil : { [self] in members(at: indexes, of: key) })
    }

    // Foundation's hash costs as much as a dictionary's own; the address is as distinct.
    open override var hash: Int { Int(bitPattern: ObjectIdentifier(self)) >> 4 }

    open override var description: String {
        let state = isMarkedFault ? "<fault>" : "\(layout.entity.slots.count) values"
        return "<\(type(of: self)): \(objectID.uriRepresentation().absoluteString) \(state)>"
    }

    private static func layout(of entity: NSEntityDescription) -> EntityLayout {
        if let layout = entity.layout { return layout }
        do {
            _ = try entity.managedObjectModel.freeze()
        } catch {
            preconditionFailure(error.localizedDescription)
        }
        guard let layout = entity.layout else { preconditionFailure("freezing a model lays out each of its entities") }
        return layout
    }

    fileprivate static func isKind(of ancestor: NSManagedObject.Type) -> Bool {
        var current: AnyClass? = self
        while let type = current {
            if type == ancestor { return true }
            current = _getSuperclass(type)
        }
        return false
    }

    static func entity(in context: NSManagedObjectContext) -> NSEntityDescription {
        context.description(for: self) ?? entity()
    }
}

@available(*, unavailable, message: "pass objectID to the other context instead")
extension NSManagedObject: @unchecked Sendable {}

extension NSManagedObject {
    @_silgen_name("tarn_managed_object_init")
    private static func dynamicInit(
        _ entity: __owned NSEntityDescription, _ context: __owned NSManagedObjectContext?
    ) -> NSManagedObject

    /// Creates an object of the entity's class, or of this class if the entity's isn't a subclass of it.
    static func construct(of entity: NSEntityDescription, _ context: NSManagedObjectContext?) -> NSManagedObject {
        let named = layout(of: entity).managedClass
        return (named.isKind(of: self) ? named : self).dynamicInit(entity, context)
    }

    /// Creates an object of the class that the entity names.
    static func make(_ entity: NSEntityDescription, insertedInto context: NSManagedObjectContext?) -> NSManagedObject {
        layout(of: entity).managedClass.dynamicInit(entity, context)
    }

    /// Creates an object of this class that records reads.
    static func makeProbe(_ layout: EntityLayout) -> NSManagedObject {
        let object = dynamicInit(layout.description, nil)
        object.flags = [.fault, .probe]
        return object
    }

    /// Creates a fault for a row and registers it.
    static func make(_ key: RowKey, layout: EntityLayout, in context: NSManagedObjectContext) -> NSManagedObject {
        let object = layout.managedClass.dynamicInit(layout.description, nil)
        object.join(context.registry, as: key)
        if context.isObservationEnabled { object.flags.insert(.observed) }
        if context.retainsRegisteredObjects { context.retain(object) }
        return object
    }
}
