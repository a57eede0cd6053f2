// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Passes of a save visit each pending object. A `for` loop retains and releases each one, which are two atomic operations a
// pass: together they cost as much as the rest of the passes. These loops borrow the objects instead.

extension ContiguousArray where Element == NSManagedObject? {
    /// Calls `body` for each object of the list as it is now, until `body` returns false.
    ///
    /// `body` must not assume that an object outlives the call: it retains an object that it keeps.
    @inline(__always)
    func borrowEach(while body: (NSManagedObject) throws -> Bool) rethrows {
        // The copy holds the array, and so each object, even if `body` changes the list.
        let held = self
        try withExtendedLifetime(held) {
            try held.withUnsafeBytes { bytes in
                // Invariant: an optional reference is its address, or 0 for nil.
                for address in bytes.bindMemory(to: UInt.self) where address != 0 {
                    guard try borrow(address, body) else { return }
                }
            }
        }
    }
}

extension [NSManagedObject] {
    /// Whether each object satisfies a predicate.
    @inline(__always)
    func allBorrowed(_ isSatisfied: (NSManagedObject) -> Bool) -> Bool {
        var areSatisfied = true
        borrowEach { if !isSatisfied($0) { areSatisfied = false } }
        return areSatisfied
    }

    /// Calls `body` for each object. See the other form.
    @inline(__always)
    func borrowEach(_ body: (NSManagedObject) throws -> Void) rethrows {
        let held = self
        try withExtendedLifetime(held) {
            try held.withUnsafeBytes { bytes in
                // Invariant: a reference is its address.
                for address in bytes.bindMemory(to: UInt.self) {
                    _ = try borrow(address) {
                        try body($0)
                        return true
                    }
                }
            }
        }
    }
}

/// - Precondition: The caller holds the object at the address.
@inline(__always)
private func borrow(_ address: UInt, _ body: (NSManagedObject) throws -> Bool) rethrows -> Bool {
    guard let pointer = UnsafeRawPointer(bitPattern: address) else { return true }
    return try Unmanaged<NSManagedObject>.fromOpaque(pointer)._withUnsafeGuaranteedRef { try body($0) }
}
