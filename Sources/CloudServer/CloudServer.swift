// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudPush
import CloudWire
package import Hummingbird
package import Logging
import NIOCore

/// The service on a socket.
package enum CloudServer {
    /// - Parameters:
    ///   - port: 0 lets the system choose; `onListening` tells which it was.
    ///   - onListening: Called once requests are accepted.
    package static func application(
        service: CloudService, pages: (any PageResponder)? = nil, host: String, port: Int,
        metrics: RequestMetrics = RequestMetrics(), logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) -> Application<ServiceResponder> {
        Application(
            responder: ServiceResponder(
                service: service, pages: pages, metrics: metrics, logger: logger, fallbackHost: "\(host):\(port)"),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: nil),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? port) },
            logger: logger)
    }

    /// Heartbeats of held connections until the task is cancelled.
    package static func beat(_ hub: PushHub) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(Capability.heartbeatSeconds))
            hub.beat()
        }
    }
}
