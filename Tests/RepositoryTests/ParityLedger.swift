// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The rows of `Documentation/Parity.md`. Each table has the columns symbol (or endpoint), state and test; the last names
/// the tests that show the state.
struct ParityLedger {
    struct Row: Equatable {
        /// The line of the file, from 1.
        var line: Int
        var symbol: String
        var state: String
        /// Names as `Suite`, `Suite.function`, `Target.Suite` or `Target.Suite.function`.
        var tests: [String]

        /// `true` if the row claims the behaviour of Apple's symbol, for all or a part of it.
        var saysSame: Bool { state.words.contains("same") }
        var saysAbsent: Bool { state.words.contains("absent") }
    }

    struct Problem: Equatable, CustomStringConvertible {
        enum Kind: Equatable { case malformed, sameWithoutTest, unknownTest, ambiguousTest, symbolWithoutTest }
        var line: Int
        var kind: Kind
        var text: String

        var description: String { "Parity.md:\(line): \(text)" }
    }

    private(set) var rows: [Row] = []
    private(set) var malformed: [Problem] = []

    init(_ text: String) {
        var previous = ""
        var symbols: Set<String> = []
        /// Of all tables: a row that stands in two of them was copied there by a merge.
        var claims: Set<[String]> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).enumerated() {
            defer { previous = line }
            guard line.hasPrefix("|") else { continue }
            let cells = Self.cells(line)
            let isHeader = !previous.hasPrefix("|")
            if isHeader {
                symbols = []
                if !["symbol", "endpoint"].contains(cells.first) || cells.dropFirst() != ["state", "test"] {
                    report(index, "a table has the columns symbol (or endpoint), state and test")
                }
            } else if cells.allSatisfy({ !$0.isEmpty && $0.allSatisfy { $0 == "-" } }) {
                if cells.count != 3 { report(index, "the line below a header has three cells") }
            } else if cells.count != 3 || cells[0].isEmpty || cells[1].isEmpty {
                report(index, "a row has a symbol, a state and a third cell for its tests")
            } else if !symbols.insert(cells[0]).inserted {
                report(index, "the table has two rows for \(cells[0])")
            } else if !claims.insert([cells[0], cells[1]]).inserted {
                report(index, "another table has the same row: \(cells[0])")
            } else if let tests = Self.testNames(cells[2]) {
                rows.append(Row(line: index + 1, symbol: cells[0], state: cells[1], tests: tests))
            } else {
                report(index, "tests are named in backticks, with commas between them")
            }
        }
    }

    private mutating func report(_ index: Int, _ text: String) {
        malformed.append(Problem(line: index + 1, kind: .malformed, text: text))
    }

    /// The cells between vertical bars; `\|` is a bar inside a cell.
    private static func cells(_ line: String) -> [String] {
        let bar = "\u{0}"
        var parts = line.replacingOccurrences(of: "\\|", with: bar).split(separator: "|", omittingEmptySubsequences: false)
        if parts.first?.isEmpty == true { parts.removeFirst() }
        if parts.last?.allSatisfy({ $0 == " " }) == true { parts.removeLast() }
        return parts.map { $0.replacingOccurrences(of: bar, with: "|").trimmingCharacters(in: .whitespaces) }
    }

    private static func testNames(_ cell: String) -> [String]? {
        if cell.isEmpty { return [] }
        var names: [String] = []
        for part in cell.components(separatedBy: ",") {
            let part = part.trimmingCharacters(in: .whitespaces)
            guard part.count > 2, part.hasPrefix("`"), part.hasSuffix("`") else { return nil }
            names.append(String(part.dropFirst().dropLast()))
        }
        return names
    }

    /// Claims of the ledger without a test.
    ///
    /// - Parameters:
    ///   - tests: The tests that exist.
    ///   - exceptions: Names that tests need not mention, each with the reason.
    func problems(_ tests: TestIndex, exceptions: [String: String] = [:]) -> [Problem] {
        malformed
            + rows.flatMap { row in
                var problems: [Problem] = []
                if row.saysSame, row.tests.isEmpty {
                    problems.append(Problem(line: row.line, kind: .sameWithoutTest, text: "'same' without a test: \(row.symbol)"))
                }
                var files: Set<String> = []
                for name in row.tests {
                    let found = tests.find(name)
                    files.formUnion(found.map(\.file))
                    let suites = Set(found.map { $0.target + "." + $0.suite })
                    if suites.isEmpty {
                        problems.append(Problem(line: row.line, kind: .unknownTest, text: "there is no test \(name)"))
                    } else if suites.count > 1 {
                        problems.append(
                            Problem(
                                line: row.line, kind: .ambiguousTest, text: "\(name) is in \(suites.sorted().joined(separator: " and "))"))
                    }
                }
                guard row.saysSame, !files.isEmpty else { return problems }
                let words = files.reduce(into: Set<String>()) { $0.formUnion(tests.words(of: $1)) }
                for name in row.symbol.symbolNames + row.state.claimedNames where exceptions[name] == nil {
                    let isThere = name.hasPrefix("…") ? words.contains { $0.hasSuffix(name.dropFirst()) } : words.contains(name)
                    if !isThere {
                        problems.append(
                            Problem(line: row.line, kind: .symbolWithoutTest, text: "none of the row's test files mentions \(name)"))
                    }
                }
                return problems
            }
    }
}

/// The tests in Swift sources, by target, suite and function.
struct TestIndex {
    struct Entry: Equatable {
        var target: String
        var suite: String
        var function: String
        var file: String
    }

    private(set) var entries: [Entry] = []
    private var text: [String: String] = [:]

    /// - Parameter files: Paths below `Tests`, with the target's folder first, and their text.
    init(_ files: [(path: String, text: String)]) {
        for file in files {
            guard file.text.contains("@Test") else { continue }
            // A comment shows nothing.
            text[file.path] = file.text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
            let target = String(file.path.prefix { $0 != "/" })
            var suite: String?
            var isTest = false
            // Declarations inside a conditional block are indented.
            var conditions = 0
            for line in file.text.split(separator: "\n") {
                let trimmed = line.drop { $0 == " " }
                if trimmed.hasPrefix("//") { continue }
                if trimmed.hasPrefix("#if") { conditions += 1 }
                if trimmed.hasPrefix("#endif") { conditions -= 1 }
                if line.count - trimmed.count == 4 * conditions,
                    let name = line.declaredName(["struct", "class", "extension", "enum", "actor"])
                {
                    suite = name
                }
                if trimmed.contains("@Test") { isTest = true }
                if isTest, let name = trimmed.declaredName(["func"]) {
                    entries.append(Entry(target: target, suite: suite ?? "", function: name, file: file.path))
                    isTest = false
                }
            }
        }
    }

    /// The tests of a suite, or the one function, that a name of the ledger stands for.
    func find(_ name: String) -> [Entry] {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return entries.filter { entry in
            switch parts.count {
            case 1: entry.suite == parts[0]
            case 2: entry.suite == parts[0] && entry.function == parts[1] || entry.target == parts[0] && entry.suite == parts[1]
            case 3: entry.target == parts[0] && entry.suite == parts[1] && entry.function == parts[2]
            default: false
            }
        }
    }

    /// The names in a document's backticks that look like a suite or one of its functions, and are neither that nor a target.
    func unknownNames(in document: String) -> [String] {
        let spans = document.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        return spans.filter { span in
            let parts = span.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count <= 2, parts[0].hasSuffix("Tests"), parts[0].first?.isUppercase == true, parts.allSatisfy({ $0.words == [$0] })
            else { return false }
            return find(span).isEmpty && !entries.contains { $0.target == span }
        }
    }

    /// The words of a file. A generated list of declarations shows that they compile, and nothing that they do.
    func words(of file: String) -> Set<String> {
        file.hasSuffix("Surface.swift") ? [] : Set((text[file] ?? "").words)
    }
}

extension StringProtocol {
    fileprivate var words: [String] {
        String(self).split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
    }

    /// The names inside backticks; `init` stands for a call of the type's name.
    fileprivate var symbolNames: [String] {
        components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.flatMap { span in
            span.element.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "…") }.map(String.init)
        }.filter { $0.count > 1 && $0 != "init" }
    }

    /// The names that a state claims: those of its clauses without a negation.
    fileprivate var claimedNames: [String] {
        let denials: Set = ["absent", "not", "no", "nothing", "without", "cannot", "never", "nor", "only", "t"]
        var claimed: [String] = [], names: [String] = []
        var isDenied = false, depth = 0
        func endClause() {
            if !isDenied { claimed += names }
            (names, isDenied) = ([], false)
        }
        for (index, span) in components(separatedBy: "`").enumerated() {
            guard index.isMultiple(of: 2) else {
                names += "`\(span)`".symbolNames
                continue
            }
            var clause = ""
            for character in span {
                depth += character == "(" ? 1 : character == ")" ? -1 : 0
                if depth == 0, ",;.".contains(character) {
                    if !denials.isDisjoint(with: clause.words) { isDenied = true }
                    endClause()
                    clause = ""
                } else {
                    clause.append(character)
                }
            }
            if !denials.isDisjoint(with: clause.words) { isDenied = true }
        }
        endClause()
        return claimed
    }

    /// The name behind the first of the keywords.
    fileprivate func declaredName(_ keywords: [String]) -> String? {
        let parts = words
        guard let keyword = parts.firstIndex(where: { keywords.contains($0) }), keyword + 1 < parts.count else { return nil }
        return parts[keyword + 1]
    }
}
