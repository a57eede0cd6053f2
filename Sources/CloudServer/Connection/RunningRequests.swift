// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Synchronization

/// Requests in flight that are cancelled when their connection closes.
///
/// Each connection has one close callback for all its requests, since NIO can't remove a callback of `closeFuture`.
final class RunningRequests: Sendable {
    private struct State {
        var tasks: [ObjectIdentifier: [Int: Task<ServiceResponse, Never>]] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    /// Runs a request, and cancels it when the connection of the context closes, or the caller is cancelled.
    func respond(_ context: ServiceContext, _ body: @escaping @Sendable () async -> ServiceResponse) async -> ServiceResponse {
        let task = Task { await body() }
        let connection = context.connection
        let (number, isFirst) = state.withLock { state in
            state.lastNumber += 1
            let isFirst = state.tasks[connection] == nil
            state.tasks[connection, default: [:]][state.lastNumber] = task
            return (state.lastNumber, isFirst)
        }
        if isFirst { context.whenClosed { [weak self] in self?.cancelAll(of: connection) } }
        defer { state.withLock { _ = $0.tasks[connection]?.removeValue(forKey: number) } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func cancelAll(of connection: ObjectIdentifier) {
        let tasks = state.withLock { $0.tasks.removeValue(forKey: connection) }
        for task in tasks?.values ?? [:].values { task.cancel() }
    }
}
