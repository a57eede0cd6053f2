// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The parts of a response's head that a client needs, read without texts: a client shares the processors with the server that it measures.
struct ResponseHead {
    /// Length of the head.
    var bytes = 0
    /// Nil without `Content-Length`.
    var bodyBytes: Int?
    var status: Int
    var closes = false

    private static let length = Array("content-length:".utf8)
    private static let close = Array("connection: close".utf8)

    /// - Returns: Nil for an incomplete head, and for one that is not HTTP.
    init?(_ received: [UInt8]) {
        guard received.count >= 16, let status = Self.number(in: received, from: 9) else { return nil }
        self.status = status
        var line = 0
        for index in received.indices where received[index] == UInt8(ascii: "\n") {
            if index == line + 1 {
                bytes = index + 1
                return
            }
            if Self.has(Self.length, at: line, in: received) { bodyBytes = Self.number(in: received, from: line + Self.length.count) }
            if Self.has(Self.close, at: line, in: received) { closes = true }
            line = index + 1
        }
        return nil
    }

    private static func has(_ name: [UInt8], at start: Int, in bytes: [UInt8]) -> Bool {
        guard bytes.count >= start + name.count else { return false }
        for index in name.indices {
            let byte = bytes[start + index]
            let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            if (isUpper ? byte | 0x20 : byte) != name[index] { return false }
        }
        return true
    }

    private static func number(in bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        while index < bytes.count, bytes[index] == UInt8(ascii: " ") { index += 1 }
        var number: Int?
        while index < bytes.count, bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") {
            number = (number ?? 0) * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            index += 1
        }
        return number
    }
}
