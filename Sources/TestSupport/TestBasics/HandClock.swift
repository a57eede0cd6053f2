// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// A time that moves when a test moves it.
package final class HandClock: Sendable {
    private let time = Mutex<Int64>(1_900_000_000_000)

    package init() {}

    package var now: Int64 { time.withLock { $0 } }

    package func advance(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

    package func set(_ milliseconds: Int64) { time.withLock { $0 = milliseconds } }
}
