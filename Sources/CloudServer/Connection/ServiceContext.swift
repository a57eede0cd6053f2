// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Hummingbird
package import NIOCore

/// The connection of a request.
package struct ServiceContext: RequestContext, RemoteAddressRequestContext {
    package var coreContext: CoreRequestContextStorage
    package let remoteAddress: SocketAddress?
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        remoteAddress = source.channel.remoteAddress
        channel = source.channel
    }

    /// Identifies the connection while it is open.
    var connection: ObjectIdentifier { ObjectIdentifier(channel) }

    /// Calls `body` when the connection closes; immediately if it is closed.
    func whenClosed(_ body: @escaping @Sendable () -> Void) { channel.closeFuture.whenComplete { _ in body() } }

    /// Closes the connection after a time, unless the returned task is cancelled. A write that waits for the client fails then.
    func close(after duration: TimeAmount) -> Scheduled<Void> {
        let channel = channel
        return channel.eventLoop.scheduleTask(in: duration) { channel.close(promise: nil) }
    }

    /// Closes the input side. The response is still sent.
    func stopReading() { channel.close(mode: .input, promise: nil) }

    /// `true` if the peer is on this machine.
    var isLocal: Bool {
        switch remoteAddress {
        case .unixDomainSocket: true
        case .v4, .v6: NetworkAddress(remoteAddress)?.isLoopback ?? false
        case nil: false
        }
    }
}
