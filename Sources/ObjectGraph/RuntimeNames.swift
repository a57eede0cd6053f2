// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

// Names of the Objective-C runtime that code around Core Data uses. Without the runtime there are no autoreleased
// objects, and locks by object are implemented here.

/// Runs a block. Swift releases objects at their last use, so there is no pool to drain.
///
/// - Throws: The errors of the block.
///
/// Source: developer.apple.com/documentation/objectivec/autoreleasepool(invoking:)
@inlinable
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

/// Locks an object recursively. Waits until no other thread holds the lock.
///
/// - Returns: 0.
@discardableResult
public func objc_sync_enter(_ object: Any) -> Int32 {
    ObjectLocks.lock(for: object as AnyObject).lock()
    return 0
}

/// Unlocks an object.
///
/// - Returns: 0; -1 when the object isn't locked.
@discardableResult
public func objc_sync_exit(_ object: Any) -> Int32 {
    guard let lock = ObjectLocks.release(object as AnyObject) else { return -1 }
    lock.unlock()
    return 0
}

/// The locks of objects that threads hold or wait for.
private enum ObjectLocks {
    private struct Entry: @unchecked Sendable {
        // Unchecked: a lock is used from any thread.
        var lock = NSRecursiveLock()
        /// Calls of `objc_sync_enter` without their `objc_sync_exit`, waiting ones included.
        var uses = 0
    }

    private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    static func lock(for object: AnyObject) -> NSRecursiveLock {
        entries.withLock { entries in
            var entry = entries[ObjectIdentifier(object)] ?? Entry()
            entry.uses += 1
            entries[ObjectIdentifier(object)] = entry
            return entry
        }.lock
    }

    static func release(_ object: AnyObject) -> NSRecursiveLock? {
        entries.withLock { entries -> Entry? in
            guard var entry = entries[ObjectIdentifier(object)] else { return nil }
            entry.uses -= 1
            entries[ObjectIdentifier(object)] = entry.uses == 0 ? nil : entry
            return entry
        }?.lock
    }
}

extension NSObject {
    /// Returns the class itself. Code calls it to name an entity after its class.
    ///
    /// Source: developer.apple.com/documentation/objectivec/nsobject-swift.class/classforcoder
    public class func classForCoder() -> AnyClass { self }
}

// Kinds of changes that hand-written accessors announce. Foundation on Linux lacks these names.
// Raw values are Apple's.

/// The kind of a change of a set.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvaluesetmutationkind
public enum NSKeyValueSetMutationKind: UInt, Sendable {
    /// Members are added.
    case union = 1
    /// Members are removed.
    case minus = 2
    /// Members outside another set are removed.
    case intersect = 3
    /// The members are replaced.
    case set = 4
}

/// The kind of a property's change.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvaluechange
public enum NSKeyValueChange: UInt, Sendable {
    /// The value is replaced.
    case setting = 1
    /// Members are inserted.
    case insertion = 2
    /// Members are removed.
    case removal = 3
    /// Members are replaced.
    case replacement = 4
}

/// `FileProtectionType.complete as NSObject`, as options of stores are written. Linux has no file protection, and
/// ``NSPersistentStoreFileProtectionKey`` has no effect.
extension FileProtectionType: @retroactive _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSString { NSString(string: rawValue) }

    public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout FileProtectionType?) {
        result = FileProtectionType(rawValue: source as String)
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSString, result: inout FileProtectionType?) -> Bool {
        result = FileProtectionType(rawValue: source as String)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> FileProtectionType {
        FileProtectionType(rawValue: source.map { $0 as String } ?? "")
    }
}
