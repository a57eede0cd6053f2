// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CStatementLog
package import Foundation

/// Records the statements that SQLite runs on connections opened to the files of a folder.
package struct StatementRecording {
    private let path: String

    package init(_ folder: URL) {
        path = folder.path
        statement_log_watch(path)
    }

    /// Instructions of SQLite's virtual machine so far: the cost of statements, independent of the load of the machine.
    package var steps: Int { Int(statement_log_steps(path)) }

    /// Queries and changes in the order in which each ran first.
    package var statements: [String] {
        var found: [String] = []
        var index = 0
        while let text = statement_log_text(path, index) {
            index += 1
            let statement = StatementFragments.normalized(String(cString: text))
            if StatementFragments.hasPlan(statement), !found.contains(statement) { found.append(statement) }
        }
        return found
    }
}
