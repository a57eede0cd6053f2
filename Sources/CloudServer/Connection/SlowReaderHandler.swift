// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore

/// Closes the connection of a client that does not receive what the server writes.
///
/// NIO reports a channel as not writable once 64 KiB wait for the client, and as writable when half of them were sent. Hummingbird's idle
/// timeout does not apply while a request is in progress, and one that waits behind an unread response is.
final class SlowReaderHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let patience: TimeAmount?
    private var deadline: Scheduled<Void>?

    /// - Parameter seconds: Time that the channel may be unwritable; 0 means any.
    init(seconds: Int) { patience = seconds > 0 ? .seconds(Int64(seconds)) : nil }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
        if !context.channel.isWritable, let patience {
            let channel = context.channel
            deadline = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }
}
