// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Removals of accounts that go on in this process while operators on other machines ask for their progress.
///
/// A removal takes longer than a request may. One that is interrupted, for instance by the end of the process, is resumed by the next request.
package final class AccountRemovals: Sendable {
    private enum State {
        case running
        case ended(Result<RemovalReport, any Error>)
    }

    /// By account name.
    private let states = Mutex<[String: State]>([:])

    package init() {}

    /// Begins the removal of an account unless it runs.
    ///
    /// - Returns: Nil while it runs. Its end is returned once.
    /// - Throws: The error that ended it.
    func progress(of name: String, _ remove: @escaping @Sendable () async throws -> RemovalReport) throws -> RemovalReport? {
        let state = states.withLock { states -> State? in
            guard let state = states[name] else {
                states[name] = .running
                return nil
            }
            if case .ended = state { states[name] = nil }
            return state
        }
        switch state {
        case .running?: return nil
        case .ended(let result)?: return try result.get()
        case nil:
            Task {
                let result: Result<RemovalReport, any Error>
                do {
                    result = .success(try await remove())
                } catch {
                    result = .failure(error)
                }
                states.withLock { $0[name] = .ended(result) }
            }
            return nil
        }
    }
}
