// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import SQLiteStore
import Synchronization

/// One object of an app's data, backed by a row of a store.
///
/// An object belongs to one context and is used on that context's queue only; what travels between queues is
/// its ``objectID``. Until a property is read an object may be a fault: it knows its identity and nothing else.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobject
open class NSManagedObject: NSObject {
    struct Flags: OptionSet {
        let rawValue: UInt32
        /// Values have not been asked for. They may be at hand all the same (``hasRow``).
        static let fault = Flags(rawValue: 1)
        static let inserted = Flags(rawValue: 2)
        static let updated = Flags(rawValue: 4)
        static let deleted = Flags(rawValue: 8)
        /// `values` holds the row, so that firing the fault needs no read.
        static let hasRow = Flags(rawValue: 16)
        /// Deleted and saved, its row found to be missing, or let go by its context: it holds nothing any more.
        static let detached = Flags(rawValue: 32)
        /// Changed since the context last told anybody about changes.
        static let unannounced = Flags(rawValue: 64)
        /// Delete rules were applied for this deletion.
        static let propagated = Flags(rawValue: 128)
        /// Somebody was told that the object was inserted.
        static let presented = Flags(rawValue: 256)
        /// Holds nothing, and tells what is read: see ``KeyPathProbe``.
        static let probe = Flags(rawValue: 512)
        /// Reads and changes are told to observation: see ``NSManagedObjectContext/isObservationEnabled``.
        static let observed = Flags(rawValue: 1024)
        /// Key-value observers may be waiting for changes: see ``PropertyObservers``.
        static let keyValueObserved = Flags(rawValue: 2048)
        static let pending: Flags = [.inserted, .updated, .deleted]
        /// Something may wait for changes.
        static let anyObserver: Flags = [.observed, .keyValueObserved]
    }

    package final let layout: EntityLayout
    @exclusivity(unchecked) final var flags: Flags = []
    /// Where the context's pending objects hold this one; -1 for an object that waits for nothing.
    @exclusivity(unchecked) final var pendingPlace: Int32 = -1
    /// The values, unless they are ``packed`` still.
    @exclusivity(unchecked) private final var storage: ContiguousArray<StoredValue>
    /// The row that the values are in, until somebody reads or writes one.
    @exclusivity(unchecked) private final var packed: RowChunk?
    @exclusivity(unchecked) private final var packedOffset: UInt32 = 0
    /// How many values were read while the row was packed.
    @exclusivity(unchecked) private final var packedReads: UInt16 = 0
    /// What the store holds, while `values` differs or may differ from it.
    @exclusivity(unchecked) final var committed: ContiguousArray<StoredValue>?
    @exclusivity(unchecked) final var toMany: ToManyStates
    /// The context is not the object's any more, though ``map`` still names the stores of its ID.
    @exclusivity(unchecked) private final var hasLeft = false
    /// Optimistic-lock version of the row that `values` came from; 0 before the first save.
    @exclusivity(unchecked) final var version: Int64 = 0
    /// Made by the first read of an object that can be tracked, and by key-value observers.
    final var observers: PropertyObservers?
    /// Rises with creation: saves and notifications go in the order in which objects came to be.
    final let sequence: Int64
    /// Changed by ``setKey(_:)`` only.
    @exclusivity(unchecked) package private(set) final var key: RowKey
    /// Where the object is registered: nil for one that never was in a context.
    @exclusivity(unchecked) private final var map: IdentityMap?
    /// Made when asked for.
    @exclusivity(unchecked) private final var identity: NSManagedObjectID?

    private static let counter = Atomic<Int64>(0)
    private static let identities = Mutex(())

    /// Creates an object with a temporary ID and its entity's default values.
    ///
    /// - Precondition: The entity is part of a valid model and not abstract.
    public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
        let layout = Self.layout(of: entity)
        sequence = Self.counter.add(1, ordering: .relaxed).newValue
        self.layout = layout
        storage = layout.defaults
        toMany = ToManyStates(count: layout.toManyCount, isNew: true, ordered: layout.orderedToMany)
        key = RowKey(store: RowKey.temporaryStore, entity: layout.index, primaryKey: -sequence)
        super.init()
        if let context {
            precondition(!entity.isAbstract, "entity '\(layout.name)' is abstract; insert an object of an heir")
            context.insert(self)
        }
    }

    deinit { map?.remove(self) }

    public convenience init(context: NSManagedObjectContext) {
        self.init(entity: Self.entity(in: context), insertInto: context)
    }

    // A class's own override of the designated initialiser runs, because a convenience initialiser delegates
    // through the vtable; the symbol lets a metatype that is known only at run time be instantiated.
    @_silgen_name("tarn_managed_object_init")
    convenience init(dynamicEntity entity: NSEntityDescription, context: NSManagedObjectContext?) {
        self.init(entity: entity, insertInto: context)
    }

    /// Whether setting a property that the entity does not have leaves the context without changes. Always so here:
    /// the context does not observe such properties.
    open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

    /// The entity that belongs to this class in any model that is in use.
    open class func entity() -> NSEntityDescription {
        guard let entity = ManagedClassEntities.entity(for: self) else {
            preconditionFailure(
                "no loaded model has an entity whose class is \(self); create the persistent container first")
        }
        return entity
    }

    open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
        NSFetchRequest(entityName: entity().name ?? "")
    }

    open var objectID: NSManagedObjectID { withIdentityLock { knownIdentity() } }
    open var entity: NSEntityDescription { layout.description }
    open var managedObjectContext: NSManagedObjectContext? { contextReference }

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

    /// Whether no living context has the object.
    final var isAlone: Bool { map == nil || contextReference == nil }

    /// Enters an object that was just made into the map of its context.
    fileprivate final func join(_ map: IdentityMap, as key: RowKey) {
        self.key = key
        self.map = map
        flags = .fault
        toMany.fault()
        map.insert(self)
    }

    /// Gives the object another identity. The caller keeps the context's map in step.
    final func setKey(_ key: RowKey) {
        let former = withIdentityLock {
            self.key = key
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

    /// One of the values, for readers.
    @inline(__always)
    final func value(at slot: Int) -> StoredValue { packed == nil ? storage[slot] : packedValue(at: slot) }

    /// Most objects are read once, value by value: those are made from the row, and nothing is kept. What is read more
    /// often than that is unpacked.
    @inline(never)
    private final func packedValue(at slot: Int) -> StoredValue {
        guard let packed, packed.promise == nil, Int(packedReads) < layout.entity.slots.count else { return values[slot] }
        packedReads += 1
        return packed.value(at: Int(packedOffset), slot)
    }

    @inline(never)
    private final func unpack() {
        guard let chunk = packed.take(), chunk.promise == nil else { return }
        storage = chunk.values(at: Int(packedOffset))
    }

    /// Puts a row at hand that is made into values when somebody reads one.
    final func pack(_ chunk: RowChunk, at offset: Int) {
        packed = chunk
        packedOffset = UInt32(truncatingIfNeeded: offset)
        packedReads = 0
    }

    /// Who brings the row of a fault that was fetched in a batch.
    final var promise: AnyObject? { packed?.promise }

    /// The destination of a to-one relationship, without unpacking the values.
    final func packedReference(_ slot: Int) -> RowKey? {
        guard let packed, packed.promise == nil else { return storage[slot].reference }
        return packed.reference(slot, at: Int(packedOffset))
    }

    /// Forgets the values for those of another row, without unpacking them first.
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

    // What the library itself asks. The open properties below are for apps: a subclass may answer something else there.
    final var isMarkedInserted: Bool { flags.contains(.inserted) }
    final var isMarkedUpdated: Bool { flags.contains(.updated) && !flags.contains(.inserted) }
    final var isMarkedDeleted: Bool { flags.contains(.deleted) }
    final var isMarkedFault: Bool { flags.contains(.fault) }
    final var isMarkedChanged: Bool { !flags.isDisjoint(with: .pending) && !flags.contains(.detached) }

    open var isInserted: Bool { isMarkedInserted }
    open var isUpdated: Bool { isMarkedUpdated }
    open var isDeleted: Bool { isMarkedDeleted }
    open var isFault: Bool { isMarkedFault }
    /// 0 for an object whose values are here, 1 for a fault.
    open var faultingState: Int { isMarkedFault ? 1 : 0 }
    open var hasChanges: Bool { isMarkedChanged }

    /// Whether a persistent value differs from what was last saved.
    open var hasPersistentChangedValues: Bool { !changedValuesImplementation().isEmpty || isMarkedInserted || isMarkedDeleted }

    // MARK: Life cycle, for subclasses

    /// Called once, when the object is inserted; defaults are set already.
    open func awakeFromInsert() {}
    /// Called when the object's values have come from the store.
    open func awakeFromFetch() {}
    /// Called when values were replaced by earlier or other ones: by undo, redo, rollback, refresh or a merge policy.
    open func awake(fromSnapshotEvents flags: NSSnapshotEventType) {}
    /// Called before a save. Changes made here are part of the save.
    open func willSave() {}
    open func didSave() {}
    /// Called when the object is marked for deletion, before delete rules are applied.
    open func prepareForDeletion() {}
    open func willTurnIntoFault() {}
    open func didTurnIntoFault() {}

    open func validateForInsert() throws { try validateProperties() }
    open func validateForUpdate() throws { try validateProperties() }
    open func validateForDelete() throws { try validateDeletion() }

    // MARK: Key-value coding, open to subclasses

    /// - Precondition: The entity has a property of that name.
    /// An accessor written by hand is called where the class has one for Objective-C.
    ///
    /// - Returns: A value of the attribute's type, an object, or a set of objects.
    open func value(forKey key: String) -> Any? {
        if let property = layout.keyedProperties[key] { return property.get(self) }
        return readProperty(key)
    }

    /// - Precondition: The entity has a property of that name, and the value is of its type.
    open func setValue(_ value: Any?, forKey key: String) {
        if let set = layout.keyedProperties[key]?.set { return set(self, value) }
        writeProperty(key, value)
    }

    /// What ``value(forKey:)`` gives for a name that the entity does not have.
    ///
    /// - Precondition: A subclass overrides this.
    open func value(forUndefinedKey key: String) -> Any? { undefined(key) }

    /// - Precondition: A subclass overrides this.
    open func setValue(_ value: Any?, forUndefinedKey key: String) { undefined(key) }

    /// For subclasses whose own properties cannot be nil; attributes can.
    ///
    /// - Precondition: A subclass overrides this.
    open func setNilValueForKey(_ key: String) { preconditionFailure("'\(layout.name).\(key)' cannot be nil") }

    open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    open func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(value is NSNull ? nil : value, forKey: key) }
    }

    /// Follows relationships; `@count`, `@sum` and the like stand in front of what they are about.
    open func value(forKeyPath keyPath: String) -> Any? { followed(keyPath) }

    open func setValue(_ value: Any?, forKeyPath keyPath: String) { setFollowed(keyPath, value) }

    /// Checks one value; overrides may put another in its place.
    ///
    /// - Throws: ``CocoaError`` of the rule that the value violates, or 1560 with several.
    open func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
        try check(value.pointee, forKey: key)
    }

    open func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKeyPath keyPath: String) throws {
        try checkFollowed(value, keyPath)
    }

    /// Whether saves ask ``validateValue(_:forKey:)`` about each property, for classes that override it.
    ///
    /// Not Apple's, which finds overrides by itself: here it would make every save slower.
    open class var validatesEachValue: Bool { false }

    open func primitiveValue(forKey key: String) -> Any? { readProperty(key) }

    /// Sets a value without marking the object as changed and without touching inverses.
    open func setPrimitiveValue(_ value: Any?, forKey key: String) { writePrimitive(key, value) }

    /// Values that differ from what was last saved, by property name.
    open func changedValues() -> [String: Any] { changedValuesImplementation() }

    /// What was last fetched or saved.
    ///
    /// - Parameter keys: Names of properties; nil for all of them, except to-many relationships that nobody has read.
    open func committedValues(forKeys keys: [String]?) -> [String: Any] { committedValuesImplementation(forKeys: keys) }

    /// Whether reading the relationship would need the store.
    open func hasFault(forRelationshipNamed key: String) -> Bool { hasFaultImplementation(forRelationshipNamed: key) }

    /// IDs of the members, without making objects of them.
    open func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] { objectIDsImplementation(forRelationshipNamed: key) }

    /// Values that changed since the context last told of changes, as they were before, by property name.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsmanagedobject/changedvaluesforcurrentevent()
    open func changedValuesForCurrentEvent() -> [String: Any] { changedValuesForCurrentEventImplementation() }

    open func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet { mutableSetValueImplementation(forKeyPath: keyPath) }

    open func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet { mutableOrderedSetValueImplementation(forKeyPath: keyPath) }

    // For code that brackets its accessors.
    open func willAccessValue(forKey key: String?) { willRead() }
    open func didAccessValue(forKey key: String?) {}
    open func willChangeValue(forKey key: String) {
        _ = willWrite()
        announceChange(key, .setting)
    }
    open func didChangeValue(forKey key: String) { finishAnnounced(key) }
    open func willChangeValue(forKey key: String, withSetMutation mutation: NSKeyValueSetMutationKind, using objects: Set<AnyHashable>) {
        _ = willWrite()
        announceChange(key, self.mutation(mutation, objects, of: key))
    }
    open func didChangeValue(forKey key: String, withSetMutation mutation: NSKeyValueSetMutationKind, using objects: Set<AnyHashable>) {
        finishAnnounced(key)
    }
    open func willChange(_ change: NSKeyValueChange, valuesAt indexes: IndexSet, forKey key: String) {
        _ = willWrite()
        announceChange(key, mutation(change, at: indexes, of: key), at: indexes)
    }
    open func didChange(_ change: NSKeyValueChange, valuesAt indexes: IndexSet, forKey key: String) {
        finishAnnounced(key, members: change == .removal ? nil : { [self] in members(at: indexes, of: key) })
    }

    // Foundation's hash is as costly as a dictionary's own; the address tells objects apart as well.
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

    /// Creates an object of this class that tells what is read from it.
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
