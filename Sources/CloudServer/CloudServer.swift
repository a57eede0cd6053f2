// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire
package import Hummingbird
import HummingbirdCore
import HummingbirdTLS
package import Logging
import NIOCore

/// The HTTP server of the service.
package enum CloudServer {
    /// - Parameters:
    ///   - identity: The TLS certificate and key; nil serves plain HTTP.
    ///   - port: 0 binds an ephemeral port, which `onListening` receives.
    ///   - publicAddress: Base of the URLs in responses; requests for other hosts are refused.
    ///   - refusesOtherNames: Without a public address, refuses hosts other than `host`, `localhost` and literal addresses.
    ///   - spans: Exports a trace span per request; nil disables tracing.
    ///   - onListening: Called once when the socket accepts connections.
    package static func application(
        service: CloudService, pages: (any PageResponder)? = nil, host: String, port: Int, identity: TLSIdentity? = nil,
        metrics: RequestMetrics = RequestMetrics(), spans: SpanExporter? = nil, access: OperationsAccess = OperationsAccess(),
        proxies: TrustedProxies = TrustedProxies(),
        publicAddress: PublicAddress? = nil, refusesOtherNames: Bool = false, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) throws -> Application<ServiceResponder> {
        let limits = service.engine.limits
        let hostRule = HostRule(publicAddress: publicAddress, refusesOtherNames: refusesOtherNames, listenHost: host)
        let responder = ServiceResponder(
            service: service, pages: pages, metrics: metrics, spans: spans, access: access, proxies: proxies,
            hostRule: hostRule, logger: logger, speaksTLS: identity != nil)
        // This machine and gateways carry requests of many clients.
        let plain = HTTPServerBuilder.onEventLoops(
            idleSeconds: limits.idleSeconds, pace: BodyPace(limits), judge: responder.judge,
            counts: OpenCounts(atMost: limits.connectionsPerNetwork), isUncounted: { $0.isLoopback || proxies.contains($0) })
        return Application(
            responder: responder,
            server: try identity.map { try .tls(plain, tlsConfiguration: $0.configuration) } ?? plain,
            configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: nil),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? port) },
            logger: Logger(label: "http") { _ in LogWithoutRequestIDs(logger) })
    }

    /// Sends heartbeats on push streams until the task is cancelled.
    package static func beat(_ hub: PushHub) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(Capability.heartbeatSeconds))
            hub.beat()
        }
    }
}
