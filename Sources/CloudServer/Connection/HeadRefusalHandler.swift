// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore
import NIOHTTP1

/// What a server decides about a request by its head.
enum HeadVerdict: Sendable {
    /// - Parameter isCounted: Once it has arrived, the request counts as in service until its response is written or its connection closes.
    case admitted(isCounted: Bool)
    case refused(HeadRefusal)
}

/// The response to a request that is refused by its head.
struct HeadRefusal: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]
}

/// Refuses requests of an overloaded server by their heads, on the event loop and without a task.
///
/// The body of a refused request is dropped as it arrives. A long one is not read: the connection closes. A client that sends its next
/// request without waiting is read from later.
///
///     head ─▶ judge ─▶ admitted ─▶ Hummingbird; counted from its last byte to its response, or the end of its connection
///               └▶ refused ─▶ 503 ─▶ skip a short body ─▶ after a second refusal, pause
///                              └▶ a long body: stop reading, close
///
/// Invariant: a request is judged only while no earlier response on the connection is due, so that responses keep their order.
final class HeadRefusalHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    struct Judge: Sendable {
        let verdict: @Sendable (HTTPRequestHead, SocketAddress?) -> HeadVerdict
        /// Called when all of a request that is counted has arrived. A client that sends slowly is in no other's way.
        let requestArrived: @Sendable () -> Void
        /// Called once for each request that arrived.
        let requestEnded: @Sendable () -> Void
    }

    private enum Reading {
        case passing
        /// The body of a refused request is dropped up to its end.
        case skipping(isLast: Bool)
        /// Nothing is read any more.
        case stopped
    }

    /// An admitted request with an incomplete response.
    private enum Admitted {
        case uncounted, arriving, inService
    }

    /// Bytes of a body that are read and dropped, so that the connection can be used again.
    static let skippedBytesMax = 1 << 16
    /// Time for a response to reach a client that still sends. Closing with unread bytes resets a connection.
    private static let grace = TimeAmount.seconds(1)
    private static let pause = TimeAmount.milliseconds(5)

    private let judge: Judge
    private var reading = Reading.passing
    /// The oldest request first.
    private var responding = CircularBuffer<Admitted>(initialCapacity: 1)
    private var wasRefused = false
    private var isPaused = false
    private var hasHeldRead = false

    init(judge: Judge) { self.judge = judge }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), reading) {
        case (.head(let head), .passing):
            // The channel has its address; the context would ask the system for it.
            let address = context.channel.remoteAddress
            switch responding.isEmpty ? judge.verdict(head, address) : .admitted(isCounted: false) {
            case .refused(let refusal): refuse(head, refusal, context)
            case .admitted(let isCounted):
                responding.append(isCounted ? .arriving : .uncounted)
                wasRefused = false
                context.fireChannelRead(data)
            }
        case (.end, .passing):
            noteArrival()
            context.fireChannelRead(data)
        case (_, .passing): context.fireChannelRead(data)
        case (.end, .skipping(let isLast)):
            reading = isLast ? .stopped : .passing
            if isLast { context.close(promise: nil) }
        case (_, .skipping), (_, .stopped): break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { endFirst() }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        while !responding.isEmpty { endFirst() }
        context.fireChannelInactive()
    }

    /// The request that arrives is the last one, unless its response is complete already.
    private func noteArrival() {
        guard let last = responding.indices.last, case .arriving = responding[last] else { return }
        responding[last] = .inService
        judge.requestArrived()
    }

    private func endFirst() {
        if case .inService = responding.popFirst() { judge.requestEnded() }
    }

    func read(context: ChannelHandlerContext) {
        if isPaused { hasHeldRead = true } else { context.read() }
    }

    private func refuse(_ head: HTTPRequestHead, _ refusal: HeadRefusal, _ context: ChannelHandlerContext) {
        let announced = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        let isLong = announced > Self.skippedBytesMax || head.headers.contains(name: "transfer-encoding")
        let isLast = isLong || !head.isKeepAlive
        var headers = HTTPHeaders(refusal.headers.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "Content-Length", value: String(refusal.body.count))
        if isLast { headers.replaceOrAdd(name: "Connection", value: "close") }
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .init(statusCode: refusal.status), headers: headers))),
            promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: refusal.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if isLong {
            reading = .stopped
            isPaused = true
            let channel = context.channel
            channel.eventLoop.scheduleTask(in: Self.grace) { channel.close(promise: nil) }
            return
        }
        reading = .skipping(isLast: isLast)
        if wasRefused, !isPaused, !isLast { pauseReading(context) }
        wasRefused = true
    }

    private func pauseReading(_ context: ChannelHandlerContext) {
        isPaused = true
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = loopBound.value
            handler.isPaused = false
            if handler.hasHeldRead {
                handler.hasHeldRead = false
                context.read()
            }
        }
    }
}
