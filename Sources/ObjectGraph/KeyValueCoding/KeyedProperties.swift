// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// Properties written in Swift that key-value coding finds: hand-written accessors of modelled properties, and computed
/// properties marked `@objc`.
///
/// An Objective-C runtime finds methods by name. Here the model compiler's plugin lists them: it generates one subclass
/// of ``KeyedPropertyRegistration`` per module.
public struct KeyedProperties: Sendable {
    struct Property: Sendable {
        let get: @Sendable (NSManagedObject) -> Any?
        /// nil for a read-only property.
        let set: (@Sendable (NSManagedObject, Any?) -> Void)?
    }

    private var byClass: [ObjectIdentifier: [String: Property]] = [:]

    /// Adds a read-only property.
    ///
    /// - Parameter key: The property's name for Objective-C.
    public mutating func add<Owner: NSManagedObject, Value>(
        _ key: String, of owner: Owner.Type, get: @escaping @Sendable (Owner) -> Value
    ) {
        byClass[ObjectIdentifier(owner), default: [:]][key] = Property(get: { Self.read($0, get) }, set: nil)
    }

    /// Adds a read-write property. Setting a value of another type ends the process.
    ///
    /// - Parameter key: The property's name for Objective-C.
    public mutating func add<Owner: NSManagedObject, Value>(
        _ key: String, of owner: Owner.Type, get: @escaping @Sendable (Owner) -> Value,
        set: @escaping @Sendable (Owner, Value) -> Void
    ) {
        byClass[ObjectIdentifier(owner), default: [:]][key] = Property(
            get: { Self.read($0, get) },
            set: { object, value in
                guard let object = object as? Owner else { return }
                if let value = Self.cast(value, to: Value.self) { return set(object, value) }
                preconditionFailure(
                    "'\(Owner.self).\(key)' is a \(Value.self) and cannot be set to \(value.map { "a \(type(of: $0))" } ?? "nil")")
            })
    }

    // Key-value coding ignores `@objc` properties of other classes.

    /// Ignores a property of a class that isn't a managed object's.
    public func add<Owner, Value>(_ key: String, of owner: Owner.Type, get: @Sendable (Owner) -> Value) {}

    /// Ignores a property of a class that isn't a managed object's.
    public func add<Owner, Value>(
        _ key: String, of owner: Owner.Type, get: @Sendable (Owner) -> Value, set: @Sendable (Owner, Value) -> Void
    ) {}

    private static func read<Owner: NSManagedObject, Value>(_ object: NSManagedObject, _ get: (Owner) -> Value) -> Any? {
        guard let object = object as? Owner else { return nil }
        let value = get(object)
        return if let optional = value as? any PossiblyNil { optional.boxed } else { boxed(value) }
    }

    private static func cast<Value>(_ value: Any?, to type: Value.Type) -> Value? {
        if let value, !(value is NSNull) { return value as? Value }
        return (type as? any PossiblyNil.Type)?.none as? Value
    }

    /// Converts numbers to `NSNumber`, as ``NSManagedObject/value(forKey:)`` does for attributes.
    fileprivate static func boxed(_ value: Any) -> Any {
        switch value {
        case let value as Bool: NSNumber(value: value)
        case let value as Int: NSNumber(value: value)
        case let value as Int16: NSNumber(value: value)
        case let value as Int32: NSNumber(value: value)
        case let value as Int64: NSNumber(value: value)
        case let value as Double: NSNumber(value: value)
        case let value as Float: NSNumber(value: value)
        default: value
        }
    }

    // MARK: Properties of a class

    private static let all: KeyedProperties = ManagedClassLookup.keyedPropertyRegistrations().reduce(into: KeyedProperties()) {
        table, type in
        type.add(to: &table)
    }

    /// Properties by key, including those of superclasses.
    static func properties(of type: NSManagedObject.Type) -> [String: Property] {
        guard !all.byClass.isEmpty else { return [:] }
        var propertiesByKey: [String: Property] = [:]
        var current: AnyClass? = type
        while let type = current {
            propertiesByKey.merge(all.byClass[ObjectIdentifier(type)] ?? [:]) { nearest, _ in nearest }
            current = _getSuperclass(type)
        }
        return propertiesByKey
    }
}

/// Lists a module's properties for key-value coding; the plugin generates subclasses.
open class KeyedPropertyRegistration {
    /// Adds the module's properties to a table.
    open class func add(to table: inout KeyedProperties) {}
}

private protocol PossiblyNil {
    static var none: Self { get }
    var boxed: Any? { get }
}

extension Optional: PossiblyNil {
    fileprivate var boxed: Any? { map { KeyedProperties.boxed($0) } }
}
