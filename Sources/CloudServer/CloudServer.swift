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
import NIOSSL

/// The service on a socket.
package enum CloudServer {
    /// A certificate with those that lead to its root, and its key.
    package struct Identity: Sendable {
        let configuration: TLSConfiguration

        /// - Throws: `StorageFailure` with `.unavailable` for files that are none.
        package init(certificatePath: String, keyPath: String) throws {
            do {
                let chain = try NIOSSLCertificate.fromPEMFile(certificatePath)
                let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
                configuration = .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
                // Reads both together, so that a key of another certificate is found now.
                _ = try NIOSSLContext(configuration: configuration)
            } catch {
                throw StorageFailure(.unavailable, "the certificate or its key cannot be used")
            }
        }
    }

    /// - Parameters:
    ///   - identity: With one the server speaks TLS, and nothing else.
    ///   - port: 0 lets the system choose; `onListening` tells which it was.
    ///   - spans: Takes what requests took; nil where nobody wants to know.
    ///   - onListening: Called once requests are accepted.
    package static func application(
        service: CloudService, pages: (any PageResponder)? = nil, host: String, port: Int, identity: Identity? = nil,
        metrics: RequestMetrics = RequestMetrics(), spans: SpanExporter? = nil, access: OperationsAccess = OperationsAccess(),
        proxies: TrustedProxies = TrustedProxies(), logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) throws -> Application<ServiceResponder> {
        let idleSeconds = service.engine.limits.idleSeconds
        let plain = HTTPServerBuilder.onEventLoops(idleSeconds: idleSeconds)
        return Application(
            responder: ServiceResponder(
                service: service, pages: pages, metrics: metrics, spans: spans, access: access, proxies: proxies, logger: logger,
                fallbackHost: "\(host):\(port)", speaksTLS: identity != nil),
            server: try identity.map { try .tls(plain, tlsConfiguration: $0.configuration) } ?? plain,
            configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: nil),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? port) },
            logger: Logger(label: "http") { _ in LogWithoutRequestIDs(logger) })
    }

    /// Heartbeats of held connections until the task is cancelled.
    package static func beat(_ hub: PushHub) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(Capability.heartbeatSeconds))
            hub.beat()
        }
    }
}
