// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore

/// Closes the connection of a client that receives a response more slowly than a request must arrive.
///
/// NIO reports a channel as not writable once 64 KiB wait for the client, and as writable when half of them were sent. In between, the bytes
/// that wait are counted once in each window of the grace period. Hummingbird's idle timeout does not apply while a request is in
/// progress, and one that waits behind an unread response is.
final class SlowReaderHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let pace: BodyPace
    private var window: Scheduled<Void>?

    init(_ pace: BodyPace) { self.pace = pace }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        window?.cancel()
        window = nil
        if !context.channel.isWritable, pace.bytesPerSecond > 0 { begin(context.channel) }
        context.fireChannelWritabilityChanged()
    }

    /// Begins a window. A channel that is not writable gets no further bytes, so its buffer shrinks by what the client receives.
    private func begin(_ channel: any Channel) {
        let before = Self.waitingBytes(channel), seconds = max(1, pace.graceSeconds)
        window = channel.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) {
            if before - Self.waitingBytes(channel) < self.pace.bytesPerSecond * seconds { return channel.close(promise: nil) }
            self.begin(channel)
        }
    }

    private static func waitingBytes(_ channel: any Channel) -> Int {
        (try? channel.syncOptions?.getOption(ChannelOptions.bufferedWritableBytes)) ?? 0
    }

    func channelInactive(context: ChannelHandlerContext) {
        window?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { window?.cancel() }
}
