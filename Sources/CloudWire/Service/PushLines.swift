// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An event of the push stream.
package enum PushStreamEvent: Equatable, Sendable {
    /// The stream is open and delivers all later changes. Fetch the changes before it.
    case connected
    case notification(PushNotification)
    case heartbeat
}

/// Splits the push stream into lines, from pieces of any size.
package struct PushLines {
    package static let lineBytesMax = 65_536

    private var partialLine: [UInt8] = []

    package init() {}

    /// - Returns: An event for each complete line. Empty lines are heartbeats.
    /// - Throws: `WireError` if a line is too long or isn't a notification. The stream is unusable afterwards.
    package mutating func receive(_ chunk: [UInt8]) throws(WireError) -> [PushStreamEvent] {
        var events: [PushStreamEvent] = []
        var lineStart = chunk.startIndex
        while let lineEnd = chunk[lineStart...].firstIndex(of: UInt8(ascii: "\n")) {
            partialLine.append(contentsOf: chunk[lineStart..<lineEnd])
            lineStart = lineEnd + 1
            if partialLine.last == UInt8(ascii: "\r") { partialLine.removeLast() }
            try checkLength()
            events.append(partialLine.isEmpty ? .heartbeat : .notification(try PushNotification(json: partialLine)))
            partialLine.removeAll(keepingCapacity: true)
        }
        partialLine.append(contentsOf: chunk[lineStart...])
        try checkLength()
        return events
    }

    private func checkLength() throws(WireError) {
        guard partialLine.count <= PushLines.lineBytesMax else {
            throw WireError(.badRequest, "a line of the push stream is longer than \(PushLines.lineBytesMax) bytes")
        }
    }
}
