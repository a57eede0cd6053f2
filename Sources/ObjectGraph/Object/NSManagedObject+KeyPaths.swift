// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit

/// A replaceable value. The name is that of Objective-C's runtime, so that overrides of `validateValue(_:forKey:)`
/// compile here, too.
public typealias AutoreleasingUnsafeMutablePointer<Pointee> = UnsafeMutablePointer<Pointee>

// Key-value coding of properties outside the model, and of key paths.

extension NSManagedObject {
    final func undefined(_ key: String) -> Never {
        preconditionFailure("entity '\(layout.name)' is not key value coding-compliant for the key '\(key)'")
    }

    /// Fetched properties, and properties of every object.
    final func unmodelled(_ key: String) -> Any? {
        if let property = layout.fetchedProperties[key] { return fetched(property) }
        if layout.entity.composites[key] != nil {
            willRead()
            return composite(key, values)
        }
        switch key {
        case "self": return self
        case "objectID": return objectID
        case "entity": return entity
        case "managedObjectContext": return managedObjectContext
        case "isInserted": return isInserted
        case "isUpdated": return isUpdated
        case "isDeleted": return isDeleted
        case "isFault": return isFault
        case "hasChanges": return hasChanges
        default: return value(forUndefinedKey: key)
        }
    }

    final func writeUnmodelled(_ key: String, _ value: Any?) {
        if layout.entity.composites[key] != nil { return asOneChange(key, .setting) { setComposite(key, value) } }
        precondition(layout.fetchedProperties[key] == nil, "'\(layout.name).\(key)' is a fetched property and cannot be set")
        setValue(value, forUndefinedKey: key)
    }

    func mutableSetValueImplementation(forKeyPath keyPath: String) -> NSMutableSet {
        let (owner, key) = requireOwner(keyPath)
        return owner.mutableSetValue(forKey: key)
    }

    func mutableOrderedSetValueImplementation(forKeyPath keyPath: String) -> NSMutableOrderedSet {
        let (owner, key) = requireOwner(keyPath)
        return owner.mutableOrderedSetValue(forKey: key)
    }

    final func followed(_ keyPath: String) -> Any? {
        KeyValuePath.value(of: self, keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...])
    }

    final func setFollowed(_ keyPath: String, _ value: Any?) {
        // A part of a composite has its own slot.
        if layout.entity.location(of: keyPath) != nil || layout.entity.composites[keyPath] != nil {
            return setValue(value, forKey: keyPath)
        }
        guard let (owner, key) = owner(keyPath) else { return }
        owner.setValue(value, forKey: key)
    }

    final func checkFollowed(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, _ keyPath: String) throws {
        guard let (owner, key) = owner(keyPath) else { return }
        try owner.validateValue(value, forKey: key)
    }

    /// Returns the object of the last key; nil if a relationship on the path is nil.
    private final func owner(_ keyPath: String) -> (NSManagedObject, String)? {
        guard let dot = keyPath.lastIndex(of: ".") else { return (self, keyPath) }
        let owner = value(forKeyPath: String(keyPath[..<dot])) as? NSManagedObject
        return owner.map { ($0, String(keyPath[keyPath.index(after: dot)...])) }
    }

    private final func requireOwner(_ keyPath: String) -> (NSManagedObject, String) {
        guard let target = owner(keyPath) else { preconditionFailure("'\(keyPath)' leads to no object of \(layout.name)") }
        return target
    }
}

/// Key paths over objects, collections and dictionaries.
///
/// Source: Key-Value Coding Programming Guide, "Using Collection Operators".
enum KeyValuePath {
    static func value(of value: Any?, _ keys: ArraySlice<String>) -> Any? {
        guard let value, !(value is NSNull), let key = keys.first else { return value is NSNull ? nil : value }
        let remainingKeys = keys.dropFirst()
        switch value {
        case let object as NSManagedObject: return self.value(of: object.value(forKey: key), remainingKeys)
        case let dictionary as [String: Any]: return self.value(of: key == "@count" ? dictionary.count : dictionary[key], remainingKeys)
        case let set as NSOrderedSet:
            return collection(set.array, key, remainingKeys) { NSOrderedSet(array: $0) }
        case let set as NSSet: return collection(set.allObjects, key, remainingKeys) { NSSet(array: $0) }
        case let array as [Any]: return collection(array, key, remainingKeys) { $0 }
        default:
            // Texts, numbers and dates have the keys that predicates know, such as `length`.
            guard let result = PredicateValue(value).value(at: keys).foundationValue else {
                preconditionFailure("a \(type(of: value)) has no values for keys, such as '\(key)'")
            }
            return result
        }
    }

    private static func collection(_ members: [Any], _ key: String, _ rest: ArraySlice<String>, _ wrap: ([Any]) -> Any) -> Any? {
        guard key.hasPrefix("@") else {
            return wrap(members.compactMap { value(of: $0, [key] + rest) })
        }
        if key == "@count" { return members.count }
        let values = members.compactMap { value(of: $0, rest) }
        switch key {
        case "@sum": return numbers(values).reduce(NSDecimalNumber.zero) { $0.adding($1) }
        case "@avg":
            // Members without a value count as 0, as the guide states.
            let sum = numbers(values).reduce(NSDecimalNumber.zero) { $0.adding($1) }
            return members.isEmpty ? NSDecimalNumber.zero : sum.dividing(by: NSDecimalNumber(value: members.count))
        case "@max": return values.max { precedes($0, $1) }
        case "@min": return values.min { precedes($0, $1) }
        case "@unionOfObjects": return values
        case "@distinctUnionOfObjects": return NSSet(array: values).allObjects
        case "@unionOfArrays", "@unionOfSets": return values.flatMap(elements)
        case "@distinctUnionOfArrays": return NSSet(array: values.flatMap(elements)).allObjects
        case "@distinctUnionOfSets": return NSSet(array: values.flatMap(elements))
        default: preconditionFailure("'\(key)' isn't a collection operator")
        }
    }

    private static func elements(_ value: Any) -> [Any] {
        (value as? NSSet)?.allObjects ?? (value as? NSOrderedSet)?.array ?? (value as? [Any]) ?? [value]
    }

    private static func numbers(_ values: [Any]) -> [NSDecimalNumber] {
        values.compactMap { value in
            guard case .decimal(let number)? = AttributeCoding.stored(value, as: .decimal) else { return nil }
            return NSDecimalNumber(decimal: number)
        }
    }

    private static func precedes(_ one: Any, _ other: Any) -> Bool {
        switch (one, other) {
        case let (one as String, other as String): one < other
        case let (one as Date, other as Date): one < other
        default: numbers([one, other]).count == 2 && numbers([one])[0].compare(numbers([other])[0]) == .orderedAscending
        }
    }
}
