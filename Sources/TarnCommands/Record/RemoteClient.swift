// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL

/// The HTTP client of commands. It follows no redirect, which could leak an operator's key, and doesn't retry a refused
/// connection.
enum RemoteClient {
    /// Shared client that trusts the authorities of `TARN_CA_CERTIFICATE`, for the lifetime of the process.
    static let shared: Result<HTTPClient, CommandError> = Result { () throws(CommandError) -> HTTPClient in
        try make(caCertificate: ProcessInfo.processInfo.environment["TARN_CA_CERTIFICATE"].flatMap { $0.isEmpty ? nil : $0 })
    }

    /// - Parameter caCertificate: A PEM file with authorities that are trusted in addition to the system's.
    static func make(caCertificate: String?) throws(CommandError) -> HTTPClient {
        var configuration = HTTPClient.Configuration.outbound(connectTimeout: .seconds(5))
        configuration.connectionPool.retryConnectionEstablishment = false
        if let caCertificate {
            guard let authorities = try? NIOSSLCertificate.fromPEMFile(caCertificate), !authorities.isEmpty else {
                throw CommandError("The CA certificate \(caCertificate) cannot be read: name a PEM file in TARN_CA_CERTIFICATE.")
            }
            configuration.tlsConfiguration?.additionalTrustRoots = [.certificates(authorities)]
        }
        return HTTPClient(configuration: configuration)
    }
}
