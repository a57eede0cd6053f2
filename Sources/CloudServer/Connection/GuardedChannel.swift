// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// HTTP on one connection, as Hummingbird has it, but for connections that nobody takes any more.
///
/// A connection that is accepted while the server stops may reach Hummingbird after it stopped to take any. It would be
/// dropped then, and a NIO channel that is dropped without having been closed ends the process, with all requests that are
/// under way.
struct GuardedChannel: ServerChildChannel {
    /// Large files arrive in fewer pieces than NIO's usual 64 KiB.
    private static let reading = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2048, maximum: 1 << 18)

    private let base: HTTP1Channel

    /// - Parameter idleSeconds: After which a connection is closed on which no request is under way, or none goes on arriving.
    init(idleSeconds: Int, responder: @escaping HTTPChannelHandler.Responder) {
        base = HTTP1Channel(
            responder: responder,
            configuration: .init(additionalChannelHandlers: [BrokenConnectionHandler()], idleTimeout: .seconds(Int64(idleSeconds))))
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        channel.setOption(.recvAllocator, value: Self.reading).flatMap { [base] in base.setup(channel: channel, logger: logger) }
            .map { AcceptedConnection($0) }
    }

    func handle(value: AcceptedConnection, logger: Logger) async {
        guard let channel = value.take() else { return }
        await base.handle(value: channel, logger: logger)
    }
}

/// Closes a connection on which something came that is no HTTP, such as a head without end, soon after it was refused:
/// nothing that comes after it is read, so that who sends on would hold the connection.
private final class BrokenConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    /// Time for the refusal to arrive.
    private static let grace = TimeAmount.seconds(5)

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        channel.eventLoop.scheduleTask(in: Self.grace) { channel.close(promise: nil) }
        context.fireErrorCaught(error)
    }
}

/// A connection until somebody takes it; closed if nobody does.
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
