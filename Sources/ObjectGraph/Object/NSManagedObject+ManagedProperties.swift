// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// The functions that hand-written `@NSManaged` properties call when their type has no function of its own: any type that
/// the property's value can be cast to, raw-representable wrappers and primitive values.
extension NSManagedObject {
    // MARK: Values of any type

    public final func _value<T>(_ key: ManagedPropertyKey) -> T? { cast(value(of: key, as: T.self)) }

    public final func _value<T: RawRepresentable>(_ key: ManagedPropertyKey) -> T? { wrapped(value(of: key, as: T.self)) }

    public final func _setValue<T>(_ key: ManagedPropertyKey, _ value: T?) { write(value, to: key) }

    public final func _setValue<T: RawRepresentable>(_ key: ManagedPropertyKey, _ value: T?) {
        write(stored(value), to: key)
    }

    public final func _objectSet<T>(_ key: ManagedPropertyKey, of type: T.Type) -> Set<T>? {
        readProperty(key.name) as? Set<T>
    }

    /// For classes other than managed objects: values of transformable attributes.
    public final func _object<T>(_ key: ManagedPropertyKey, as type: T.Type) -> T? { _value(key) }

    public final func _setObject<T>(_ key: ManagedPropertyKey, _ value: T?) { _setValue(key, value) }

    // MARK: Primitive values

    /// `primitiveTitle` is the primitive value of `title`, unless the entity has a property of the longer name.
    public final func _primitive<T>(_ key: ManagedPropertyKey) -> T? {
        guard let name = primitiveName(key) else { return _value(key) }
        return cast(primitiveValue(forKey: name))
    }

    public final func _primitive<T: RawRepresentable>(_ key: ManagedPropertyKey) -> T? {
        guard let name = primitiveName(key) else { return _value(key) }
        return wrapped(primitiveValue(forKey: name))
    }

    public final func _setPrimitive<T>(_ key: ManagedPropertyKey, _ value: T?) {
        guard let name = primitiveName(key) else { return _setValue(key, value) }
        setPrimitiveValue(value, forKey: name)
    }

    public final func _setPrimitive<T: RawRepresentable>(_ key: ManagedPropertyKey, _ value: T?) {
        guard let name = primitiveName(key) else { return _setValue(key, value) }
        setPrimitiveValue(stored(value), forKey: name)
    }

    private final func primitiveName(_ key: ManagedPropertyKey) -> String? {
        guard layout.entity.location(of: key.name) == nil else { return nil }
        let name = key.name.dropFirst("primitive".count)
        let lowercase = name.prefix(1).lowercased() + name.dropFirst()
        return layout.entity.location(of: lowercase) == nil ? String(name) : lowercase
    }

    // MARK: Required values

    /// Returns the value of a property with a non-optional type.
    ///
    /// - Parameter standIn: The value for a deleted object and a probe.
    /// - Precondition: The value isn't nil. Source: Apple's frameworks end the process when nil is bridged to such a
    ///   type.
    public final func _present<T>(_ value: T?, _ key: ManagedPropertyKey, or standIn: @autoclosure () -> T) -> T {
        if let value { return value }
        if !flags.isDisjoint(with: [.probe, .detached]) || isMarkedDeleted { return standIn() }
        preconditionFailure("\(layout.name).\(key.name) is nil, and its property in Swift is not optional")
    }

    /// Returns the value of a property with a non-optional type without a default. A wrapper of a number stands in as
    /// that of 0, as a number would.
    public final func _present<T>(_ value: T?, _ key: ManagedPropertyKey) -> T {
        if let value { return value }
        if let wrapper = T.self as? any RawRepresentable.Type, let zero = zero(of: wrapper) as? T { return zero }
        preconditionFailure("\(layout.name).\(key.name) is nil, and its property in Swift is not optional")
    }

    private final func zero<Wrapper: RawRepresentable>(of type: Wrapper.Type) -> Any? {
        guard let number = Wrapper.RawValue.self as? any FixedWidthInteger.Type, let raw = number.init(exactly: 0) as? Wrapper.RawValue
        else {
            return nil
        }
        return Wrapper(rawValue: raw)
    }

    // MARK: Members of to-many relationships

    public final func _addObjects<T: NSManagedObject>(_ key: ManagedPropertyKey, _ values: some Collection<T>) {
        addMembers(key.toManyIndex(in: layout), Array(values))
    }
    public final func _removeObjects<T: NSManagedObject>(_ key: ManagedPropertyKey, _ values: some Collection<T>) {
        removeMembers(key.toManyIndex(in: layout), Array(values))
    }

    public final func _insertObject(_ key: ManagedPropertyKey, _ value: NSManagedObject, at index: Int) {
        changeOrder(key) { $0.insert(value, at: index) }
    }
    public final func _removeObject(_ key: ManagedPropertyKey, at index: Int) { changeOrder(key) { $0.removeObject(at: index) } }
    public final func _replaceObject(_ key: ManagedPropertyKey, at index: Int, with value: NSManagedObject) {
        changeOrder(key) { $0.replaceObject(at: index, with: value) }
    }
    public final func _insertObjects(_ key: ManagedPropertyKey, _ values: [NSManagedObject], at indexes: NSIndexSet) {
        changeOrder(key) { $0.insert(values, at: IndexSet(indexes)) }
    }
    public final func _removeObjects(_ key: ManagedPropertyKey, at indexes: NSIndexSet) {
        changeOrder(key) { $0.removeObjects(at: IndexSet(indexes)) }
    }
    public final func _replaceObjects(_ key: ManagedPropertyKey, at indexes: NSIndexSet, with values: [NSManagedObject]) {
        changeOrder(key) { $0.replaceObjects(at: IndexSet(indexes), with: values) }
    }
    public final func _addObjects(_ key: ManagedPropertyKey, _ values: NSOrderedSet) {
        addMembers(key.toManyIndex(in: layout), values.compactMap { $0 as? NSManagedObject })
    }
    public final func _removeObjects(_ key: ManagedPropertyKey, _ values: NSOrderedSet) {
        removeMembers(key.toManyIndex(in: layout), values.compactMap { $0 as? NSManagedObject })
    }

    private final func changeOrder(_ key: ManagedPropertyKey, _ change: (NSMutableOrderedSet) -> Void) {
        let members = NSMutableOrderedSet()
        if let current = readProperty(key.name) as? NSOrderedSet { members.union(current) }
        change(members)
        changeMembers(key.toManyIndex(in: layout), to: managedObjects(members, key: key.name))
    }

    // MARK: Casting

    private final func value(of key: ManagedPropertyKey, as type: Any.Type) -> Any? {
        if flags.contains(.probe) { return KeyPathProbe.destination(key.name, of: self, as: type as? NSManagedObject.Type) }
        return readProperty(key.name)
    }

    private final func write(_ value: Any?, to key: ManagedPropertyKey) {
        guard case .slot(let slot)? = layout.entity.location(of: key.name), case .attribute(let attribute) = layout.entity.slots[slot],
            attribute.type == .date, let seconds = value as? Double
        else { return writeProperty(key.name, value) }
        writeProperty(key.name, Date(timeIntervalSinceReferenceDate: seconds))
    }

    private final func cast<T>(_ value: Any?) -> T? {
        guard let value else { return nil }
        if let value = value as? T { return value }
        // A property may have another numeric type than the attribute, and a scalar date counts seconds since 2001.
        switch value {
        case let value as Date: return value.timeIntervalSinceReferenceDate as? T
        case let value as NSDecimalNumber: return (value.decimalValue as? T) ?? number(value)
        case let value as Bool: return NSNumber(value: value) as? T
        case let value as any BinaryInteger: return number(NSNumber(value: Int64(truncatingIfNeeded: value)))
        case let value as any BinaryFloatingPoint: return number(NSNumber(value: Double(value)))
        default: return nil
        }
    }

    private final func number<T>(_ value: NSNumber) -> T? {
        if let value = value as? T { return value }
        let candidates: [Any] = [
            value.intValue, value.int64Value, value.int32Value, value.int16Value, value.int8Value, value.uint64Value, value.uint32Value,
            value.uint16Value, value.uint8Value, value.doubleValue, value.floatValue,
        ]
        return candidates.lazy.compactMap { $0 as? T }.first
    }

    private final func wrapped<T: RawRepresentable>(_ value: Any?) -> T? {
        if let value = value as? T { return value }
        let raw: T.RawValue? = cast(value)
        return raw.flatMap(T.init)
    }

    /// A wrapper is stored as its raw value if the attribute is a plain one.
    private final func stored<T: RawRepresentable>(_ value: T?) -> Any? { value?.rawValue }
}
