// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite

/// A problem with the plan of a statement.
package struct PlanProblem: Hashable, CustomStringConvertible, Sendable {
    package let statement: String
    /// The line of `EXPLAIN QUERY PLAN`; empty for a statement that SQLite does not accept.
    package let line: String
    package let reason: String

    package var description: String { "\(reason)\n    \(line)\n    \(statement)" }
}

/// A plan that is accepted although it reads more rows than the rules allow.
package struct PlanException: Sendable {
    /// The statement, or its beginning before an ellipsis; empty for all.
    let statement: String
    /// Part of the plan's line.
    let line: String
    package let reason: String

    package init(_ statement: String, _ line: String = "", because reason: String) {
        self.statement = statement
        self.line = line
        self.reason = reason
    }

    package var description: String { "\(statement) | \(line) | \(reason)" }

    package func accepts(_ problem: PlanProblem) -> Bool {
        let isStatement = statement.hasSuffix("…") ? problem.statement.hasPrefix(statement.dropLast()) : problem.statement == statement
        return (statement.isEmpty || isStatement) && (line.isEmpty || problem.line.contains(line))
    }
}

/// Reads the plans of statements on a database, and checks that each reads no more rows than its conditions select:
///
/// - No table is scanned, unless by a partial index, which has exactly the rows of its condition, or for its first row.
/// - An index is used with all columns that the conditions compare for equality, unless those used make it unique.
/// - A column that most rows share does not make a search.
/// - A statement with a LIMIT does not sort first.
///
/// Source: sqlite.org, "EXPLAIN QUERY PLAN", "The SQLite Query Optimizer Overview".
package final class PlanCheck {
    struct Failure: Error, CustomStringConvertible { let description: String }

    private let database: OpaquePointer
    private let broadColumns: Set<String>
    private var columns: [String: Set<String>] = [:]

    /// - Parameters:
    ///   - path: A database file with the schema and as many rows as matter to its statistics.
    ///   - broadColumns: Columns that most rows share. To search by them alone is to scan.
    ///   - functions: The library's own functions that triggers call, with the number of their arguments.
    package init(path: String, broadColumns: Set<String>, functions: [String: Int32] = [:]) throws {
        var database: OpaquePointer?
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let database else {
            throw Failure(description: "cannot open \(path)")
        }
        self.database = database
        self.broadColumns = broadColumns
        for (name, count) in functions {
            sqlite3_create_function_v2(
                database, name, count, SQLITE_UTF8, nil, { context, _, _ in sqlite3_result_null(context) }, nil, nil, nil)
        }
    }

    deinit { sqlite3_close_v2(database) }

    /// Gathers the statistics that `ANALYZE` makes, or removes them. The planner reads them from now on.
    package func setStatistics(_ areThere: Bool) throws {
        _ = try rows("ANALYZE", 0)
        if !areThere { _ = try rows("DELETE FROM sqlite_stat1", 0) }
        _ = try rows("ANALYZE sqlite_schema", 0)
    }

    package func execute(_ sql: String) throws { _ = try rows(sql, 0) }

    private func rows(_ sql: String, _ columns: Int32) throws -> [[String]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw Failure(description: String(cString: sqlite3_errmsg(database)))
        }
        defer { sqlite3_finalize(statement) }
        var found: [[String]] = []
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW {
            found.append((0..<columns).map { sqlite3_column_text(statement, $0).map { String(cString: $0) } ?? "" })
            code = sqlite3_step(statement)
        }
        guard code == SQLITE_DONE else { throw Failure(description: String(cString: sqlite3_errmsg(database))) }
        return found
    }

    /// Returns `true` for a whole statement.
    func isStatement(_ sql: String) -> Bool { (try? rows("EXPLAIN QUERY PLAN " + sql, 0)) != nil }

    // MARK: Checking

    package func problems(_ sql: String) -> [PlanProblem] {
        let plan: [[String]]
        do { plan = try rows("EXPLAIN QUERY PLAN " + sql, 4) } catch {
            return [PlanProblem(statement: sql, line: "", reason: "SQLite does not accept the statement: \(error)")]
        }
        let blocks = SQLBlock.blocks(of: sql)
        var problems: [PlanProblem] = []
        // Tables that the same query has positioned already, by the plan's parent node.
        var positioned: [String: [String]] = [:]
        for row in plan {
            let (parent, line) = (row[1], row[3])
            func add(_ reason: String) { problems.append(PlanProblem(statement: sql, line: line, reason: reason)) }
            if line.contains("USE TEMP B-TREE FOR"), line.contains("ORDER BY") {
                if blocks.contains(where: { $0.hasLimit && positioned[parent]?.contains(where: $0.tables.keys.contains) ?? false }) {
                    add("sorts all rows to return the first")
                }
                continue
            }
            guard let step = PlanStep(line), !step.isVirtual else { continue }
            let candidates = blocks.filter { $0.tables[step.table] != nil }
            defer { positioned[parent, default: []].append(step.table) }
            if candidates.isEmpty {
                if step.isScan, blocks.allSatisfy({ !$0.tables.values.contains(step.table) }) { continue }
                add("reads a table that the check does not find in the statement")
                continue
            }
            let sorts = plan.contains { $0[1] == parent && $0[3].contains("USE TEMP B-TREE") && $0[3].contains("ORDER BY") }
            let reasons = candidates.map { reason(against: step, of: sql, in: $0, after: positioned[parent] ?? [], sorts: sorts) }
            // A name that stands in several subqueries: one of them is this.
            if !reasons.contains(nil), let reason = reasons.first { add(reason ?? "") }
        }
        return problems
    }

    private func reason(against step: PlanStep, of sql: String, in block: SQLBlock, after positioned: [String], sorts: Bool) -> String? {
        let table = block.tables[step.table] ?? step.table
        let partial = step.index.flatMap { self.condition(of: $0) }
        let isFirstRow = block.hasLimit && !sorts
        // A subquery, or the list of tables.
        if names(of: table).isEmpty || table.hasPrefix("sqlite_") { return nil }
        if step.isAutomatic { return "builds an index for one execution" }
        if step.isScan {
            if partial != nil || isFirstRow && !block.hasConditions { return nil }
            return "scans \(table)"
        }
        if step.equalities.contains("rowid") { return nil }
        if step.equalities.isEmpty, !step.hasRange {
            // The least or the greatest: at an end of an index, of the table itself, or found by reading all.
            let ends = primaryKey(of: table).flatMap { ["MAX(\($0.uppercased()))", "MIN(\($0.uppercased()))"] }
            return step.index != nil || ends.contains(where: sql.uppercased().contains)
                ? nil : "reads all of \(table) for the least or the greatest"
        }
        if let index = step.index, isUnique(index, table), keyColumns(of: index).allSatisfy(step.equalities.contains) { return nil }
        if step.isPrimaryKey, primaryKey(of: table).allSatisfy(step.equalities.contains) { return nil }
        let known = names(of: table)
        var offered: Set<String> = []
        for equality in block.equalities {
            let owner = equality.column.table ?? (known.contains(equality.column.name) ? step.table : "")
            guard owner == step.table, known.contains(equality.column.name) else { continue }
            // The other side is known if its tables of this query are positioned before.
            let isKnown = equality.others.allSatisfy { other in
                if let name = other.table { return name != step.table && (isList(block.tables[name]) || positioned.contains(name)) }
                if known.contains(other.name) { return false }
                return block.tables.keys.allSatisfy {
                    $0 == step.table || positioned.contains($0) || !names(of: block.tables[$0] ?? "").contains(other.name)
                }
            }
            if isKnown { offered.insert(equality.column.name) }
        }
        let unused = offered.subtracting(step.equalities).subtracting(broadColumns).filter { name in
            partial.map { !$0.contains(name) } ?? true
        }
        if !unused.isEmpty {
            return "searches \(table) by \(list(step.equalities)), not by \(list(unused))"
        }
        if let index = step.index, let next = keyColumns(of: index).dropFirst(step.equalities.count).first,
            ["MAX", "MIN"].contains(where: { sql.uppercased().contains("\($0)(\(next.uppercased()))") })
        {
            return nil
        }
        if partial == nil, !step.hasRange, step.equalities.isSubset(of: broadColumns), !isFirstRow {
            return "reads all rows of \(table) with the same \(list(step.equalities))"
        }
        return nil
    }

    /// Another query's table, or a list that is an argument.
    private func isList(_ table: String?) -> Bool { table.map { names(of: $0).isEmpty } ?? true }

    private func list(_ names: Set<String>) -> String { "(" + names.sorted().joined(separator: ", ") + ")" }

    // MARK: Schema

    private func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    private func names(of table: String) -> Set<String> {
        if let known = columns[table] { return known }
        let names = Set(((try? rows("SELECT name FROM pragma_table_xinfo(\(quoted(table)))", 1)) ?? []).map { $0[0] })
        columns[table] = names
        return names
    }

    private func condition(of index: String) -> String? {
        guard let sql = try? rows("SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = \(quoted(index))", 1).first?.first,
            let range = sql.range(of: " WHERE ")
        else { return nil }
        return String(sql[range.upperBound...])
    }

    private func isUnique(_ index: String, _ table: String) -> Bool {
        let found = try? rows("SELECT \"unique\" FROM pragma_index_list(\(quoted(table))) WHERE name = \(quoted(index))", 1)
        return found?.first?.first == "1"
    }

    private func keyColumns(of index: String) -> [String] {
        ((try? rows("SELECT name FROM pragma_index_xinfo(\(quoted(index))) WHERE key = 1", 1)) ?? []).map { $0[0] }
    }

    private func primaryKey(of table: String) -> [String] {
        ((try? rows("SELECT name FROM pragma_table_xinfo(\(quoted(table))) WHERE pk > 0", 1)) ?? []).map { $0[0] }
    }
}

/// One line of a plan that reads a table.
struct PlanStep {
    let table: String
    let isScan: Bool
    var index: String?
    var isPrimaryKey = false
    var isAutomatic = false
    /// By a table-valued function, such as json_each.
    var isVirtual = false
    var equalities: Set<String> = []
    var hasRange = false

    init?(_ line: String) {
        guard line.hasPrefix("SCAN ") || line.hasPrefix("SEARCH ") else { return nil }
        isScan = line.hasPrefix("SCAN ")
        let words = line.split(separator: " ").map { String($0) }
        guard words.count >= 2, words[1] != "CONSTANT" else { return nil }
        table = words[1]
        isVirtual = line.contains(" VIRTUAL TABLE INDEX ")
        isAutomatic = line.contains(" AUTOMATIC ")
        if let place = words.lastIndex(of: "INDEX"), place + 1 < words.count { index = words[place + 1] }
        isPrimaryKey = line.contains("USING PRIMARY KEY")
        let conditions = line.hasSuffix(" LEFT-JOIN") ? line.dropLast(" LEFT-JOIN".count) : line[...]
        guard let open = conditions.range(of: " ("), conditions.hasSuffix(")") else { return }
        for term in conditions[open.upperBound...].dropLast().split(separator: " AND ") {
            if term.hasSuffix("=?") && !term.hasSuffix(">=?") && !term.hasSuffix("<=?") {
                equalities.insert(String(term.dropLast(2)))
            } else {
                hasRange = true
            }
        }
    }
}
