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
    ///   - request: UUID of the request that the page before ended with; nil for the newest.
    ///   - limit: Requests at most.
    func notes(matching filter: RequestFilter, before request: String?, limit: Int) async throws -> [RequestNote]
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
        var client = ClientKind.other
        var sender: RequestSender?
        var access: String?
        var (bytesReceived, bytesSent): (Int?, Int?)
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
            case "client": client = ClientKind(rawValue: try reader.readString()) ?? .other
            case "sender": sender = RequestSender(text: try reader.readString())
            case "access": access = try reader.readString()
            case "received": bytesReceived = try reader.readInt()
            case "sent": bytesSent = try reader.readInt()
            default: try reader.skipValue()
            }
        }
        guard let time, let status else { throw JSONFault("a request of the log has no time or status", at: start) }
        self.init(
            time: time, method: method, endpoint: endpoint, status: status, errorCode: errorCode, milliseconds: milliseconds,
            requestUUID: requestUUID, path: path, client: client, sender: sender, access: access, bytesReceived: bytesReceived,
            bytesSent: bytesSent)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writeMembers(to: &writer)
            writer.member("path", path)
            writer.member("sender", sender?.text)
            writer.member("access", access)
        }
    }

    /// Writes the members that the console's log has, too: it has names in place of the sender, and a container in place of the path.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("time", time)
        writer.member("method", method)
        writer.member("endpoint", endpoint)
        writer.member("status", status)
        writer.member("error", errorCode)
        writer.member("milliseconds", milliseconds)
        writer.member("request", requestUUID)
        writer.member("client", client.rawValue)
        writer.member("received", bytesReceived)
        writer.member("sent", bytesSent)
    }
}
