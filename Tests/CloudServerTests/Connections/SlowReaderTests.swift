// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import NIOCore
import NIOEmbedded
import Testing

@testable import CloudServer

/// Clients that receive a response slowly or not at all. The tests move the clock of the event loop.
@Suite struct SlowReaderTests {
    private static let graceSeconds = 30
    private static let bytesPerSecond = 500
    /// Bytes that a client has to receive in each window.
    private static let bytesPerWindow = graceSeconds * bytesPerSecond

    /// A connection with a response of which bytes wait for the client.
    private struct Connection {
        let channel: EmbeddedChannel

        init(bytesPerSecond: Int = SlowReaderTests.bytesPerSecond) throws {
            var limits = Limits()
            (limits.bodyGraceSeconds, limits.bodyBytesPerSecond) = (SlowReaderTests.graceSeconds, bytesPerSecond)
            channel = EmbeddedChannel(handler: SlowReaderHandler(BodyPace(limits)))
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 443)).wait()
        }

        /// Sets the number of bytes that the client has not received.
        func setWaiting(_ count: Int) {
            channel.flush()
            channel.write(ByteBuffer(repeating: 0, count: count), promise: nil)
        }

        func setWritable(_ isWritable: Bool) {
            channel.isWritable = isWritable
            channel.pipeline.fireChannelWritabilityChanged()
        }

        /// - Returns: Whether the connection is open then.
        func isOpen(afterSeconds seconds: Int) -> Bool {
            channel.embeddedEventLoop.advanceTime(by: .seconds(Int64(seconds)))
            return channel.isActive
        }

        func end() throws { _ = try channel.finish(acceptAlreadyClosed: true) }
    }

    @Test func aClientThatReadsNothingIsDisconnected() throws {
        let connection = try Connection()
        connection.setWaiting(100_000)
        #expect(connection.isOpen(afterSeconds: 3600), "it does not have to read before the buffer is full")
        connection.setWritable(false)
        #expect(connection.isOpen(afterSeconds: Self.graceSeconds - 1))
        #expect(!connection.isOpen(afterSeconds: 1))
        try connection.end()
    }

    /// The buffer is never half empty, so that the channel does not become writable.
    @Test func aSlowButSteadyReaderStaysConnected() throws {
        let connection = try Connection()
        var waiting = 1_000_000
        connection.setWaiting(waiting)
        connection.setWritable(false)
        for _ in 0..<20 {
            waiting -= Self.bytesPerWindow
            connection.setWaiting(waiting)
            #expect(connection.isOpen(afterSeconds: Self.graceSeconds))
        }
        connection.setWaiting(waiting - Self.bytesPerWindow + 1)
        #expect(!connection.isOpen(afterSeconds: Self.graceSeconds))
        try connection.end()
    }

    @Test func aClientThatReadTheBufferHasNoMinimum() throws {
        let connection = try Connection()
        connection.setWaiting(100_000)
        connection.setWritable(false)
        connection.setWritable(true)
        #expect(connection.isOpen(afterSeconds: 3600))
        try connection.end()
    }

    @Test func aRateOfZeroIsNoMinimum() throws {
        let connection = try Connection(bytesPerSecond: 0)
        connection.setWaiting(100_000)
        connection.setWritable(false)
        #expect(connection.isOpen(afterSeconds: 3600))
        try connection.end()
    }
}
