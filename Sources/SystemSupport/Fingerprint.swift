// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A 64-bit FNV-1a hash, the same in every process and on every platform.
///
/// Not cryptographic: collisions can be constructed. For checksums of data from outside use SHA-256.
///
/// Source: IETF draft *The FNV Non-Cryptographic Hash Algorithm*.
package struct Fingerprint: Hashable, Sendable {
    private static let prime: UInt64 = 0x0000_0100_0000_01b3

    private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    package var value: UInt64 { hash }

    package init() {}

    package init(_ bytes: some Sequence<UInt8>) { combine(bytes) }

    package mutating func combine(_ bytes: some Sequence<UInt8>) {
        // Other modules call this without specialization. Bytes in memory are folded by a loop that needs none: it takes a fifteenth.
        let wasInMemory: Void? = bytes.withContiguousStorageIfAvailable { combine(buffer: $0) }
        guard wasInMemory == nil else { return }
        for byte in bytes { fold(UInt64(byte)) }
    }

    private mutating func combine(buffer: UnsafeBufferPointer<UInt8>) {
        var hash = hash
        for byte in buffer { hash = (hash ^ UInt64(byte)) &* Self.prime }
        self.hash = hash
    }

    /// Combines a whole number in one step. Not the hash of its eight bytes: it costs an eighth of that, and a shift spreads the
    /// upper bits, which multiplication alone moves only upwards.
    package mutating func combine(number: UInt64) {
        fold(number)
        hash ^= hash >> 29
    }

    private mutating func fold(_ number: UInt64) { hash = (hash ^ number) &* Self.prime }
}

/// A 128-bit FNV-1a hash. Good against accidents, not against constructed collisions.
package struct WideFingerprint: Hashable, Sendable {
    /// The prime is 2⁸⁸ + 315.
    private static let primeLow: UInt64 = 0x13b

    private var high: UInt64 = 0x6c62_272e_07bb_0142
    private var low: UInt64 = 0x62b8_2175_6295_c58d

    package var value: UInt128 { UInt128(high) << 64 | UInt128(low) }

    package init() {}

    package mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        guard var next = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        let end = next + bytes.count
        var (high, low) = (high, low)
        // Halves and a pointer: a debug build takes a seventh of the time that it does with 128-bit numbers and an iterator.
        while next != end {
            low ^= UInt64(next.pointee)
            let product = low.multipliedFullWidth(by: Self.primeLow)
            high = high &* Self.primeLow &+ product.high &+ (low << 24)
            low = product.low
            next += 1
        }
        (self.high, self.low) = (high, low)
    }
}
