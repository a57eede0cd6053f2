// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// The certificate that a server presents, trusted or not.
enum ServerCertificate {
    /// - Returns: Expiry in seconds since 1970 UTC; nil without TLS.
    static func expiry(of address: String) async -> Int64? {
        guard let parts = URLComponents(string: address), let host = parts.host else { return nil }
        guard let context = try? NIOSSLContext(configuration: .makeClientConfiguration()) else { return nil }
        // A literal address isn't a valid server name: RFC 6066, section 3.
        let name = (try? SocketAddress(ipAddress: host, port: 1)) == nil ? host : nil
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: Int64.self)
        let bootstrap = ClientBootstrap(group: loop).connectTimeout(.seconds(5)).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                // Only its dates are read: no request is sent over the connection.
                let handler = try NIOSSLClientHandler(context: context, serverHostname: name) {
                    (certificates: [NIOSSLCertificate], verdict: EventLoopPromise<NIOSSLVerificationResult>) in
                    if let leaf = certificates.first { promise.succeed(Int64(leaf.notValidAfter)) }
                    verdict.succeed(.failed)
                }
                try channel.pipeline.syncOperations.addHandler(handler)
                try channel.pipeline.syncOperations.addHandler(EndOfHandshake(promise: promise))
            }
        }
        loop.scheduleTask(in: .seconds(5)) { promise.fail(ChannelError.connectTimeout(.seconds(5))) }
        bootstrap.connect(host: host, port: parts.port ?? 443).whenFailure { promise.fail($0) }
        return try? await promise.futureResult.get()
    }

    private final class EndOfHandshake: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<Int64>

        init(promise: EventLoopPromise<Int64>) { self.promise = promise }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { promise.fail(ChannelError.eof) }
    }
}
