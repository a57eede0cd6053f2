// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore
import NIOPosix
import Synchronization

/// A way to the server that can be cut.
///
/// The framework connects to the relay as if it were the server; bytes are carried both ways, in order, and only as
/// fast as the slower side takes them. When the relay is offline it breaks open connections and rejects new ones:
/// the framework meets a real failure of the network, not a flag.
final class Relay: Sendable {
    private static let connectTimeout = TimeAmount.seconds(5)

    let port: Int
    /// Messages that were carried; the newest for a reader that falls behind.
    let traffic: AsyncStream<TraceMessage>
    private let listener: any Channel
    private let lines: Lines

    /// Listens on a port of this machine that the system chooses.
    ///
    /// - Throws: An error of the system if no port can be had.
    init(toHost serverHost: String, port serverPort: Int) async throws {
        let lines = Lines()
        self.lines = lines
        let (traffic, report) = AsyncStream.makeStream(of: TraceMessage.self, bufferingPolicy: .bufferingNewest(1024))
        self.traffic = traffic
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    let near = RelayEnd(isDevice: true, TrafficRecord(report))
                    near.whenActive = { near in
                        // Not earlier: a listener stops listening if its new connections are closed too early.
                        guard lines.admit(client) else { return }
                        Self.connect(near, of: client, toHost: serverHost, port: serverPort, lines)
                    }
                    try client.pipeline.syncOperations.addHandler(near)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    var isOnline: Bool { lines.isOnline }

    func set(isOnline: Bool) { lines.set(isOnline: isOnline) }

    /// Lasts until the task is cancelled; then nothing is carried any more.
    func run() async throws {
        try await withTaskCancellationHandler {
            try await listener.closeFuture.get()
        } onCancel: {
            listener.close(promise: nil)
            lines.set(isOnline: false)
        }
    }

    /// Opens the far end of a connection, and lets bytes flow once it is there. A server that cannot be reached
    /// closes the near end.
    private static func connect(_ near: RelayEnd, of client: any Channel, toHost host: String, port: Int, _ lines: Lines) {
        let near = NIOLoopBound(near, eventLoop: client.eventLoop)
        ClientBootstrap(group: client.eventLoop)
            .connectTimeout(connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    let far = RelayEnd(isDevice: false, near.value.record)
                    far.partner = near.value
                    near.value.partner = far
                    try server.pipeline.syncOperations.addHandler(far)
                }
            }
            .connect(host: host, port: port)
            .whenComplete { result in
                guard case .success(let server) = result, lines.admit(server) else { return client.close(promise: nil) }
                // The client may have gone while the server was being reached.
                guard client.isActive else { return server.close(promise: nil) }
                near.value.readMore()
                near.value.partner?.readMore()
            }
    }
}

/// The open connections, and whether any may be open.
private final class Lines: Sendable {
    private struct State {
        var isOnline = true
        var open: [ObjectIdentifier: any Channel] = [:]
    }

    private let state = Mutex(State())

    var isOnline: Bool { state.withLock { $0.isOnline } }

    func set(isOnline: Bool) {
        let broken = state.withLock { state -> [any Channel] in
            state.isOnline = isOnline
            guard !isOnline else { return [] }
            defer { state.open = [:] }
            return Array(state.open.values)
        }
        for channel in broken { channel.close(promise: nil) }
    }

    /// - Returns: Whether the channel may be used; if so it is closed as soon as the relay goes offline.
    func admit(_ channel: any Channel) -> Bool {
        let isAdmitted = state.withLock { state in
            if state.isOnline { state.open[ObjectIdentifier(channel)] = channel }
            return state.isOnline
        }
        if isAdmitted {
            channel.closeFuture.whenComplete { _ in self.state.withLock { $0.open[ObjectIdentifier(channel)] = nil } }
        } else {
            channel.close(promise: nil)
        }
        return isAdmitted
    }
}

/// The messages of one connection. Both of its ends are on the same event loop.
private final class TrafficRecord {
    private var reader = TrafficReader()
    private let report: AsyncStream<TraceMessage>.Continuation

    init(_ report: AsyncStream<TraceMessage>.Continuation) { self.report = report }

    func carried(_ bytes: ByteBuffer, fromDevice: Bool) {
        if fromDevice { return reader.deviceSent(bytes.readableBytesView, at: TraceMessage.now) }
        for message in reader.serverSent(bytes.readableBytesView, at: TraceMessage.now) { report.yield(message) }
    }
}

/// One end of a connection: it forwards bytes to its peer, and reads on only when the peer has room.
///
/// Both ends are on the same event loop.
private final class RelayEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let record: TrafficRecord
    private let isDevice: Bool
    var partner: RelayEnd?
    var whenActive: ((RelayEnd) -> Void)?
    private var context: ChannelHandlerContext?
    /// There is more to read, as soon as the partner has room.
    private var waitsForRoom = false

    /// - Parameter isDevice: Whether this end's bytes come from the device.
    init(isDevice: Bool, _ record: TrafficRecord) {
        self.isDevice = isDevice
        self.record = record
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func readMore() {
        guard let context, let target = partner?.context else { return }
        waitsForRoom = !target.channel.isWritable
        if !waitsForRoom { context.read() }
    }

    func channelActive(context: ChannelHandlerContext) {
        whenActive?(self)
        whenActive = nil
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        record.carried(unwrapInboundIn(data), fromDevice: isDevice)
        partner?.context?.write(data, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        partner?.context?.flush()
        readMore()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let partner, partner.waitsForRoom { partner.readMore() }
        context.fireChannelWritabilityChanged()
    }

    /// The peer closes as well, after its pending bytes were written.
    func channelInactive(context: ChannelHandlerContext) {
        if let target = partner?.context {
            target.writeAndFlush(NIOAny(context.channel.allocator.buffer(capacity: 0)))
                .assumeIsolated().whenComplete { _ in target.close(promise: nil) }
        }
        partner = nil
        context.fireChannelInactive()
    }

    /// Connections break all the time; the partner learns it by the close.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
