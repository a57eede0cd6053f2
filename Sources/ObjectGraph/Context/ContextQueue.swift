// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// The queue that a context's objects stay on.
///
/// The main queue counts as current on the main thread too: on Linux an async `main` leaves the main thread,
/// while the main queue goes on.
final class ContextQueue: Sendable {
    let queue: DispatchQueue
    private let isMain: Bool
    private static let key = DispatchSpecificKey<ObjectIdentifier>()
    private static let mainKey: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    init(_ type: NSManagedObjectContext.ConcurrencyType) {
        switch type {
        case .mainQueue:
            queue = .main
            isMain = true
        case .privateQueue:
            // A target among the global queues: otherwise each busy context would get a thread of its own.
            queue = DispatchQueue(label: "tarn.context", target: .global(qos: .userInitiated))
            isMain = false
        }
        if isMain { _ = Self.mainKey } else { queue.setSpecific(key: Self.key, value: ObjectIdentifier(self)) }
    }

    var isCurrent: Bool {
        if isMain { return DispatchQueue.getSpecific(key: Self.mainKey) == true || Thread.isMainThread }
        return DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
    }

    func sync<T>(_ body: () throws -> T) rethrows -> T {
        if isCurrent { return try body() }
        return try queue.sync(execute: body)
    }
}

/// Carries a value across a queue hop whose order makes the access safe.
struct Unchecked<T>: @unchecked Sendable {
    // Unchecked: handed from one queue to another by a hop; never used on both at once.
    let value: T
    init(_ value: T) { self.value = value }
}

extension Result {
    func rethrow<T>(_ body: (() throws -> T) throws -> T) rethrows -> T where Success == Unchecked<T> {
        try body { try self.get().value }
    }
}
