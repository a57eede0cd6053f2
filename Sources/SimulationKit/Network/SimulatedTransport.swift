// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire

/// One life of a device on the network. After ``end()`` its requests may still arrive, and get no response.
final class SimulatedTransport: CloudTransport, @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    let name: String
    let base: InProcessTransport
    private let network: SimulatedNetwork
    private(set) var isCut = false
    private(set) var isOpen = true
    /// Whether push streams are blocked.
    let polls: Bool
    /// Whether the app paused sync.
    var isPaused = false
    private var breaks: [() -> Void] = []

    init(_ name: String, _ base: InProcessTransport, _ network: SimulatedNetwork, polls: Bool) {
        self.name = name
        self.polls = polls
        self.base = base
        self.network = network
    }

    var executor: (any TaskExecutor)? { network.executor }
    var needsIdleTimeout: Bool { base.needsIdleTimeout }
    var credential: String? { base.credential }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try refuseIfEnded()
        let pending = Pending<TransportResponse>()
        breaks.append { [network, name] in network.fail(pending, name, .networkFailure, "the connection broke") }
        return try await pending.wait { network.carry(request, from: self, pending) }
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        try refuseIfEnded()
        let pending = Pending<TransportStream>()
        breaks.append { [network, name] in network.fail(pending, name, .networkFailure, "the connection broke") }
        return try await pending.wait { network.open(request, from: self, pending) }
    }

    private func refuseIfEnded() throws {
        guard isOpen else { throw CKError(.networkUnavailable, "the device is off") }
    }

    /// Registers a closure to call when the connection breaks.
    func hold(_ end: @escaping () -> Void) { breaks.append(end) }

    /// Breaks the open connections. Later requests work again.
    func breakConnections() {
        let ends = breaks
        breaks = []
        for end in ends { end() }
    }

    func cut() {
        isCut = true
        breakConnections()
    }

    func mend() { isCut = false }

    func end() {
        isOpen = false
        breakConnections()
    }
}
