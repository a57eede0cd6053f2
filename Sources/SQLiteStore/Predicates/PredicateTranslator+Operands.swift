// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

extension PredicateTranslator {
    /// An expression that has one value for each row.
    func operand(_ expression: Expression) throws(StoreError) -> SQLOperand {
        if let constant = try constant(expression) { return try operand(constant) }
        if isAggregating, let operand = try aggregated(expression) { return operand }
        switch expression {
        case .keyPath, .selfObject, .variable, .path: return try operand(atPath: expression)
        case .function(let name, let arguments): return try function(name, arguments)
        case .conditional(let predicate, let first, let second):
            let (first, second) = (try operand(first), try operand(second))
            let areNumbers = first.kind.isNumber && second.kind.isNumber
            guard first.kind == second.kind || areNumbers || first.isNull || second.isNull else {
                throw refusal("both results of a conditional expression must be of one kind")
            }
            let test = try condition(predicate)
            return SQLOperand(
                "CASE WHEN " + test + " THEN " + first.sql + " ELSE " + second.sql + " END",
                first.isNull ? second.kind : areNumbers && second.kind == .decimal ? .decimal : first.kind)
        case .subquery: throw refusal("a SUBQUERY is a collection; compare its @count, or its members by ANY and ALL")
        case .aggregate: throw refusal("a list may only stand on the right of IN and BETWEEN")
        case .constant(let value): return try operand(value.comparable)
        case .combination(let operation, _, _): throw refusal("\(operation.rawValue) cannot be expressed in SQL")
        case .message(_, let name, _):
            guard let test = expression.messageAsComparison else {
                throw refusal("the method \(name) cannot be expressed in SQL")
            }
            return SQLOperand("(" + (try condition(.comparison(test), exact: true)) + ")", .number)
        case .anyKey: throw refusal("ANYKEY cannot be expressed in SQL")
        case .block: throw refusal("an expression made from a block cannot run in a store")
        }
    }

    private func operand(atPath expression: Expression) throws(StoreError) -> SQLOperand {
        switch expression {
        case .keyPath(let keys) where keys.contains(where: { $0.hasPrefix("@") }):
            return try aggregate(of: .selfObject, keys)
        case .path(let base, let keys) where keys.contains(where: { $0.hasPrefix("@") }):
            return try aggregate(of: base, keys)
        default: break
        }
        guard let (keys, scope) = path(expression) else {
            if case .variable(let name) = expression { throw refusal("the variable $\(name) has no value") }
            if try collection(expression) != nil { throw toManyRefusal(expression) }
            throw refusal("this path cannot be expressed in SQL: \(expression.formatDescription)")
        }
        switch try target(keys[...], in: scope) {
        case .operand(let operand): return operand
        case .collection: throw toManyRefusal(expression)
        }
    }

    // MARK: Constants

    func constant(_ expression: Expression) throws(StoreError) -> PredicateValue? {
        do { return try expression.constantValue(now: now) } catch { throw refusal(error.detail) }
    }

    func operand(_ value: PredicateValue) throws(StoreError) -> SQLOperand {
        if let (value, kind) = value.sqlValue {
            return SQLOperand(SQLFragment("?", [value]), kind, constant: self.kept(value, kind))
        }
        guard case .object(let object) = value else {
            throw refusal("a list may only stand on the right of IN and BETWEEN")
        }
        if let (value, kind) = identified(object) { return SQLOperand(SQLFragment("?", [value]), kind, constant: .object(object)) }
        if let described = object.reference as? any EntityIdentified {
            let entity = layout.entities.lazy.compactMap { $0 }.first { $0.name == described.identifiedEntityName }
            return SQLOperand(SQLFragment("?", [.int(entity?.number ?? .min)]), .entity, constant: value)
        }
        throw refusal("only managed objects and their identifiers can be looked up in a store")
    }

    /// - Returns: The key of a managed object or its identifier; nil for other objects.
    func identified(_ object: PredicateObject) -> (value: SQLValue, kind: SQLOperand.Kind)? {
        guard let identified = object.reference as? any RowIdentified else { return nil }
        // An object of another store, or one that was never saved, equals no row; keys in tables are never negative.
        guard let key = identified.rowKey, key.store == storeNumber, layout.model.entities.indices.contains(key.entityIndex)
        else { return (.int(.min), .object(root: -1)) }
        return (.int(key.primaryKey), .object(root: layout.model.entities[key.entityIndex].root))
    }

    private func kept(_ value: SQLValue, _ kind: SQLOperand.Kind) -> PredicateValue {
        PredicateValue(value, kind: kind.letter.utf8.first ?? UInt8(ascii: "-"))
    }

    // MARK: Functions

    private func function(_ name: String, _ arguments: [Expression]) throws(StoreError) -> SQLOperand {
        if PredicateFunctions.volatile.contains(name) { throw refusal("\(name) has another value each time") }
        if PredicateFunctions.isStatistic(name), arguments.count == 1, let chain = try collection(arguments[0]) {
            return try aggregate(name, of: chain)
        }
        // The second argument of indexed:by: names an index, which SQLite chooses itself.
        if name == "noindex:" || name == "indexed:by:" { return try operand(arguments[0]) }
        var operands: [SQLOperand] = []
        for argument in arguments {
            if case .aggregate(let members) = argument {
                for member in members { operands.append(try operand(member)) }
            } else {
                operands.append(try operand(argument))
            }
        }
        guard !operands.contains(where: \.kind.isObject) else {
            throw refusal("\(name) does not take objects")
        }
        return try apply(name, operands)
    }

    /// A function of the predicate language, computed by its implementation for memory.
    func apply(_ name: String, _ operands: [SQLOperand]) throws(StoreError) -> SQLOperand {
        let kinds = operands.map(\.kind.letter).joined()
        let head = SQLFragment("TARN_APPLY(?, ?", [.text(kinds), .text(name)])
        let list = operands.reduce(head) { $0 + ", " + $1.sql }
        return SQLOperand(list + ")", try resultKind(name, operands))
    }

    private func resultKind(_ name: String, _ operands: [SQLOperand]) throws(StoreError) -> SQLOperand.Kind {
        let kinds = operands.map(\.kind)
        switch name {
        case "uppercase:", "lowercase:", "canonical:": return .text
        case "castObject:toType:":
            let results: [String: SQLOperand.Kind] = [
                "NSDate": .date, "NSNumber": .number, "NSDecimalNumber": .decimal, "NSString": .text, "NSUUID": .uuid,
                "NSURL": .text, "NSData": .data,
            ]
            guard operands.count == 2, let type = operands[1].constant?.text, let kind = results[type] else {
                throw refusal("CAST needs the name of a type")
            }
            return kind
        case "min:", "max:", "sum:", "add:to:", "from:subtract:", "multiply:by:", "divide:by:":
            let dates = kinds.filter { $0 == .date }.count
            if dates > 0 { return name == "from:subtract:" && dates == 2 ? .number : .date }
            if kinds.contains(.decimal) { return .decimal }
            return kinds.contains(.text) ? .text : .number
        default: return .number
        }
    }
}
