// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Synchronization

/// Removals of accounts that go on in this process while operators on other machines ask for their progress.
///
/// A removal takes longer than a request may. One that is interrupted, for instance by the end of the process, is resumed by the next request.
package final class AccountRemovals: Sendable {
    /// Each account has a number of its own; a name may be given again.
    private struct State {
        var account: Int64
        var publicRecords: AccountRemoval.PublicRecords
        /// Nil while the removal runs.
        var end: (result: Result<RemovalReport, any Error>, time: Int64)?
    }

    /// How long an end for which no operator asks is kept.
    private static let endMilliseconds: Int64 = 10 * 60 * 1000

    /// By account name.
    private let states = Mutex<[String: State]>([:])

    package init() {}

    /// The number of removals that run, and of ends for which no operator has asked.
    var counts: (running: Int, ended: Int) {
        states.withLock { states in
            let running = states.values.count(where: { $0.end == nil })
            return (running, states.count - running)
        }
    }

    /// Begins the removal of an account unless it runs.
    ///
    /// - Parameters:
    ///   - account: The account of this name; nil if no account has it, as after the end of a removal.
    ///   - now: Milliseconds since 1970 UTC.
    /// - Returns: Nil while it runs. Its end is returned once.
    /// - Throws: The error that ended it; `StorageFailure.unknownUser`; `WireError` with `.conflict` if a removal runs that makes the other
    ///   choice about public records.
    func progress(
        of name: String, _ account: Int64?, _ publicRecords: AccountRemoval.PublicRecords, now: @escaping @Sendable () -> Int64,
        _ remove: @escaping @Sendable () async throws -> RemovalReport
    ) throws -> RemovalReport? {
        let time = now()
        let begun = try states.withLock { states -> State? in
            states = states.filter { $0.value.end.map { time - $0.time < Self.endMilliseconds } ?? true }
            if let state = states[name] {
                guard let end = state.end else {
                    guard state.publicRecords == publicRecords else {
                        throw WireError(
                            .conflict,
                            "A removal of \(name) is running, with the choice '\(state.publicRecords.rawValue)' for public records.")
                    }
                    return state
                }
                states[name] = nil
                let isSuccess = if case .success = end.result { true } else { false }
                // The number may have been read before the end.
                if account == nil || account == state.account, isSuccess || state.publicRecords == publicRecords { return state }
            }
            guard let account else { throw StorageFailure.unknownUser }
            states[name] = State(account: account, publicRecords: publicRecords)
            return nil
        }
        if let begun { return try begun.end?.result.get() }
        Task {
            let result: Result<RemovalReport, any Error>
            do {
                result = .success(try await remove())
            } catch {
                result = .failure(error)
            }
            let end = (result: result, time: now())
            states.withLock { states -> Void in states[name]?.end = end }
        }
        return nil
    }
}
