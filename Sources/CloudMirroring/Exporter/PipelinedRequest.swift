// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Synchronization

/// The request of the next batch, sent before the response to the batch before it is stored.
struct PipelinedRequest: Sendable {
    /// The idempotency key.
    let key: String
    let response: Task<SyncDatabase.Response, any Error>
    let progress: SendProgress
    /// The sync token that the request carries.
    let syncToken: String?
}

/// How many items of a request the server has stored or staged. A pipelined request reports them once its operation has begun.
final class SendProgress: Sendable {
    private struct State {
        var count = 0
        var report: (@Sendable (Int) -> Void)?
    }

    private let state: Mutex<State>

    init(_ report: (@Sendable (Int) -> Void)? = nil) { state = Mutex(State(report: report)) }

    func begin(_ report: @escaping @Sendable (Int) -> Void) {
        let count = state.withLock { state in
            state.report = report
            return state.count
        }
        if count > 0 { report(count) }
    }

    func set(_ count: Int) {
        let report = state.withLock { state in
            state.count = count
            return state.report
        }
        report?(count)
    }
}
