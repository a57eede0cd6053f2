// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One word, mark or literal of Swift source.
package struct SwiftToken: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A name, a keyword, or a name behind a number sign such as `#keyPath`. Backticks are taken off.
        case word
        case mark
        /// A string, a number or a regular expression, whole.
        case literal
        /// `#if`, `#elseif`, `#else` or `#endif` with the rest of its line.
        case directive
        case end
    }

    package var kind: Kind
    package var text: String
    /// Where the token stands, in UTF-8 code units from the start of the file.
    package var range: Range<Int>
    /// Counted from 1.
    package var line: Int
    /// Whether nothing but blanks and comments stands before it on its line.
    package var startsLine: Bool

    package func isMark(_ text: String) -> Bool { kind == .mark && self.text == text }
    package func isWord(_ text: String) -> Bool { kind == .word && self.text == text }
}
