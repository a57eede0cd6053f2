// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Changes that one step of an import adds to its progress, and takes from it.
package struct ChangeCount: Hashable, Sendable {
    package var received = 0
    /// Changes of pages that were dropped. They are fetched again, and count then.
    package var dropped = 0

    package init(received: Int = 0, dropped: Int = 0) {
        self.received = received
        self.dropped = dropped
    }

    package static func + (one: ChangeCount, other: ChangeCount) -> ChangeCount {
        ChangeCount(received: one.received + other.received, dropped: one.dropped + other.dropped)
    }

    /// The progress after this step. Dropped pages may be of an earlier import, whose changes the progress does not have.
    func added(to progress: Int) -> Int { max(0, progress + received - dropped) }
}
