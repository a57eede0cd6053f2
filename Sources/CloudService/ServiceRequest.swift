// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A request to the service, from any carrier.
package struct ServiceRequest: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Pieces as they arrive, for bodies that are not held in memory.
        case stream(any AsyncSequence<[UInt8], any Error> & Sendable)
    }

    package var method: String
    /// Path without query.
    package var path: String
    /// What stands after the path's `?`, as it came.
    package var query: String
    /// By lower-case name.
    package var headers: RequestHeaders
    package var body: Body
    /// Where the caller reached this server, such as `http://127.0.0.1:8080`.
    package var baseURL: String
    /// Client network prefix, if the carrier knows it. Anonymous clients share one rate limit per prefix.
    package var network: String
    /// Joins the answer to the log; given by the service.
    package internal(set) var requestUUID = ""

    package init(
        method: String, path: String, query: String = "", headers: RequestHeaders = [:], body: Body = .bytes([]), baseURL: String,
        network: String = ""
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.baseURL = baseURL
        self.network = network
    }

    package func header(_ name: String) -> String? { headers[name] }
}
