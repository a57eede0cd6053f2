// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Numbers from 1.
package final class Counter: Sendable {
    private let last = Mutex(0)

    package init() {}

    package func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}
