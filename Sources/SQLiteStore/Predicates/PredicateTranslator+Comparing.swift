// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

extension PredicateTranslator {
    /// Everything but IN and BETWEEN.
    func compare(
        _ left: SQLOperand, _ operator: Comparison.Operator, _ right: SQLOperand, _ options: Comparison.Options,
        exact: Bool
    ) throws(StoreError) -> SQLFragment {
        switch `operator` {
        case .equalTo, .notEqualTo: return try equal(left, `operator` == .equalTo, right, options, exact: exact)
        case .lessThan: return try ordered(left, "<", right, options, exact: exact)
        case .lessThanOrEqualTo: return try ordered(left, "<=", right, options, exact: exact)
        case .greaterThan: return try ordered(left, ">", right, options, exact: exact)
        case .greaterThanOrEqualTo: return try ordered(left, ">=", right, options, exact: exact)
        case .beginsWith, .endsWith, .contains, .like, .matches:
            return try text(left, `operator`, right, options, exact: exact)
        case .in, .between: preconditionFailure("IN and BETWEEN take a list, not an operand")
        }
    }

    /// Whether values of both sides can be equal and ordered. As in memory, values of different kinds, such as a number
    /// and a text, are never equal and have no order.
    private func areComparable(_ left: SQLOperand, _ right: SQLOperand) throws(StoreError) -> Bool {
        if left.isNull || right.isNull { return true }
        try checkInside(left)
        try checkInside(right)
        if left.kind == right.kind { return true }
        if left.kind.isNumber, right.kind.isNumber { return true }
        if case .object = left.kind, case .object = right.kind { return true }
        return false
    }

    private func checkInside(_ operand: SQLOperand) throws(StoreError) {
        if operand.kind == .outside || operand.kind == .encoded { throw refusal("\(operand.kind.name) can only be compared with nil") }
    }

    private func equal(
        _ left: SQLOperand, _ wanted: Bool, _ right: SQLOperand, _ options: Comparison.Options, exact: Bool
    ) throws(StoreError) -> SQLFragment {
        let areComparable = try areComparable(left, right)
        if left.isNull || right.isNull {
            return (left.isNull ? right.sql : left.sql) + (wanted ? " IS NULL" : " IS NOT NULL")
        }
        // Keys of different tables may be the same number.
        var leadToOthers = false
        if case .object(let a) = left.kind, case .object(let b) = right.kind { leadToOthers = a != b }
        if !areComparable || leadToOthers {
            // Two nil values are equal, regardless of their types.
            let bothNull = left.sql + " IS NULL AND " + right.sql + " IS NULL"
            return (wanted ? "(" : "NOT (") + bothNull + ")"
        }
        if left.kind == .decimal || right.kind == .decimal {
            let test = call("TARN_EQUAL", left, right)
            return wanted ? test : "NOT " + test
        }
        let (a, b) = (folded(left, options), folded(right, options))
        if !wanted { return a.sql + " IS NOT " + b.sql }
        // Both operators find a non-null value through an index; IS also yields false for null.
        let plain = !exact && (a.constant != nil || b.constant != nil)
        return a.sql + (plain ? " = " : " IS ") + b.sql
    }

    private func ordered(
        _ left: SQLOperand, _ sign: String, _ right: SQLOperand, _ options: Comparison.Options, exact: Bool
    ) throws(StoreError) -> SQLFragment {
        guard try areComparable(left, right), !left.isNull, !right.isNull else { return SQLFragment("0") }
        if left.kind.isObject { throw refusal("objects have no order") }
        if left.kind == .decimal || right.kind == .decimal {
            return closed(call("TARN_ORDER", left, right) + " \(sign) 0", exact)
        }
        return closed(folded(left, options).sql + " \(sign) " + folded(right, options).sql, exact)
    }

    private func text(
        _ left: SQLOperand, _ operator: Comparison.Operator, _ right: SQLOperand, _ options: Comparison.Options,
        exact: Bool
    ) throws(StoreError) -> SQLFragment {
        if left.isNull || right.isNull { return SQLFragment("0") }
        try checkInside(left)
        try checkInside(right)
        guard left.kind == .text, right.kind == .text else { return SQLFragment("0") }
        let isPlain =
            options.contains(.normalized) || options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
        if `operator` == .contains, isPlain {
            return closed("instr(" + left.sql + ", " + right.sql + ") > 0", exact)
        }
        if `operator` == .beginsWith, isPlain, let prefix = right.constant?.text {
            guard let end = Self.successor(of: prefix) else { return left.sql + " IS NOT NULL" }
            let test = left.sql + " >= " + SQLFragment("?", [.text(prefix)]) + " AND " + left.sql
            return closed(test + SQLFragment(" < ?", [.text(end)]), exact)
        }
        if `operator` == .matches, let pattern = right.constant?.text {
            do { _ = try StringMatching.matches("", .matches, pattern, options) } catch { throw refusal(error.detail) }
        }
        return "TARN_STRING(" + left.sql + ", " + right.sql + ", \(`operator`.rawValue), \(options.rawValue))"
    }

    /// - Returns: The first text after all texts that begin with the prefix; nil if no such text exists.
    static func successor(of prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // Scalars on both sides of the surrogate range are neighbours.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            if let next = Unicode.Scalar(next) {
                scalars.append(next)
                return String(String.UnicodeScalarView(scalars))
            }
        }
        return nil
    }

    // MARK: IN and BETWEEN

    func between(
        _ left: SQLOperand, _ right: Expression, _ options: Comparison.Options, exact: Bool
    ) throws(StoreError) -> SQLFragment {
        let bounds: [SQLOperand]
        if case .list(let members)? = try constant(right) {
            bounds = try members.map { (member) throws(StoreError) in try operand(member) }
        } else if case .aggregate(let members) = right {
            bounds = try members.map { (member) throws(StoreError) in try operand(member) }
        } else {
            throw refusal("BETWEEN needs two bounds")
        }
        guard bounds.count == 2 else { throw refusal("BETWEEN needs two bounds, not \(bounds.count)") }
        let low = try ordered(left, ">=", bounds[0], options, exact: exact)
        return low + " AND " + (try ordered(left, "<=", bounds[1], options, exact: exact))
    }

    func membership(
        of left: SQLOperand, in right: Expression, _ options: Comparison.Options, exact: Bool
    ) throws(StoreError) -> SQLFragment {
        switch try constant(right) {
        case .list(let members)?: return try membership(of: left, in: members, options, exact: exact)
        case .null?: return SQLFragment("0")
        case let value?: return try text(try operand(value), .contains, left, options, exact: exact)
        case nil: break
        }
        guard case .aggregate(let members) = right else {
            return try text(try operand(right), .contains, left, options, exact: exact)
        }
        if members.isEmpty { return SQLFragment("0") }
        var parts: [SQLFragment] = []
        for member in members {
            parts.append("(" + (try equal(left, true, try operand(member), options, exact: exact)) + ")")
        }
        return "(" + .tree(parts, " OR ") + ")"
    }

    private func membership(
        of left: SQLOperand, in members: [PredicateValue], _ options: Comparison.Options, exact: Bool
    ) throws(StoreError) -> SQLFragment {
        try checkInside(left)
        if left.isNull { return SQLFragment(members.contains(.null) ? "1" : "0") }
        var values: [SQLValue] = []
        var exactNumbers: [(value: PredicateValue, operand: SQLOperand)] = []
        var parts: [SQLFragment] = []
        for member in members {
            if member.isNull {
                parts.append(left.sql + " IS NULL")
                continue
            }
            if case .object(let object) = member, let (value, kind) = identified(object) {
                if left.kind == kind { values.append(value) }
                continue
            }
            let memberOperand = try operand(member)
            if left.kind == .decimal || memberOperand.kind == .decimal {
                if left.kind.isNumber, memberOperand.kind.isNumber { exactNumbers.append((member, memberOperand)) }
            } else if left.kind == memberOperand.kind {
                values += folded(memberOperand, options).sql.arguments
            }
        }
        if exactNumbers.count > ValueList.inlineMax, let list = NumberList.text(exactNumbers.map { $0.value }) {
            parts.append(SQLFragment("TARN_MEMBER(?, ", [.text(left.kind.letter)]) + left.sql + SQLFragment(", ?)", [.text(list)]))
        } else {
            parts += exactNumbers.map { call("TARN_EQUAL", left, $0.operand) }
        }
        if !values.isEmpty || parts.isEmpty {
            let list = try ValueList(values).sql(refusal: refusal)
            parts.insert(closed(folded(left, options).sql + " IN (" + list + ")", exact), at: 0)
        }
        return parts.count == 1 ? parts[0] : "(" + .tree(parts, " OR ") + ")"
    }

    // MARK: Pieces

    /// Maps null to 0 if the condition must be exact.
    private func closed(_ test: SQLFragment, _ exact: Bool) -> SQLFragment { exact ? "IFNULL(" + test + ", 0)" : test }

    private func call(_ function: String, _ left: SQLOperand, _ right: SQLOperand) -> SQLFragment {
        SQLFragment("\(function)(?, ", [.text(left.kind.letter + right.kind.letter)]) + left.sql + ", " + right.sql
            + ")"
    }

    /// Text folded by options; constants are folded here, once.
    func folded(_ operand: SQLOperand, _ options: Comparison.Options) -> SQLOperand {
        guard operand.kind == .text, !options.contains(.normalized),
            !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
        else { return operand }
        if let text = operand.constant?.text {
            let folded = StringMatching.fold(text, options)
            return SQLOperand(SQLFragment("?", [.text(folded)]), .text, constant: .string(folded))
        }
        return SQLOperand("TARN_FOLD(" + operand.sql + ", \(options.rawValue))", .text)
    }
}
