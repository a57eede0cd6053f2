// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

// Names of the Objective-C runtime that code around Core Data calls. There are no autoreleased objects here, and locks by
// object work without a runtime.

/// Runs a block. Objects are released at their last use here, so there's no pool to drain.
///
/// Source: developer.apple.com/documentation/objectivec/autoreleasepool(invoking:)
@inlinable
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

/// Waits until no other thread is between `objc_sync_enter` and `objc_sync_exit` of the object. The same thread may enter
/// again.
///
/// - Returns: 0.
@discardableResult
public func objc_sync_enter(_ object: Any) -> Int32 {
    ObjectLocks.lock(for: object as AnyObject).lock()
    return 0
}

/// Lets other threads enter.
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
        /// Calls of `objc_sync_enter` without their `objc_sync_exit`, those that wait included.
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
    /// The class itself. Code calls it to name an entity after its class.
    ///
    /// Source: developer.apple.com/documentation/objectivec/nsobject-swift.class/classforcoder
    public class func classForCoder() -> AnyClass { self }
}

// Kinds of changes that accessors written by hand announce. Foundation on Linux has no key-value observing, and no such names.
// Raw values are Apple's.

/// Source: developer.apple.com/documentation/foundation/nskeyvaluesetmutationkind
public enum NSKeyValueSetMutationKind: UInt, Sendable {
    case union = 1
    case minus = 2
    case intersect = 3
    case set = 4
}

/// Source: developer.apple.com/documentation/foundation/nskeyvaluechange
public enum NSKeyValueChange: UInt, Sendable {
    case setting = 1
    case insertion = 2
    case removal = 3
    case replacement = 4
}
