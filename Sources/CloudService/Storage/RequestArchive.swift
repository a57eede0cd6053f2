// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The requests that failed or were slow, kept after the server ends.
package protocol RequestArchive: Sendable {
    /// Stores a request if it failed or was slow. It is bounded in bytes and in requests a minute, and never throws: a request that cannot be
    /// stored is in the server's log.
    func add(_ note: RequestNote)

    /// The stored requests, the newest first.
    ///
    /// - Parameters:
    ///   - text: Text that a request's container, endpoint, error, status or UUID contains; empty for all.
    ///   - request: UUID of the request that the page before ended with; nil for the newest.
    ///   - limit: Requests at most.
    func notes(matching text: String, before request: String?, limit: Int) async throws -> [RequestNote]
}

extension RequestNote {
    /// Milliseconds from which on a request is slow.
    package static let slowMilliseconds = 1000.0

    package var isArchived: Bool { status >= 400 || milliseconds >= Self.slowMilliseconds }
}

extension RequestNote: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var (time, status): (Int64?, Int?)
        var (method, endpoint, requestUUID, path) = ("", "", "", "")
        var errorCode: String?
        var milliseconds = 0.0
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "time": time = try reader.readInt64()
            case "method": method = try reader.readString()
            case "endpoint": endpoint = try reader.readString()
            case "status": status = try reader.readInt()
            case "error": errorCode = try reader.readString()
            case "milliseconds": milliseconds = try reader.readDouble()
            case "request": requestUUID = try reader.readString()
            case "path": path = try reader.readString()
            default: try reader.skipValue()
            }
        }
        guard let time, let status else { throw JSONFault("a request of the log has no time or status", at: start) }
        self.init(
            time: time, method: method, endpoint: endpoint, status: status, errorCode: errorCode, milliseconds: milliseconds,
            requestUUID: requestUUID, path: path)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writeMembers(to: &writer)
            writer.member("path", path)
        }
    }

    /// Writes all members but the path, in which the console's log has a container and a database.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("time", time)
        writer.member("method", method)
        writer.member("endpoint", endpoint)
        writer.member("status", status)
        writer.member("error", errorCode)
        writer.member("milliseconds", milliseconds)
        writer.member("request", requestUUID)
    }
}
