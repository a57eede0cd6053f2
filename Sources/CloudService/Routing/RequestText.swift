// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Texts of requests as they are read.
enum RequestText {
    /// A body without the byte order mark that some libraries write first. Spaces replace it, so
    /// that offsets in errors stay correct.
    ///
    /// Source: RFC 8259, section 8.1.
    static func withoutMark(_ body: [UInt8]) -> [UInt8] {
        guard body.starts(with: [0xEF, 0xBB, 0xBF]) else { return body }
        var body = body
        for index in 0..<3 { body[index] = UInt8(ascii: " ") }
        return body
    }

    static func idempotencyKey(_ request: ServiceRequest) throws(WireError) -> String? {
        guard let key = request.header(HeaderNames.idempotencyKey) else { return nil }
        guard isShortText(key) else {
            throw WireError(.badRequest, "an idempotency key has 1 to \(shortTextBytes) printable ASCII characters")
        }
        return key
    }

    private static let shortTextBytes = 128

    static func isShortText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= shortTextBytes && text.utf8.allSatisfy { (33...126).contains($0) }
    }
}
