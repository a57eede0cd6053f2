// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// Hummingbird's HTTP/1.1 channel, which also closes connections that no handler takes.
///
/// A connection accepted during shutdown may reach Hummingbird after its accept loop ended, which drops it. NIO traps when
/// an async channel is deallocated before it was closed: the process would end with all requests in flight.
struct GuardedChannel: ServerChildChannel {
    /// Reads up to 256 KiB per call instead of NIO's 64 KiB, for large uploads.
    private static let reading = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: 1 << 18)

    private let base: HTTP1Channel
    private let judge: HeadRefusalHandler.Judge
    private let counts: OpenCounts
    private let isUncounted: @Sendable (NetworkAddress) -> Bool

    /// - Parameters:
    ///   - idleSeconds: Idle timeout of a connection that has no request in flight or receives no more of one.
    ///   - pace: The minimum transfer rate of responses.
    ///   - judge: Refuses requests by their heads.
    ///   - counts: Open connections by network.
    ///   - isUncounted: `true` for addresses with any number of connections.
    init(
        idleSeconds: Int, pace: BodyPace, judge: HeadRefusalHandler.Judge, counts: OpenCounts,
        isUncounted: @escaping @Sendable (NetworkAddress) -> Bool, responder: @escaping HTTPChannelHandler.Responder
    ) {
        self.judge = judge
        self.counts = counts
        self.isUncounted = isUncounted
        base = HTTP1Channel(
            responder: responder,
            configuration: .init(
                additionalChannelHandlers: [BrokenConnectionHandler(), SlowReaderHandler(pace)],
                idleTimeout: .seconds(Int64(idleSeconds))))
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        let address = NetworkAddress(channel.remoteAddress).flatMap { isUncounted($0) ? nil : $0 }
        let place = address.flatMap { counts.place(for: $0.network) }
        if let place { channel.closeFuture.whenComplete { _ in place.end() } }
        let isWithinLimit = address == nil || place != nil
        return channel.setOption(.recvAllocator, value: Self.reading).flatMap { [base] in base.setup(channel: channel, logger: logger) }
            .flatMapThrowing { [judge] value in
                let connection = AcceptedConnection(value)
                let pipeline = channel.pipeline.syncOperations
                // Before the conversion to the types that Hummingbird reads, which a refused request does not need.
                let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(HeadRefusalHandler(judge: judge), position: .after(decoder.handler))
                // After the set-up: a failed set-up would be an error of the listening socket.
                if !isWithinLimit { channel.close(promise: nil) }
                return connection
            }
    }

    func handle(value: AcceptedConnection, logger: Logger) async {
        guard let channel = value.take() else { return }
        await base.handle(value: channel, logger: logger)
    }
}

/// Closes a connection a few seconds after invalid HTTP, such as an endless head, was rejected.
///
/// The server reads nothing after the error, so a client that sends on would keep the connection open.
private final class BrokenConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    /// Time for the error response to reach the client.
    private static let grace = TimeAmount.seconds(5)

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        channel.eventLoop.scheduleTask(in: Self.grace) { channel.close(promise: nil) }
        context.fireErrorCaught(error)
    }
}

/// An accepted connection, closed on deallocation unless a handler took it.
final class AcceptedConnection: ServerChildChannelValue, Sendable {
    let channel: any Channel
    private let waiting: Mutex<HTTP1Channel.Value?>

    init(_ value: HTTP1Channel.Value) {
        channel = value.channel
        waiting = Mutex(value)
    }

    deinit {
        guard let value = take() else { return }
        Task { try? await value.executeThenClose { _, _ in } }
    }

    func take() -> HTTP1Channel.Value? {
        waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
    }
}
