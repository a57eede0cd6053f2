// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Bounds the refusals per minute in the audit log, so that strangers that guess passwords cannot fill the disk.
final class RefusalGate: Sendable {
    static let refusalsPerMinute = 120

    private struct State {
        var minute: Int64 = 0
        var count = 0
    }

    enum Verdict: Equatable {
        /// - Parameter suppressed: Refusals of the last minute with refusals that were not stored.
        case store(suppressed: Int)
        case suppress
    }

    private let state = Mutex(State())

    /// - Parameter now: Milliseconds since 1970 UTC.
    func take(now: Int64) -> Verdict {
        state.withLock { state in
            let minute = now / 60_000
            var suppressed = 0
            if minute != state.minute {
                suppressed = max(0, state.count - Self.refusalsPerMinute)
                state = State(minute: minute)
            }
            state.count += 1
            return state.count > Self.refusalsPerMinute ? .suppress : .store(suppressed: suppressed)
        }
    }
}
