// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A syntax error of a schema: its position, the text there, and the expected text.
package struct SchemaFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// From 1.
    package var line: Int
    /// Characters from 1.
    package var column: Int
    package var what: String

    package init(line: Int, column: Int, what: String) {
        self.line = line
        self.column = column
        self.what = what
    }

    package var description: String { "line \(line), column \(column): \(what)" }
}

/// Why a schema cannot take the place of another.
package struct SchemaRefused: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for each thing that stands in the way.
    package var reasons: [String]

    package init(reasons: [String]) {
        self.reasons = reasons
    }

    package var description: String { reasons.joined(separator: "\n") }
}
