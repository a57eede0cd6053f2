// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore

/// Finds the messages of one HTTP/1.1 connection in the bytes that pass: requests with their responses, and notifications of
/// the push stream.
///
/// The client sends one request at a time, and begins each at the start of a write, so heads are found without parsing bodies.
struct TrafficReader {
    private static let pushPath = "/push/stream"
    private static let identifierField = "x-apple-request-uuid:"
    /// Bytes of a response that contain its head.
    private static let headBytesMax = 2048

    private var request: (path: String, began: Double)?
    private var isPushStream = false

    /// - Parameter time: Milliseconds since 1970.
    mutating func deviceSent(_ bytes: ByteBufferView, at time: Double) {
        guard ["GET ", "POST "].contains(where: { bytes.starts(with: $0.utf8) }) else { return }
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self).split(separator: " ")
        guard line.count == 3, let path = line[1].split(separator: "?").first.map(String.init) else { return }
        isPushStream = path.hasSuffix(Self.pushPath)
        request = (path, time)
    }

    /// - Returns: The request that these bytes respond to, or a notification.
    mutating func serverSent(_ bytes: ByteBufferView, at time: Double) -> [TraceMessage] {
        var messages: [TraceMessage] = []
        if let sent = request, bytes.starts(with: "HTTP/1.1 ".utf8) {
            request = nil
            let head = String(decoding: bytes.prefix(Self.headBytesMax), as: UTF8.self).split(separator: "\r\n")
            let status = head.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") }
            let identifier = head.first { $0.lowercased().hasPrefix(Self.identifierField) }?.dropFirst(Self.identifierField.count)
            messages.append(
                TraceMessage(
                    kind: .request, began: sent.began, ended: time, path: sent.path, status: status,
                    request: identifier.map { String($0.drop { $0 == " " }) }))
        }
        // An empty line is a heartbeat; a notification is JSON.
        if isPushStream, bytes.contains(UInt8(ascii: "{")) { messages.append(TraceMessage(kind: .push, began: time, ended: time)) }
        return messages
    }
}
