// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// One row of the POST table, as the works define it.
struct PostRow {
    let primaryKey: Int64
    let title: String
    let content: String
    /// Seconds since 2001.
    let timestamp: Double
    let uuid: UUID

    /// Rows 1…count: the same ones in every run, on every machine.
    static func rows(_ count: Int) -> [PostRow] {
        var random = SplitMix64(seed: 42)
        return (1...count).map { PostRow(number: $0, &random) }
    }

    private init(number: Int, _ random: inout SplitMix64) {
        primaryKey = Int64(number)
        title = Self.title(number, prefix: "Post ")
        let letters = (0..<200).map { UInt8(ascii: "a") + UInt8((number + $0) % 26) }
        content = String(decoding: letters, as: UTF8.self)
        let high = random.next()
        let low = random.next()
        uuid = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        timestamp = 7e8 + Double(random.next() % 100_000_000) / 100
    }

    /// A prefix of five letters and a number of 15 digits: 20 bytes.
    static func title(_ number: Int, prefix: String) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: 15 - digits.count) + digits
    }

    /// Every 10th row is changed by L8; the ones between by L9.
    var isUpdated: Bool { primaryKey % 10 == 0 }
    var isDeleted: Bool { primaryKey % 10 == 5 }
}

/// What L5 and L6 ask for: rows at or after this time, 9.9% of all.
let filterTimestamp = 700_900_000.0

/// Sebastiano Vigna's generator: 64 bits of state, the same numbers everywhere.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
