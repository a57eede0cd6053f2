// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation
import SQLiteStore

/// The serial queue of a context and its objects.
///
/// The main queue counts as current on the main thread too: on Linux an async `main` leaves the main thread while the
/// main queue keeps running. A queue blocked in another queue's `performAndWait` counts as current inside that block:
///
///     a.performAndWait { b.performAndWait { a.performAndWait { … } } }
final class ContextQueue: Sendable {
    let queue: DispatchQueue
    private let isMain: Bool
    private static let key = DispatchSpecificKey<ObjectIdentifier>()
    /// The queues blocked further up this thread's stack. No other thread can be on them.
    private static let waiting = ThreadValue<[ObjectIdentifier]>()
    private static let main: ObjectIdentifier = {
        let identity = ObjectIdentifier(DispatchQueue.main)
        DispatchQueue.main.setSpecific(key: key, value: identity)
        return identity
    }()

    init(_ type: NSManagedObjectContext.ConcurrencyType) {
        switch type {
        case .mainQueue:
            queue = .main
            isMain = true
        case .privateQueue:
            // Targets a global queue: otherwise each busy context would get its own thread.
            queue = DispatchQueue(label: "tarn.context", target: .global(qos: .userInitiated))
            isMain = false
        }
        if isMain { _ = Self.main } else { queue.setSpecific(key: Self.key, value: identity) }
    }

    /// All contexts on the main queue share it.
    private var identity: ObjectIdentifier { isMain ? Self.main : ObjectIdentifier(self) }

    /// Thread-local storage of the queue of the running block: a query to Dispatch costs many times as much.
    private static let running: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "a process has room for one more thread-specific key")
        return key
    }()

    /// Runs a block that is already on this queue.
    func running<T>(_ body: () throws -> T) rethrows -> T {
        let previous = pthread_getspecific(Self.running)
        pthread_setspecific(Self.running, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.running, previous) }
        return try body()
    }

    @inline(__always)
    var isCurrent: Bool {
        pthread_getspecific(Self.running) == Unmanaged.passUnretained(self).toOpaque() || isCurrentByDispatch
    }

    private var isCurrentByDispatch: Bool {
        if let current = DispatchQueue.getSpecific(key: Self.key), current == identity { return true }
        return (isMain && Thread.isMainThread) || (Self.waiting.value ?? []).contains(identity)
    }

    func sync<T>(_ body: () throws -> T) rethrows -> T {
        if isCurrent { return try body() }
        var waiting = Self.waiting.value ?? []
        if let current = DispatchQueue.getSpecific(key: Self.key) { waiting.append(current) }
        if Thread.isMainThread { waiting.append(Self.main) }
        // Always set, because the block may run on a thread other than the blocked one.
        return try queue.sync { try Self.waiting.with(waiting, body) }
    }
}

/// Carries a value across a queue hop whose order makes the access safe.
struct Unchecked<T>: @unchecked Sendable {
    // Unchecked: a hop hands the value from one queue to another; the queues never use it concurrently.
    let value: T
    init(_ value: T) { self.value = value }
}

extension Result {
    func rethrow<T>(_ body: (() throws -> T) throws -> T) rethrows -> T where Success == Unchecked<T> {
        try body { try self.get().value }
    }
}
