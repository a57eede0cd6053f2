// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// The functions that generated properties call: one per type, so that each compiles to a slot access.
extension NSManagedObject {
    @inline(__always)
    private final func read(_ key: ManagedPropertyKey) -> StoredValue {
        willRead(key) ? value(at: key.slot(in: layout)) : .null
    }

    /// - Returns: False for a probe, which has no values and perhaps no such property.
    @inline(__always)
    private final func willRead(_ key: ManagedPropertyKey) -> Bool {
        flags.isDisjoint(with: [.fault, .detached, .observed]) || willReadSlowly(key)
    }

    @inline(never)
    private final func willReadSlowly(_ key: ManagedPropertyKey) -> Bool {
        if flags.contains(.probe) {
            KeyPathProbe.recordRead(key.name, of: self)
            return false
        }
        if flags.contains(.observed) { noteRead(key.name) }
        willRead()
        return true
    }

    @inline(__always)
    private final func write(_ key: ManagedPropertyKey, _ value: StoredValue) { setSlot(key.slot(in: layout), to: value) }

    public final func _string(_ key: ManagedPropertyKey) -> String? { if case .string(let value) = read(key) { value } else { nil } }
    public final func _setString(_ key: ManagedPropertyKey, _ value: String?) { write(key, value.map(StoredValue.string) ?? .null) }

    public final func _date(_ key: ManagedPropertyKey) -> Date? {
        if case .date(let value) = read(key) { Date(timeIntervalSinceReferenceDate: value) } else { nil }
    }
    public final func _setDate(_ key: ManagedPropertyKey, _ value: Date?) {
        write(key, value.map { .date($0.timeIntervalSinceReferenceDate) } ?? .null)
    }

    public final func _data(_ key: ManagedPropertyKey) -> Data? { if case .data(let value) = read(key) { value } else { nil } }
    public final func _setData(_ key: ManagedPropertyKey, _ value: Data?) { write(key, value.map(StoredValue.data) ?? .null) }

    public final func _uuid(_ key: ManagedPropertyKey) -> UUID? { if case .uuid(let value) = read(key) { value } else { nil } }
    public final func _setUUID(_ key: ManagedPropertyKey, _ value: UUID?) { write(key, value.map(StoredValue.uuid) ?? .null) }

    public final func _url(_ key: ManagedPropertyKey) -> URL? {
        if case .url(let value) = read(key) { URL(string: value) } else { nil }
    }
    public final func _setURL(_ key: ManagedPropertyKey, _ value: URL?) { write(key, value.map { .url($0.absoluteString) } ?? .null) }

    public final func _decimal(_ key: ManagedPropertyKey) -> NSDecimalNumber? {
        if case .decimal(let value) = read(key) { NSDecimalNumber(decimal: value) } else { nil }
    }
    public final func _setDecimal(_ key: ManagedPropertyKey, _ value: NSDecimalNumber?) {
        write(key, value.map { .decimal($0.decimalValue) } ?? .null)
    }

    public final func _int64(_ key: ManagedPropertyKey) -> Int64 { if case .int(let value) = read(key) { value } else { 0 } }
    public final func _setInt64(_ key: ManagedPropertyKey, _ value: Int64) { write(key, .int(value)) }
    public final func _int32(_ key: ManagedPropertyKey) -> Int32 { Int32(truncatingIfNeeded: _int64(key)) }
    public final func _setInt32(_ key: ManagedPropertyKey, _ value: Int32) { write(key, .int(Int64(value))) }
    public final func _int16(_ key: ManagedPropertyKey) -> Int16 { Int16(truncatingIfNeeded: _int64(key)) }
    public final func _setInt16(_ key: ManagedPropertyKey, _ value: Int16) { write(key, .int(Int64(value))) }
    public final func _bool(_ key: ManagedPropertyKey) -> Bool { _int64(key) != 0 }
    public final func _setBool(_ key: ManagedPropertyKey, _ value: Bool) { write(key, .int(value ? 1 : 0)) }
    public final func _double(_ key: ManagedPropertyKey) -> Double { if case .double(let value) = read(key) { value } else { 0 } }
    public final func _setDouble(_ key: ManagedPropertyKey, _ value: Double) { write(key, .double(value)) }
    public final func _float(_ key: ManagedPropertyKey) -> Float { Float(_double(key)) }
    public final func _setFloat(_ key: ManagedPropertyKey, _ value: Float) { write(key, .double(Double(value))) }

    public final func _number(_ key: ManagedPropertyKey) -> NSNumber? {
        switch read(key) {
        case .int(let value):
            if case .attribute(let attribute) = layout.entity.slots[key.slot(in: layout)], attribute.type == .boolean {
                NSNumber(value: value != 0)
            } else {
                NSNumber(value: value)
            }
        case .double(let value): NSNumber(value: value)
        case .decimal(let value): NSDecimalNumber(decimal: value)
        default: nil
        }
    }
    public final func _setNumber(_ key: ManagedPropertyKey, _ value: NSNumber?) { setValue(value, forKey: key.name) }

    public final func _object<T: NSManagedObject>(_ key: ManagedPropertyKey, as type: T.Type) -> T? {
        if flags.contains(.probe) { return KeyPathProbe.destination(key.name, of: self, as: T.self) as? T }
        _ = willRead(key)
        return toOne(key.slot(in: layout)) as? T
    }
    public final func _setObject(_ key: ManagedPropertyKey, _ value: NSManagedObject?) { setToOne(key.slot(in: layout), to: value) }

    public final func _objects(_ key: ManagedPropertyKey) -> NSSet? {
        guard willRead(key) else { return nil }
        return NSSet(members: toManyObjects(key.toManyIndex(in: layout)))
    }
    public final func _setObjects(_ key: ManagedPropertyKey, _ value: NSSet?) { setValue(value, forKey: key.name) }
    public final func _orderedObjects(_ key: ManagedPropertyKey) -> NSOrderedSet? {
        guard willRead(key) else { return nil }
        return NSOrderedSet(array: toManyObjects(key.toManyIndex(in: layout)))
    }
    public final func _setOrderedObjects(_ key: ManagedPropertyKey, _ value: NSOrderedSet?) { setValue(value, forKey: key.name) }
    public final func _addObject(_ key: ManagedPropertyKey, _ value: NSManagedObject) {
        addToMany(key.toManyIndex(in: layout), value)
    }
    public final func _removeObject(_ key: ManagedPropertyKey, _ value: NSManagedObject) {
        removeFromMany(key.toManyIndex(in: layout), value)
    }
    public final func _addObjects(_ key: ManagedPropertyKey, _ values: NSSet) {
        addMembers(key.toManyIndex(in: layout), values.compactMap { $0 as? NSManagedObject })
    }
    public final func _removeObjects(_ key: ManagedPropertyKey, _ values: NSSet) {
        removeMembers(key.toManyIndex(in: layout), values.compactMap { $0 as? NSManagedObject })
    }
}

extension NSManagedObject {
    public final func _transformable<T>(_ key: ManagedPropertyKey, as type: T.Type) -> T? {
        guard willRead(key) else { return nil }
        return transformed(key.slot(in: layout)) as? T
    }
    public final func _setTransformable(_ key: ManagedPropertyKey, _ value: Any?) { setValue(value, forKey: key.name) }
}
