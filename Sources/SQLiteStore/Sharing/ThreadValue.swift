// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A thread-local value, for the duration of a call.
package struct ThreadValue<Value>: Sendable {
    private final class Box {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    private let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "a process has room for one more thread-specific key")
        return key
    }()

    package init() {}

    /// nil outside of ``with(_:_:)`` on this thread.
    package var value: Value? { pthread_getspecific(key).map { Unmanaged<Box>.fromOpaque($0).takeUnretainedValue().value } }

    package func with<T>(_ value: Value, _ body: () throws -> T) rethrows -> T {
        let previous = pthread_getspecific(key)
        let box = Box(value)
        pthread_setspecific(key, Unmanaged.passUnretained(box).toOpaque())
        defer { pthread_setspecific(key, previous) }
        return try withExtendedLifetime(box) { try body() }
    }
}
