// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit

/// The way on which an app asks the server for something itself. Nothing happens on it, and each request has its place among
/// what runs on the simulation's thread, wherever it comes from.
struct AccountTransport: CloudTransport {
    let base: InProcessTransport
    let simulation: SimulationExecutor

    var executor: (any TaskExecutor)? { simulation }
    var heartbeatDeadline: Duration? { base.heartbeatDeadline }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await Task(executorPreference: simulation) { [base] in try await base.send(request) }.value
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try await Task(executorPreference: simulation) { [base] in try await base.stream(request) }.value
    }
}
