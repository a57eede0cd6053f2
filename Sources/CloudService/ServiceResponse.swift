// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudWire

/// An answer of the service, whatever carries it.
package struct ServiceResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a file, to be read while it is sent.
        case file(any AssetReader, Range<Int64>)
        /// Held open. Whoever sends it calls `close` at the end, whatever the end was.
        case events(PushListener)
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: Body
    /// What was asked for, without names and identifiers, for the log.
    package var endpoint: String
    /// Wire code of the error in the answer, for the log.
    package var errorCode: String?
    /// What a storage failure was about, for the log; never in the answer.
    package var failure: StorageFailure?
    package var requestUUID: String

    package init(status: Int = 200, headers: [(name: String, value: String)] = [], body: Body, endpoint: String) {
        self.status = status
        self.headers = headers
        self.body = body
        self.endpoint = endpoint
        requestUUID = ""
    }

    static func json(_ bytes: [UInt8], status: Int = 200, endpoint: String) -> ServiceResponse {
        ServiceResponse(
            status: status, headers: [(HeaderNames.contentType, HeaderNames.json)], body: .bytes(bytes), endpoint: endpoint)
    }
}
