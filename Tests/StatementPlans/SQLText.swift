// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One token of an SQL statement.
struct SQLToken: Hashable {
    enum Kind { case word, quoted, literal, parameter, symbol }

    let kind: Kind
    /// Keywords in upper case are compared by ``keyword``; names without their quotes.
    let text: String

    var keyword: String { kind == .word ? text.uppercased() : "" }
    var isName: Bool { kind == .quoted || kind == .word && !Self.reserved.contains(keyword) }

    func isSymbol(_ text: String) -> Bool { kind == .symbol && self.text == text }

    private static let reserved: Set<String> = [
        "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "IS", "NULL", "EXISTS", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE",
        "END",
        "ORDER", "GROUP", "BY", "LIMIT", "OFFSET", "HAVING", "UNION", "ALL", "EXCEPT", "INTERSECT", "JOIN", "LEFT", "INNER", "CROSS",
        "OUTER",
        "ON", "USING", "AS", "SET", "VALUES", "RETURNING", "INDEXED", "DISTINCT", "INSERT", "UPDATE", "DELETE", "INTO", "ESCAPE", "COLLATE",
        "GLOB", "DO", "CONFLICT", "WITH",
    ]

    static func tokens(of sql: String) -> [SQLToken] {
        var tokens: [SQLToken] = []
        var rest = sql[...]
        func takeQuoted(_ end: Character) -> String {
            var text = ""
            rest.removeFirst()
            while let character = rest.popFirst() {
                if character != end { text.append(character); continue }
                guard rest.first == end else { break }
                text.append(end)
                rest.removeFirst()
            }
            return text
        }
        while let first = rest.first {
            if first.isWhitespace {
                rest.removeFirst()
            } else if first.isLetter || first == "_" {
                let text = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
                rest.removeFirst(text.count)
                tokens.append(SQLToken(kind: .word, text: String(text)))
            } else if first.isNumber {
                let text = rest.prefix { $0.isNumber || $0 == "." || $0 == "e" }
                rest.removeFirst(text.count)
                tokens.append(SQLToken(kind: .literal, text: String(text)))
            } else if first == "\"" || first == "`" {
                tokens.append(SQLToken(kind: .quoted, text: takeQuoted(first)))
            } else if first == "'" {
                tokens.append(SQLToken(kind: .literal, text: takeQuoted(first)))
            } else if first == "?" || first == ":" || first == "@" {
                rest.removeFirst()
                let text = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                rest.removeFirst(text.count)
                tokens.append(SQLToken(kind: .parameter, text: "?" + text))
            } else {
                let pair = String(rest.prefix(2))
                let text = ["<=", ">=", "<>", "!=", "==", "||", "->"].contains(pair) ? pair : String(first)
                rest.removeFirst(text.count)
                tokens.append(SQLToken(kind: .symbol, text: text))
            }
        }
        return tokens
    }
}

/// What one query of a statement, or one of its subqueries, reads and by which equalities.
struct SQLBlock {
    struct Column: Hashable {
        /// nil where the statement does not name it.
        let table: String?
        let name: String
    }

    struct Equality {
        let column: Column
        /// Columns on the other side.
        let others: [Column]
    }

    /// Tables by the name that the plan calls them by.
    var tables: [String: String] = [:]
    var equalities: [Equality] = []
    var hasLimit = false
    var hasConditions = false

    /// The blocks of a statement, outer ones first.
    static func blocks(of sql: String) -> [SQLBlock] {
        var blocks: [SQLBlock] = []
        read(Group.nested(SQLToken.tokens(of: sql)), &blocks)
        return blocks
    }

    /// Tokens with what stands in parentheses as one element.
    private indirect enum Group {
        case token(SQLToken)
        case group([Group])

        var token: SQLToken? { if case .token(let token) = self { token } else { nil } }
        var keyword: String { token?.keyword ?? "" }

        static func nested(_ tokens: [SQLToken]) -> [Group] {
            var stack: [[Group]] = [[]]
            for token in tokens {
                if token.isSymbol("(") {
                    stack.append([])
                } else if token.isSymbol(")"), stack.count > 1 {
                    let inner = stack.removeLast()
                    stack[stack.count - 1].append(.group(inner))
                } else {
                    stack[stack.count - 1].append(.token(token))
                }
            }
            return stack[0]
        }
    }

    private static let ends: Set<String> = ["GROUP", "ORDER", "LIMIT", "HAVING", "RETURNING", "WHERE"]
    private static let joins: Set<String> = ["JOIN", "LEFT", "INNER", "CROSS"]

    private static func read(_ groups: [Group], _ blocks: inout [SQLBlock]) {
        // The parts of a compound are queries of their own.
        for part in groups.split(whereSeparator: { ["UNION", "EXCEPT", "INTERSECT"].contains($0.keyword) }) {
            let part = Array(part)
            let hasTable = part.contains { ["FROM", "UPDATE"].contains($0.keyword) }
            if hasTable { blocks.append(SQLBlock(part)) }
            for case .group(let inner) in part { read(inner, &blocks) }
        }
    }

    private init(_ groups: [Group]) {
        var index = 0
        if groups.first?.keyword == "UPDATE" || groups.first?.keyword == "WITH" {
            if let update = groups.firstIndex(where: { $0.keyword == "UPDATE" }) {
                index = update + 1
                if groups[index].keyword == "OR" { index += 2 }
                readTable(groups, &index)
            }
        }
        while index < groups.count {
            let keyword = groups[index].keyword
            index += 1
            switch keyword {
            case "FROM": readTables(groups, &index)
            case "WHERE":
                hasConditions = true
                readConditions(groups, &index, until: Self.ends)
            case "LIMIT": hasLimit = true
            default: continue
            }
        }
    }

    private mutating func readTables(_ groups: [Group], _ index: inout Int) {
        while index < groups.count, !Self.ends.contains(groups[index].keyword) {
            let keyword = groups[index].keyword
            if keyword == "ON" {
                index += 1
                hasConditions = true
                readConditions(groups, &index, until: Self.ends.union(Self.joins))
            } else if keyword == "USING", index + 1 < groups.count, case .group(let names) = groups[index + 1] {
                // Each of the two tables may be found by the other's.
                for name in names.compactMap(\.token).filter(\.isName) {
                    for table in tables.keys {
                        let others = tables.keys.filter { $0 != table }.map { Column(table: $0, name: name.text) }
                        equalities.append(Equality(column: Column(table: table, name: name.text), others: others))
                    }
                }
                index += 2
            } else if Self.joins.contains(keyword) || keyword == "OUTER" || groups[index].token?.isSymbol(",") == true {
                index += 1
            } else {
                let before = index
                readTable(groups, &index)
                if index == before { index += 1 }
            }
        }
    }

    private mutating func readTable(_ groups: [Group], _ index: inout Int) {
        guard index < groups.count, let token = groups[index].token, token.isName else { return }
        index += 1
        var alias = token.text
        var table = token.text
        // A table-valued function with rows from an argument.
        if index < groups.count, case .group = groups[index] {
            table = ""
            index += 1
        }
        if index < groups.count, groups[index].keyword == "AS" { index += 1 }
        if index < groups.count, let name = groups[index].token, name.isName {
            alias = name.text
            index += 1
        }
        if index + 2 < groups.count, groups[index].keyword == "INDEXED" { index += 3 }
        tables[alias] = table
    }

    private mutating func readConditions(_ groups: [Group], _ index: inout Int, until ends: Set<String>) {
        let start = index
        while index < groups.count, !ends.contains(groups[index].keyword) { index += 1 }
        readConjuncts(Array(groups[start..<index]))
    }

    private mutating func readConjuncts(_ groups: [Group]) {
        var conjuncts: [[Group]] = [[]]
        var isBetween = false
        for group in groups {
            if group.keyword == "BETWEEN" { isBetween = true }
            if group.keyword == "AND", !isBetween {
                conjuncts.append([])
            } else {
                if group.keyword == "AND" { isBetween = false }
                conjuncts[conjuncts.count - 1].append(group)
            }
        }
        for conjunct in conjuncts {
            if conjunct.contains(where: { $0.keyword == "OR" }) { continue }
            if conjunct.count == 1, case .group(let inner) = conjunct[0] {
                if inner.first?.keyword != "SELECT" { readConjuncts(inner) }
                continue
            }
            readEquality(conjunct)
        }
    }

    private mutating func readEquality(_ groups: [Group]) {
        guard
            let sign = groups.firstIndex(where: {
                $0.token?.isSymbol("=") == true || $0.token?.isSymbol("==") == true || $0.keyword == "IS"
            })
        else { return }
        let left = Array(groups[..<sign]), right = Array(groups[(sign + 1)...])
        if right.first?.keyword == "NOT" || left.first?.keyword == "NOT" { return }
        for (side, other) in [(left, right), (right, left)] {
            guard let column = Self.column(side) else { continue }
            equalities.append(Equality(column: column, others: Self.columns(in: other)))
        }
    }

    private static func column(_ groups: [Group]) -> Column? {
        let tokens = groups.compactMap(\.token)
        guard tokens.count == groups.count else { return nil }
        if tokens.count == 1, tokens[0].isName { return Column(table: nil, name: tokens[0].text) }
        if tokens.count == 3, tokens[0].isName, tokens[1].isSymbol("."), tokens[2].isName {
            return Column(table: tokens[0].text, name: tokens[2].text)
        }
        return nil
    }

    /// Of an expression; those of subqueries are theirs.
    private static func columns(in groups: [Group]) -> [Column] {
        var found: [Column] = []
        var index = 0
        while index < groups.count {
            if case .group(let inner) = groups[index], inner.first?.keyword != "SELECT" { found += columns(in: inner) }
            if let token = groups[index].token, token.isName {
                if index + 2 < groups.count, groups[index + 1].token?.isSymbol(".") == true, let name = groups[index + 2].token {
                    found.append(Column(table: token.text, name: name.text))
                    index += 2
                } else if index + 1 >= groups.count || { if case .group = groups[index + 1] { false } else { true } }() {
                    found.append(Column(table: nil, name: token.text))
                }
            }
            index += 1
        }
        return found
    }
}
