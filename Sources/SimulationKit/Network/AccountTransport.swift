// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit

/// The connection for the app's own requests to the server. It injects no faults, and the simulation waits for the
/// response: the real time that the server's database needs must not decide the order of events.
struct AccountTransport: CloudTransport {
    let base: InProcessTransport
    let simulation: SimulationExecutor

    var executor: (any TaskExecutor)? { simulation }
    var needsIdleTimeout: Bool { base.needsIdleTimeout }
    var credential: String? { base.credential }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await Task(executorPreference: simulation) { [base] in try SimulationExecutor().run { try await base.send(request) } }.value
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try await Task(executorPreference: simulation) { [base] in try SimulationExecutor().run { try await base.stream(request) } }.value
    }
}
