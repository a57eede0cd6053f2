// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import PredicateKit

/// The condition of a partial index as SQL: comparisons of attributes with constants, joined by AND, OR and NOT.
///
/// SQLite accepts neither parameters nor application-defined functions there, so constants are literals.
///
/// Source: sqlite.org, "Partial Indexes".
struct PartialIndexCondition {
    /// Column by property name; nil for a property without one.
    let column: (String) -> String?

    /// - Returns: nil for a condition that SQLite does not accept; the index covers all rows then, which is as correct.
    func sql(_ predicate: PredicateKit.Predicate) -> String? {
        switch predicate {
        case .value(let value): value ? "1" : "0"
        case .not(let inner): sql(inner).map { "NOT (\($0))" }
        case .and(let parts): joined(parts, " AND ", empty: "1")
        case .or(let parts): joined(parts, " OR ", empty: "0")
        case .comparison(let comparison): sql(comparison)
        case .block: nil
        }
    }

    private func joined(_ parts: [PredicateKit.Predicate], _ word: String, empty: String) -> String? {
        if parts.isEmpty { return empty }
        let all = parts.map { sql($0) }
        return all.contains { $0 == nil } ? nil : "(" + all.compactMap { $0 }.joined(separator: word) + ")"
    }

    private func sql(_ comparison: Comparison) -> String? {
        guard comparison.modifier == .direct, comparison.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]),
            case .keyPath(let path) = comparison.left, path.count == 1, let column = column(path[0]),
            case .constant(let value) = comparison.right
        else { return nil }
        let quotedColumn = identifier(column)
        if value.comparable.isNull {
            switch comparison.operator {
            case .equalTo: return "\(quotedColumn) IS NULL"
            case .notEqualTo: return "\(quotedColumn) IS NOT NULL"
            default: return nil
            }
        }
        guard let literal = literal(value) else { return nil }
        switch comparison.operator {
        case .equalTo: return "\(quotedColumn) = \(literal)"
        case .notEqualTo: return "(\(quotedColumn) <> \(literal) OR \(quotedColumn) IS NULL)"
        case .lessThan: return "\(quotedColumn) < \(literal)"
        case .lessThanOrEqualTo: return "\(quotedColumn) <= \(literal)"
        case .greaterThan: return "\(quotedColumn) > \(literal)"
        case .greaterThanOrEqualTo: return "\(quotedColumn) >= \(literal)"
        default: return nil
        }
    }

    private func literal(_ value: PredicateValue) -> String? {
        switch value {
        case .bool(let value): value ? "1" : "0"
        case .int(let value): "\(value)"
        case .double(let value), .date(let value): value.isFinite ? "\(value)" : nil
        case .string(let value), .url(let value):
            value.utf8.contains(0) ? nil : textLiteral(value)
        default: nil
        }
    }
}
