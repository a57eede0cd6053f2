// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Bytes that follow from a seed, for services that draw keys and tokens.
package final class SeededBytes: Sendable {
    private let random: Mutex<SeededNumbers>

    package init(seed: UInt64 = 1) { random = Mutex(SeededNumbers(seed: seed)) }

    package func next(_ count: Int) -> [UInt8] {
        random.withLock { random in (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }
    }
}
