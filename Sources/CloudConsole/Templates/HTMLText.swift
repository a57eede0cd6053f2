// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Mustache

/// Escapes values for HTML, byte by byte.
///
/// The template library's own escape goes by `Character`, so that a quotation mark followed by a combining mark passes it
/// and ends an attribute.
struct HTMLText: MustacheContentType {
    /// Opens every template; see ``Templates``.
    static let pragma = "{{% CONTENT_TYPE:TARN}}"

    static func register() { MustacheContentTypes.register(HTMLText(), named: "TARN") }

    func escapeText(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
