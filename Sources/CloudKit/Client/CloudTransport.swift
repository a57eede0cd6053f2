// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Sends requests to a server and returns the responses. Knows addresses and credentials, but no records.
///
/// A transport does not retry, follow redirects or read the body. Failures are thrown as ``CKError`` with
/// `.networkUnavailable` (no connection), `.networkFailure` (the connection broke or timed out) or
/// `.serverResponseLost` (the same, for a request that changes data). A response with an error status is returned.
package protocol CloudTransport: Sendable {
    /// Sends a request and waits for the whole response.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Sends a request and returns when the head of the response arrives; the body follows in pieces. Dropping the
    /// pieces cancels the request.
    func stream(_ request: TransportRequest) async throws -> TransportStream

    /// Prefix of the links to shares on this server.
    var linkBase: String { get }

    /// A digest that differs between credentials and does not reveal them. `nil` if no user is signed in.
    var credential: String? { get }

    /// Executor of tasks that outlive a call. `nil` is the default executor.
    var executor: (any TaskExecutor)? { get }

    /// Whether idle connections need a timeout. False for transports that always report the end of a connection.
    var needsIdleTimeout: Bool { get }
}

extension CloudTransport {
    package var credential: String? { nil }

    package var executor: (any TaskExecutor)? { nil }

    package var needsIdleTimeout: Bool { true }

    package var linkBase: String { "https://tarn.invalid" }
}

package struct TransportRequest: Sendable {
    package enum Target: Hashable, Sendable {
        /// A path below the server's root, sent with the credentials of the device.
        case service(path: String)
        /// The address of an asset, from the server: absolute, or a path on the server. It contains its own
        /// authorization, so it is sent without credentials.
        case asset(address: String)
    }

    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// A range of a file: its size, and its offset.
        case file(URL, byteCount: Int64, from: Int64 = 0)

        package var byteCount: Int64 {
            switch self {
            case .none: 0
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let byteCount, _): byteCount
            }
        }
    }

    package var method: String
    package var target: Target
    package var headers: TransportHeaders
    package var body: Body
    /// Maximum size of a response that is read as a whole.
    package var responseBytesMax: Int
    /// Timeout of the whole exchange, and idle timeout of one that uploads a file. `nil` is the transport's default.
    package var timeout: Duration?
    /// Whether the server may have changed data although its response is lost.
    package var changesData = false
    /// Observes a file while it is sent.
    package var sent: (any UploadObserver)?

    package init(
        method: String, target: Target, headers: TransportHeaders = TransportHeaders(), body: Body = .none,
        responseBytesMax: Int
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.responseBytesMax = responseBytesMax
    }
}

/// Observes the pieces of a file while they are sent.
package protocol UploadObserver: Sendable {
    /// The file is sent from an offset on, perhaps after a retry.
    func begin(at offset: Int64) async
    func see(_ piece: UnsafeRawBufferPointer)
    /// Reports a piece that is being sent. The next piece is read after the return.
    func moved(_ count: Int) async
}

package struct TransportResponse: Sendable {
    package var status: Int
    package var headers: TransportHeaders
    package var body: [UInt8]

    package init(status: Int, headers: TransportHeaders = TransportHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

package struct TransportStream: Sendable {
    package var status: Int
    package var headers: TransportHeaders
    /// Pieces of the body as they arrive, of any size. Iterate once.
    package var chunks: any AsyncSequence<[UInt8], any Error> & Sendable

    package init(
        status: Int, headers: TransportHeaders = TransportHeaders(),
        chunks: any AsyncSequence<[UInt8], any Error> & Sendable
    ) {
        self.status = status
        self.headers = headers
        self.chunks = chunks
    }
}

/// Names and values of headers. Names are compared case-insensitively.
package struct TransportHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package private(set) var all: [Header] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        all = elements.map { Header(name: $0.0, value: $0.1) }
    }

    package mutating func add(_ name: String, _ value: String) {
        all.append(Header(name: name, value: value))
    }

    /// The first value of a header.
    package subscript(name: String) -> String? {
        let lowercasedName = name.lowercased()
        return all.first { $0.name.lowercased() == lowercasedName }?.value
    }
}
