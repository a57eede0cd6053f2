// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL
import Synchronization

/// Whose certificates are trusted: those of the system's authorities and, where the operator has one of their own, those of
/// that one.
package struct ServerTrust: Hashable, Sendable {
    package static let system = ServerTrust(authorities: [])

    /// Certificates of authorities beside the system's.
    private let authorities: [NIOSSLCertificate]

    private init(authorities: [NIOSSLCertificate]) { self.authorities = authorities }

    /// - Parameter path: Of a PEM file with one certificate or more.
    /// - Throws: ``CKError`` with `.badContainer` for a file that cannot be read or holds none.
    package init(authorities path: String) throws(CKError) {
        do {
            authorities = try NIOSSLCertificate.fromPEMFile(path)
        } catch {
            throw CKError(
                .badContainer, "the CA certificate at \(path) cannot be read: it is to be a PEM file with certificates",
                cause: error)
        }
        guard !authorities.isEmpty else {
            throw CKError(.badContainer, "the file at \(path) holds no certificate: it is to be a PEM file with certificates")
        }
    }

    // MARK: Clients

    private static let clients = Mutex<[ServerTrust: HTTPClient]>([:])

    /// The client for servers that are trusted so. It lives as long as the process; connections that nobody uses close by
    /// themselves.
    package var client: HTTPClient {
        Self.clients.withLock { clients in
            if let client = clients[self] { return client }
            let client = makeClient()
            clients[self] = client
            return client
        }
    }

    private func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(5)
        // Trying again is decided by the transport, where it is known what was sent.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The client would tell the app's tracer whole addresses, and who has that of an asset may fetch it.
        configuration.tracing.tracer = nil
        var tls = TLSConfiguration.makeClientConfiguration()
        // Earlier versions are deprecated: RFC 8996.
        tls.minimumTLSVersion = .tlsv12
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        configuration.tlsConfiguration = tls
        return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }
}
