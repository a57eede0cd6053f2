// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL
import Synchronization

/// The certificate authorities that a client trusts: the system's and, if given, the operator's.
package struct ServerTrust: Hashable, Sendable {
    package static let system = ServerTrust(authorities: [])

    /// Certificates of authorities in addition to the system's.
    private let authorities: [NIOSSLCertificate]

    private init(authorities: [NIOSSLCertificate]) { self.authorities = authorities }

    /// - Parameter path: A PEM file with one or more certificates.
    /// - Throws: ``CKError`` with `.badContainer` if the file cannot be read or has no certificate.
    package init(authorities path: String) throws(CKError) {
        do {
            authorities = try NIOSSLCertificate.fromPEMFile(path)
        } catch {
            throw CKError(
                .badContainer, "the CA certificate at \(path) cannot be read: give a PEM file with certificates",
                cause: error)
        }
        guard !authorities.isEmpty else {
            throw CKError(.badContainer, "the file at \(path) has no certificate: give a PEM file with certificates")
        }
    }

    // MARK: Clients

    private static let clients = Mutex<[ServerTrust: HTTPClient]>([:])

    /// The client for servers with this trust. It lives as long as the process; idle connections close by themselves.
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
        // The transport decides about retries, since it knows if the request is idempotent.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The client would pass whole addresses to the app's tracer. The address of an asset grants access to it.
        configuration.tracing.tracer = nil
        var tls = TLSConfiguration.makeClientConfiguration()
        // Earlier versions are deprecated: RFC 8996.
        tls.minimumTLSVersion = .tlsv12
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        configuration.tlsConfiguration = tls
        return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }
}
