// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A string literal of a source file that is part of an SQL statement.
package struct StatementFragment: Hashable, CustomStringConvertible, Sendable {
    package let file: String
    package let line: Int
    /// The literal in pieces, between its interpolations; runs of white space are one space.
    let pieces: [String]

    package var description: String { "\(file):\(line): \(text)" }
    package var text: String { pieces.joined(separator: "…") }

    /// The fragment's text, if it may be a whole statement.
    var whole: String? { pieces.count == 1 && StatementFragments.hasPlan(text) ? text : nil }

    /// Returns `true` if a statement begins as this fragment does and has all its pieces.
    func begins(_ statement: String) -> Bool {
        guard let first = pieces.first, StatementFragments.hasPlan(first), statement.hasPrefix(first) else { return false }
        return occurs(in: statement)
    }

    /// Returns `true` if a statement contains the pieces in their order.
    package func occurs(in statement: String) -> Bool {
        var rest = statement[...]
        for piece in pieces where !piece.isEmpty {
            guard let range = rest.range(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }
}

package enum StatementFragments {
    /// Returns `true` for statements that read or write rows.
    static func hasPlan(_ statement: String) -> Bool {
        ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "REPLACE"].contains(statement.prefix { $0 != " " }.uppercased())
    }

    /// Returns a statement with runs of white space as one space.
    package static func normalized(_ text: some StringProtocol) -> String {
        var result = ""
        var isSpace = false
        for character in text {
            if character.isWhitespace {
                isSpace = true
            } else {
                if isSpace, !result.isEmpty { result.append(" ") }
                isSpace = false
                result.append(character)
            }
        }
        return result
    }

    /// Returns the fragments of statements that read or write rows in the Swift sources of a folder. Definitions of tables are
    /// left out: they have no plan.
    package static func all(in folder: URL) throws -> [StatementFragment] {
        var found: [StatementFragment] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted() where path.hasSuffix(".swift") {
            let file = folder.appendingPathComponent(path)
            found += fragments(in: try String(contentsOf: file, encoding: .utf8), file: file.lastPathComponent)
        }
        return found.sorted { ($0.file, $0.line) < ($1.file, $1.line) }
    }

    static func fragments(in source: String, file: String) -> [StatementFragment] {
        literals(in: source).compactMap { line, pieces in
            let pieces = pieces.map { piece in
                // A space at an edge belongs to the statement.
                let text = normalized(piece)
                return text.isEmpty ? "" : text
            }
            let text = pieces.joined(separator: "…")
            return hasPlan(pieces[0]) || isStatement(text) ? StatementFragment(file: file, line: line, pieces: pieces) : nil
        }
    }

    private static func isStatement(_ text: String) -> Bool {
        if text.hasPrefix("CREATE ") || text.hasPrefix("ALTER ") || text.hasPrefix("DROP ") || text.hasPrefix("PRAGMA ") { return false }
        let verbs = ["SELECT ", "INSERT INTO ", "INSERT OR ", "UPDATE ", "DELETE FROM ", "REPLACE INTO "]
        if verbs.contains(where: { text.contains($0) }) { return true }
        return [" = ?", " > ?", " < ?", " IN (", " BETWEEN ? ", " IS NULL", " IS NOT NULL"].contains { text.contains($0) }
            && !text.contains("…:") && text.first?.isLetter ?? false
    }

    /// The string literals of Swift source, each with its line and its pieces between interpolations. Comments are skipped.
    private static func literals(in source: String) -> [(line: Int, pieces: [String])] {
        let text = Array(source)
        var found: [(Int, [String])] = []
        var index = 0, line = 1
        func starts(_ word: String, _ at: Int) -> Bool { at + word.count <= text.count && Array(word) == Array(text[at..<at + word.count]) }
        /// Reads a literal with the opening quote at `index`, with those inside its interpolations.
        func read() {
            let start = line
            let isLong = starts("\"\"\"", index)
            index += isLong ? 3 : 1
            var pieces = [""]
            while index < text.count {
                if isLong ? starts("\"\"\"", index) : text[index] == "\"" || text[index] == "\n" { break }
                if text[index] == "\\", index + 1 < text.count {
                    if text[index + 1] == "(" {
                        index += 2
                        var depth = 1
                        while index < text.count, depth > 0 {
                            if text[index] == "\"" { read(); continue }
                            if text[index] == "(" { depth += 1 }
                            if text[index] == ")" { depth -= 1 }
                            if text[index] == "\n" { line += 1 }
                            index += 1
                        }
                        pieces.append("")
                        continue
                    }
                    // A line that goes on, or an escaped character.
                    if text[index + 1] == "\n" { line += 1 } else { pieces[pieces.count - 1].append(text[index + 1]) }
                    index += 2
                    continue
                }
                if text[index] == "\n" { line += 1 }
                pieces[pieces.count - 1].append(text[index])
                index += 1
            }
            index += isLong ? 3 : 1
            found.append((start, pieces))
        }
        while index < text.count {
            if starts("//", index) {
                while index < text.count, text[index] != "\n" { index += 1 }
            } else if text[index] == "\"" {
                read()
            } else {
                if text[index] == "\n" { line += 1 }
                index += 1
            }
        }
        return found
    }
}
