// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// How this device reaches the server, if there is one.
///
/// A server at an http address is reached through a relay that can be cut. One at an https address is reached
/// directly, since its certificate names it and not the relay; such a device cannot be taken offline here.
struct DeviceNetwork: Sendable {
    /// The address for the framework: the relay's, or the server's own; nil without a server.
    let address: String?
    private let relay: Relay?

    /// - Throws: ``CommandProblem`` if the address is invalid, or an error of the system.
    static func open(to server: String?) async throws -> DeviceNetwork {
        guard let server, !server.isEmpty else { return DeviceNetwork(address: nil, relay: nil) }
        guard var parts = URLComponents(string: server), let host = parts.host, !host.isEmpty,
            parts.scheme == "http" || parts.scheme == "https"
        else { throw CommandProblem("'\(server)' isn't the address of a server; give one such as http://127.0.0.1:8080.") }
        guard parts.scheme == "http" else { return DeviceNetwork(address: server, relay: nil) }
        let relay = try await Relay(toHost: host, port: parts.port ?? 80)
        parts.host = "127.0.0.1"
        parts.port = relay.port
        return DeviceNetwork(address: parts.string, relay: relay)
    }

    var message: NetworkMessage { NetworkMessage(online: relay?.isOnline ?? true, switchable: relay != nil) }

    /// Messages between device and server; none without a relay.
    var traffic: AsyncStream<TraceMessage> { relay?.traffic ?? AsyncStream { $0.finish() } }

    func set(isOnline: Bool) -> NetworkMessage {
        relay?.set(isOnline: isOnline)
        return message
    }

    func run() async throws {
        try await relay?.run()
    }
}
