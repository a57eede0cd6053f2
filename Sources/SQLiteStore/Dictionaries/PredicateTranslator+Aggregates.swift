// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import PredicateKit

extension PredicateTranslator {
    /// Translates a function over all rows of a group, such as `sum:(amount)` or `@max.amount`.
    ///
    /// - Returns: nil for other expressions, including functions over the members of a relationship.
    func aggregated(_ expression: Expression) throws(StoreError) -> SQLOperand? {
        let (name, argument): (String, Expression)
        switch expression {
        case .function(let function, let arguments):
            guard Expression.aggregateFunctions.contains(function), arguments.count == 1 else { return nil }
            (name, argument) = (function, arguments[0])
        case .keyPath(let keys):
            guard let operatorIndex = keys.firstIndex(where: { Expression.aggregateOperators[$0] != nil }),
                let function = Expression.aggregateOperators[keys[operatorIndex]]
            else { return nil }
            var remainingKeys = keys
            remainingKeys.remove(at: operatorIndex)
            (name, argument) = (function, remainingKeys.isEmpty ? .selfObject : .keyPath(remainingKeys))
        default: return nil
        }
        switch argument {
        case .keyPath, .selfObject, .path: if try collection(argument) != nil { return nil }
        case .subquery, .aggregate: return nil
        default: break
        }
        var inner = self
        inner.isAggregating = false
        return try aggregate(name, of: try inner.operand(argument))
    }

    private func aggregate(_ name: String, of operand: SQLOperand) throws(StoreError) -> SQLOperand {
        if name == "count:" { return SQLOperand("COUNT(" + operand.sql + ")", .number) }
        var value = operand.sql
        if operand.kind == .decimal {
            // Decimals are summed and compared as doubles: those beyond 15 digits are stored as text in blobs.
            value = "CASE typeof(" + value + ") WHEN 'blob' THEN CAST(CAST(" + value + " AS TEXT) AS REAL) ELSE " + value + " END"
        }
        switch name {
        case "min:", "max:":
            switch operand.kind {
            case .number, .decimal, .date, .text: return SQLOperand((name == "min:" ? "MIN(" : "MAX(") + value + ")", operand.kind)
            default: throw refusal("\(operand.kind.name) has no smallest and no largest value")
            }
        case "sum:":
            guard operand.kind.isNumber else { throw refusal("\(operand.kind.name) cannot be added up") }
            return SQLOperand("IFNULL(SUM(" + value + "), 0)", operand.kind)
        default:
            guard operand.kind.isNumber else { throw refusal("\(operand.kind.name) has no average") }
            return SQLOperand("AVG(" + value + ")", .number)
        }
    }
}
