// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Carries requests to a server and answers back. Knows addresses and credentials, but no records.
///
/// What a transport does not do: try again, follow redirects, read the body. Failures to exchange anything are thrown as
/// ``CKError`` with `.networkUnavailable` (no connection), `.networkFailure` (the exchange broke off, or took too long) or
/// `.serverResponseLost` (the same, of a request that changes data); an answer with an error status is an answer.
package protocol CloudTransport: Sendable {
    /// Sends a request and waits for the whole answer.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Sends a request and returns as soon as the head of the answer is there; its body follows piece by piece.
    /// Giving up the pieces ends the exchange.
    func stream(_ request: TransportRequest) async throws -> TransportStream

    /// How links to shares on this server begin.
    var linkBase: String { get }

    /// Tells one credential from another without being one; nil where nobody is signed in, or nobody knows.
    var credential: String? { get }

    /// Where tasks run that outlive a call; nil is wherever there is room.
    var executor: (any TaskExecutor)? { get }

    /// Whether a connection may say nothing for ever, so that it is broken off after a while; not where its end is told in
    /// any case.
    var fallsSilent: Bool { get }
}

extension CloudTransport {
    package var credential: String? { nil }

    package var executor: (any TaskExecutor)? { nil }

    package var fallsSilent: Bool { true }

    package var linkBase: String { "https://tarn.invalid" }
}

package struct TransportRequest: Sendable {
    package enum Target: Hashable, Sendable {
        /// A path below the server's root, sent with the credentials of the device.
        case service(path: String)
        /// An address that the server gave for an asset: absolute, or a path on the server. It carries its own proof
        /// and gets no credentials.
        case asset(address: String)
    }

    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// So many bytes of a file, from an offset on.
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
    /// Bytes of an answer that are read at most, if it is read as a whole.
    package var responseBytesMax: Int
    /// How long the whole exchange may take, and one with a file as body be silent; nil leaves it to the transport.
    package var timeout: Duration?
    /// Whether the server may have changed something if its answer is lost.
    package var changesData = false
    /// Sees a file as it is sent.
    package var sent: (any SentBytes)?

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

/// Sees the pieces of a file as they are sent.
package protocol SentBytes: Sendable {
    /// The file is sent from an offset on, perhaps again.
    func begin(at offset: Int64) async
    func see(_ piece: UnsafeRawBufferPointer)
    /// A piece that was seen is being sent. The next one is read when this returns.
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
    /// Pieces of the body as they come, of any size. To be read once.
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

/// Names and values of headers. Names are compared without regard to case.
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
        let wanted = name.lowercased()
        return all.first { $0.name.lowercased() == wanted }?.value
    }
}
