// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// SplitMix64: the same numbers for the same seed, in every process.
package struct SeededNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// An independent stream of numbers, so that the draws of one device do not shift those of another.
    mutating func fork() -> SeededNumbers { SeededNumbers(seed: next()) }

    /// Returns `true` with a probability in percent.
    mutating func percent(_ chance: Int) -> Bool { Int.random(in: 0..<100, using: &self) < chance }

    mutating func seconds(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &self) }

    /// A name in the form that apps and the sync code use.
    mutating func name() -> String {
        let high = next()
        return UUIDText.text(high, next())
    }
}
