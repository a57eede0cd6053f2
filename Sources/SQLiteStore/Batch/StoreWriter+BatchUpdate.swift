// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

extension StoreWriter {
    /// Sets new values of all rows of a query, in one statement.
    ///
    /// - Throws: ``StoreError`` with `.unsupportedPredicate` for an expression without SQL, or `.constraint` when rows
    ///   would violate a uniqueness constraint.
    package func updateBatch(
        _ batch: BatchUpdate, author: String?, contextName: String?, listsKeys: Bool
    ) throws -> BatchOutcome {
        let entity = try layout.entity(batch.query.entity)
        let scope = QueryScope(entity: entity.index, names: AliasSource())
        let translator = PredicateTranslator(
            layout: layout, storeNumber: store.number, now: store.options.clock, root: scope)
        var assignments = SQLFragment("Z_OPT = Z_OPT + 1")
        for (slot, value) in batch.values {
            assignments = assignments + ", " + (try assignment(entity, slot, value, translator))
        }
        guard scope.joinClauses.isEmpty else {
            throw translator.refusal("a value is computed from the row itself, not from related objects")
        }
        var query = batch.query
        (query.sort, query.limit, query.offset) = ([], nil, 0)
        let matchingKeys = try StoreQueryTranslation(query, layout, store).primaryKeys()
        let update =
            "UPDATE \(identifier(entity.table)) AS \(scope.alias) SET " + assignments + " WHERE Z_PK IN (" + matchingKeys + ")"
        try dropFiles(of: entity, slots: batch.values.map(\.slot), where: "Z_PK IN (" + matchingKeys + ")")
        var outcome = BatchOutcome()
        let isListed = listsKeys || history.isEnabled
        let statement = try connection.statement(update.text + (isListed ? " RETURNING Z_PK, Z_ENT" : ""))
        defer { statement.reset() }
        try statement.bind(update.arguments)
        while try statement.step() {
            guard let index = layout.entityIndex(number: statement.int(1)), let entity = layout.entities[index] else { continue }
            let key = RowKey(store: store.number, entity: index, primaryKey: statement.int(0))
            if listsKeys { outcome.updated.append(key) }
            history.update(key, bits: batch.values.compactMap { entity.slotBits[$0.slot] })
            outcome.count += 1
        }
        if !isListed { outcome.count = statement.changes }
        _ = try writeHistory(author: author, contextName: contextName)
        return outcome
    }

    private func assignment(
        _ entity: StoredEntity, _ slot: Int, _ value: BatchUpdate.Value, _ translator: PredicateTranslator
    ) throws(StoreError) -> SQLFragment {
        let name = layout.model.entities[entity.index].slots[slot].name
        switch (entity.slots[slot], value) {
        case (.transient, _): throw translator.refusal("\(entity.name).\(name) is transient, so it is not in the store")
        case (.attribute(let column, .external), .constant(let value)):
            // Rows do not share files, so one statement cannot write a file: the value stays in each row.
            var encoded = StoredValueEncoding.encode(value)
            if case .blob(let data) = encoded { encoded = .blob(ExternalValue.inline(data).column) }
            return SQLFragment("\(identifier(column)) = ?", [encoded])
        case (.attribute(_, .external), .expression):
            throw translator.refusal("\(entity.name).\(name) may be kept in a file, so it takes a value and no expression")
        case (.attribute(let column, _), .constant(let value)):
            return SQLFragment("\(identifier(column)) = ?", [StoredValueEncoding.encode(value)])
        case (.attribute(let column, let kind), .expression(let expression)):
            let operand = try translator.operand(expression)
            guard operand.isNull || operand.kind == .init(kind) || (operand.kind.isNumber && SQLOperand.Kind(kind).isNumber) else {
                throw translator.refusal("\(entity.name).\(name) cannot hold \(operand.kind.name)")
            }
            let isWhole = kind == .integer && !operand.isNull
            return "\(identifier(column)) = " + (isWhole ? "CAST(" + operand.sql + " AS INTEGER)" : operand.sql)
        case (.reference(let reference), .constant(let value)):
            return try assignment(reference, value, name: "\(entity.name).\(name)", translator)
        case (.reference, .expression): throw translator.refusal("\(entity.name).\(name) takes an object, or nothing")
        }
    }

    private func assignment(
        _ reference: ReferenceColumn, _ value: StoredValue, name: String, _ translator: PredicateTranslator
    ) throws(StoreError) -> SQLFragment {
        let key = value.reference
        if key != nil, reference.orderColumn != nil { throw translator.refusal("\(name) has an ordered inverse") }
        var fragment = SQLFragment("\(identifier(reference.column)) = ?", [key.map { .int($0.primaryKey) } ?? .null])
        if let column = reference.entityColumn {
            let number = try key.map { (key) throws(StoreError) in try ownEntity(key).number }
            fragment = fragment + SQLFragment(", \(identifier(column)) = ?", [number.map { .int($0) } ?? .null])
        }
        if let column = reference.orderColumn { fragment = fragment + ", \(identifier(column)) = NULL" }
        return fragment
    }
}
