// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import NIOCore
import NIOSSL

extension HTTPClient.Configuration {
    /// For requests to other servers: without redirects, which could take credentials elsewhere.
    static func outbound(connectTimeout: TimeAmount) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = connectTimeout
        var tls = TLSConfiguration.makeClientConfiguration()
        // Earlier versions are deprecated: RFC 8996.
        tls.minimumTLSVersion = .tlsv12
        configuration.tlsConfiguration = tls
        return configuration
    }
}
