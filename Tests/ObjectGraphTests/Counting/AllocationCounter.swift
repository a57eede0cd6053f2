// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// Counts the objects that Swift allocates on this thread: instances, boxes, buffers of arrays and strings.
///
/// The runtime lets its allocation function be replaced for instruments; this one counts and passes on.
enum AllocationCounter {
    typealias Allocate = @convention(c) (UnsafeRawPointer?, Int, Int) -> UnsafeMutableRawPointer?

    private static let watched = Atomic<UInt>(0)
    private static let seen = Atomic<Int>(0)
    private static let turn = Mutex(())
    nonisolated(unsafe) private static var original: Allocate?  // Written once, before the replacement is in place.

    /// - Returns: How many objects `body` allocated; nil if the runtime has no place to count.
    static func count(_ body: () throws -> Void) throws -> Int? {
        guard isInstalled else { return nil }
        return try turn.withLock { _ in
            seen.store(0, ordering: .relaxed)
            watched.store(pthread_self(), ordering: .relaxed)
            defer { watched.store(0, ordering: .relaxed) }
            try body()
            return seen.load(ordering: .relaxed)
        }
    }

    private static let isInstalled: Bool = {
        let runtime = dlopen(nil, RTLD_NOW)
        guard let function = dlsym(runtime, "_swift_allocObject"),
            let gate = dlsym(runtime, "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly")
        else { return false }
        let place = function.assumingMemoryBound(to: Allocate.self)
        original = place.pointee
        place.pointee = { type, size, alignment in
            if AllocationCounter.watched.load(ordering: .relaxed) == pthread_self() {
                AllocationCounter.seen.add(1, ordering: .relaxed)
            }
            return AllocationCounter.original?(type, size, alignment)
        }
        gate.assumingMemoryBound(to: Bool.self).pointee = true
        return true
    }()
}
