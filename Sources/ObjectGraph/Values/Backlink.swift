// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CRuntimeRecords
import Synchronization

/// A zeroing weak reference for objects that are retained very often.
///
/// A Swift weak reference would move the object's reference count out of the object, after which each retain and release
/// costs several times as much: for contexts and entities, a fifth of an insert.
///
/// The object owns its link, and calls ``clear()`` in its `deinit`.
final class Backlink<Object: AnyObject>: Sendable {
    private let address = Mutex<UInt>(0)

    /// The object, or nil once its `deinit` has begun.
    var object: Object? {
        // Not released under the lock: the last release runs `deinit`, which takes the lock.
        let retainedAddress = address.withLock { address in
            address != 0 && tarn_retain_if_alive(UnsafeRawPointer(bitPattern: address)!) ? address : 0
        }
        guard let pointer = UnsafeRawPointer(bitPattern: retainedAddress) else { return nil }
        return Unmanaged<Object>.fromOpaque(pointer).takeRetainedValue()
    }

    func setTarget(_ object: Object) { address.withLock { $0 = UInt(bitPattern: ObjectIdentifier(object)) } }

    func clear() { address.withLock { $0 = 0 } }
}
