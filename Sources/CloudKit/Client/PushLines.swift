// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// What comes from the push stream.
package enum PushEvent: Equatable, Sendable {
    /// The stream stands: whatever changes from now on will be told. Changes before it are to be asked for.
    case connected
    case notification(PushNotification)
    case heartbeat
}

/// Puts the lines of the push stream together from pieces of any size.
package struct PushLines {
    static let lineBytesMax = 65_536

    private var rest: [UInt8] = []

    package init() {}

    /// - Returns: An event for each line that is complete now: empty lines are heartbeats.
    /// - Throws: `WireError` for a line that is too long or is no notification. The stream cannot be read further.
    package mutating func receive(_ chunk: [UInt8]) throws(WireError) -> [PushEvent] {
        var events: [PushEvent] = []
        var lineStart = chunk.startIndex
        while let lineEnd = chunk[lineStart...].firstIndex(of: UInt8(ascii: "\n")) {
            rest.append(contentsOf: chunk[lineStart..<lineEnd])
            lineStart = lineEnd + 1
            if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
            try checkLength()
            events.append(rest.isEmpty ? .heartbeat : .notification(try PushNotification(json: rest)))
            rest.removeAll(keepingCapacity: true)
        }
        rest.append(contentsOf: chunk[lineStart...])
        try checkLength()
        return events
    }

    private func checkLength() throws(WireError) {
        guard rest.count <= PushLines.lineBytesMax else {
            throw WireError(.badRequest, "a line of the push stream is longer than \(PushLines.lineBytesMax) bytes")
        }
    }
}
