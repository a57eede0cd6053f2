// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A field of a line of comma-separated values (RFC 4180).
enum CSVField {
    /// - Returns: The text, in quotation marks if a reader needs them.
    static func quoted(_ text: String) -> String {
        let isPlain = !text.utf8.contains { [UInt8(ascii: ","), UInt8(ascii: "\""), 10, 13].contains($0) }
        return isPlain ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
    }

    /// An empty text is quoted: a missing value is not.
    static func value(_ text: String) -> String { text.isEmpty ? "\"\"" : quoted(text) }
}
