// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore
import NIOPosix
import Synchronization

/// A way to the server that can be cut.
///
/// The framework connects to the relay as if it were the server; bytes are carried both ways, in order, and only as
/// fast as the slower side takes them. When the relay is offline it breaks what is open and refuses what comes:
/// the framework meets a real failure of the network, not a flag.
final class Relay: Sendable {
    typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static let connectTimeout = TimeAmount.seconds(5)

    private struct State {
        var isOnline = true
        var open: [ObjectIdentifier: any Channel] = [:]
    }

    let port: Int
    private let listener: NIOAsyncChannel<Connection, Never>
    private let serverHost: String
    private let serverPort: Int
    private let state = Mutex(State())

    /// Listens on a port of this machine that the system chooses.
    ///
    /// - Throws: An error of the system if no port can be had.
    init(toHost serverHost: String, port serverPort: Int) async throws {
        self.serverHost = serverHost
        self.serverPort = serverPort
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: "127.0.0.1", port: 0) { channel in Self.wrap(channel) }
        port = listener.channel.localAddress?.port ?? 0
    }

    var isOnline: Bool { state.withLock { $0.isOnline } }

    func set(isOnline: Bool) {
        let broken = state.withLock { state -> [any Channel] in
            state.isOnline = isOnline
            defer { if !isOnline { state.open = [:] } }
            return isOnline ? [] : Array(state.open.values)
        }
        for channel in broken { channel.close(promise: nil) }
    }

    /// Carries connections until the task is cancelled.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await listener.executeThenClose { clients in
                for try await client in clients {
                    group.addTask { await self.carry(client) }
                }
            }
        }
    }

    /// Both ends of a connection fail all the time; that is what a network does, and each side learns it by the close.
    private func carry(_ client: Connection) async {
        try? await client.executeThenClose { fromClient, toClient in
            guard admit(client.channel) else { return }
            defer { forget(client.channel) }
            let server = try await ClientBootstrap(group: client.channel.eventLoop)
                .connectTimeout(Self.connectTimeout)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.allowRemoteHalfClosure, value: true)
                .connect(host: serverHost, port: serverPort) { channel in Self.wrap(channel) }
            try await server.executeThenClose { fromServer, toServer in
                guard admit(server.channel) else { return }
                defer { forget(server.channel) }
                async let up: Void = pump(fromClient, toServer)
                async let down: Void = pump(fromServer, toClient)
                _ = try await (up, down)
            }
        }
    }

    /// Writing waits for the other side, and nothing more is read meanwhile.
    private func pump(_ source: NIOAsyncChannelInboundStream<ByteBuffer>, _ target: NIOAsyncChannelOutboundWriter<ByteBuffer>) async throws {
        for try await bytes in source { try await target.write(bytes) }
        target.finish()
    }

    private func admit(_ channel: any Channel) -> Bool {
        state.withLock { state in
            if state.isOnline { state.open[ObjectIdentifier(channel)] = channel }
            return state.isOnline
        }
    }

    private func forget(_ channel: any Channel) {
        state.withLock { $0.open[ObjectIdentifier(channel)] = nil }
    }

    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            try Connection(wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }
}
