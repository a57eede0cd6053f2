// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudService

/// A signed request to an S3-compatible store.
package struct S3Request: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Read in pieces while it is sent.
        case file(any AssetReader, Range<Int64>)

        package var byteCount: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): Int64(range.count)
            }
        }
    }

    package var method: String
    package var url: String
    /// `Host` included. They have the signature: never to be logged.
    package var headers: [S3Signature.Parameter]
    package var body: Body
    /// A longer response is an error, and is not read to its end.
    package var responseBytesMax: Int
    /// For the whole exchange.
    package var timeout: Duration

    package init(
        method: String, url: String, headers: [S3Signature.Parameter], body: Body, responseBytesMax: Int, timeout: Duration
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.responseBytesMax = responseBytesMax
        self.timeout = timeout
    }
}

package struct S3Response: Sendable {
    package var status: Int
    /// The `ETag` header.
    package var tag: String?
    package var body: [UInt8]

    package init(status: Int, tag: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.tag = tag
        self.body = body
    }
}

/// Sends one request, without retries and redirects. The caller of this target brings the HTTP client.
///
/// - Throws: `CancellationError`, or any error for a request without a complete response in time.
package typealias S3Transport = @Sendable (S3Request) async throws -> S3Response
