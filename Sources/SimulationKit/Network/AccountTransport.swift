// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit

/// The way on which an app asks the server for something itself. Nothing happens on it, and nothing else runs until the
/// answer is there: what the server's database takes for it is real time, which must not decide who is first.
struct AccountTransport: CloudTransport {
    let base: InProcessTransport
    let simulation: SimulationExecutor

    var executor: (any TaskExecutor)? { simulation }
    var fallsSilent: Bool { base.fallsSilent }
    var credential: String? { base.credential }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await Task(executorPreference: simulation) { [base] in try SimulationExecutor().run { try await base.send(request) } }.value
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try await Task(executorPreference: simulation) { [base] in try SimulationExecutor().run { try await base.stream(request) } }.value
    }
}
