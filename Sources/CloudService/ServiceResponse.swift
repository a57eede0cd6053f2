// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudWire

/// A response of the service, for any carrier.
package struct ServiceResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// A part of a file, to be read while it is sent.
        case file(any AssetReader, Range<Int64>)
        /// A long-lived response. The carrier calls `close` at its end.
        case events(PushListener)
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: Body
    /// The endpoint without names and identifiers, for the log.
    package var endpoint: String
    /// Wire code of the error in the answer, for the log.
    package var errorCode: String?
    /// A storage failure, for the log; never part of the response.
    package var failure: StorageFailure?
    package var requestUUID: String
    /// For the console's log; nil for a request that was rejected before its credentials were read.
    package var sender: RequestSender?
    /// ``AccountAccess/id`` of the device token or web session, likewise.
    package var access: String?
    /// Memory that the body takes until it is sent. The carrier ends it.
    package var lease: RequestMemory.Lease?

    package init(status: Int = 200, headers: [(name: String, value: String)] = [], body: Body, endpoint: String) {
        self.status = status
        self.headers = headers
        self.body = body
        self.endpoint = endpoint
        requestUUID = ""
    }

    /// Bytes of the body; nil for a stream.
    package var bodyBytes: Int? {
        switch body {
        case .bytes(let bytes): bytes.count
        case .file(_, let range): range.count
        case .events: nil
        }
    }

    static func json(_ bytes: [UInt8], status: Int = 200, endpoint: String) -> ServiceResponse {
        ServiceResponse(
            status: status, headers: [(HeaderNames.contentType, HeaderNames.json)], body: .bytes(bytes), endpoint: endpoint)
    }
}

extension ServiceResponse {
    /// The operation of a path without what identifies a container or a person.
    static func endpoint(ofPath path: String) -> String {
        if let path = try? ServicePath(parsing: path) { return path.operation.rawValue }
        if let path = try? DevicePath(parsing: path) { return path.operation.rawValue }
        if path.hasPrefix(CourierAddress.prefix) { return "courier" }
        return path.hasPrefix(AssetPath.prefix) ? "asset" : "unknown"
    }
}
