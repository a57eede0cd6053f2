// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A piece of SQL with the values for its question marks.
struct SQLFragment: Sendable {
    var text: String
    var arguments: [SQLValue]

    init(_ text: String, _ arguments: [SQLValue] = []) {
        self.text = text
        self.arguments = arguments
    }

    static func + (a: SQLFragment, b: SQLFragment) -> SQLFragment {
        SQLFragment(a.text + b.text, a.arguments + b.arguments)
    }

    static func + (a: SQLFragment, b: String) -> SQLFragment { SQLFragment(a.text + b, a.arguments) }
    static func + (a: String, b: SQLFragment) -> SQLFragment { SQLFragment(a + b.text, b.arguments) }

    static func joined(_ parts: [SQLFragment], _ separator: String) -> SQLFragment {
        SQLFragment(parts.map(\.text).joined(separator: separator), parts.flatMap(\.arguments))
    }

    /// Joins conditions by AND or OR in groups of groups: SQLite rejects expressions of more than 1,000 levels, and each
    /// operator of a chain is one.
    static func tree(_ parts: [SQLFragment], _ operator: String) -> SQLFragment {
        let groupMax = 200
        guard parts.count > groupMax else { return joined(parts, `operator`) }
        let groups = stride(from: 0, to: parts.count, by: groupMax).map { start in
            "(" + joined(Array(parts[start..<min(start + groupMax, parts.count)]), `operator`) + ")"
        }
        return tree(groups, `operator`)
    }
}
