// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Hears of the waits for the database.
///
/// Calls are balanced: `ended` is called by the task that waited, where it continues.
package struct WaitObserver: Sendable {
    let began: @Sendable () -> Void
    let ended: @Sendable () -> Void

    package init(began: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void) {
        self.began = began
        self.ended = ended
    }
}
