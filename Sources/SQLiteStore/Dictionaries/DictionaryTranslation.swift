// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
import PredicateKit

/// A query for dictionaries as SQL.
struct DictionaryTranslation {
    /// The decoding of a result column.
    enum Reading {
        case value(SQLOperand.Kind)
        case attribute(StorageKind)
        /// A key, and in the next column the number of its entity if the row has it.
        case object(entity: Int, hasNumber: Bool)
    }

    let sql: SQLFragment
    let readings: [Reading]

    /// - Throws: ``StoreError`` with `.unsupportedPredicate` and the reason.
    init(_ query: DictionaryQuery, _ layout: StoreLayout, _ store: SQLiteStore) throws(StoreError) {
        let entity = try layout.entity(query.rows.entity)
        let root = QueryScope(entity: query.rows.entity, names: AliasSource())
        let translator = PredicateTranslator(layout: layout, storeNumber: store.number, now: store.options.clock, root: root)
        var aggregating = translator
        aggregating.isAggregating = true

        var columns: [SQLFragment] = []
        var readings: [Reading] = []
        for column in query.columns {
            if !query.groups.isEmpty, !query.groups.contains(column.expression), !column.expression.isAggregate,
                !column.expression.isConstant
            {
                throw translator.refusal("'\(column.name)' is neither grouped by nor computed from the group")
            }
            let operand = try aggregating.operand(column.expression)
            columns.append(operand.sql)
            let (reading, number) = try Self.reading(column.expression, operand, translator)
            if let number { columns.append(number) }
            readings.append(reading)
        }
        let conditions = try StoreQueryTranslation.conditions(query.rows, entity, translator)
        var groups: [SQLFragment] = []
        for group in query.groups { groups.append(try translator.operand(group).sql) }
        let aliases = Dictionary(keepingFirst: query.columns.map { ($0.name, $0.expression) })
        var having: SQLFragment?
        if let predicate = query.having { having = try aggregating.condition(predicate.naming(aliases)) }
        let isRows = !query.isGrouped && !query.isDistinct
        let order = try StoreQueryTranslation.order(query.rows.sort, aggregating, aliases: aliases, endsByKey: isRows)

        var sql = (query.isDistinct ? "SELECT DISTINCT " : "SELECT ") + SQLFragment.joined(columns, ", ")
        sql = sql + " FROM \(identifier(entity.table)) t0\(root.joinClauses)"
        if !conditions.isEmpty { sql = sql + " WHERE " + .joined(conditions, " AND ") }
        if !groups.isEmpty { sql = sql + " GROUP BY " + .joined(groups, ", ") }
        if let having { sql = sql + " HAVING " + having }
        if let order { sql = sql + " ORDER BY " + order }
        if query.rows.limit != nil || query.rows.offset > 0 {
            sql = sql + SQLFragment(" LIMIT ? OFFSET ?", [.int(Int64(query.rows.limit ?? -1)), .int(Int64(query.rows.offset))])
        }
        self.sql = sql
        self.readings = readings
    }

    /// - Returns: The decoding of the column, and an additional column to read.
    private static func reading(
        _ expression: Expression, _ operand: SQLOperand, _ translator: PredicateTranslator
    ) throws(StoreError) -> (Reading, SQLFragment?) {
        guard !expression.isAggregate, let (keys, scope) = translator.path(expression) else { return (.value(operand.kind), nil) }
        return try reading(keys[...], scope, operand, translator)
    }

    private static func reading(
        _ keys: ArraySlice<String>, _ scope: QueryScope, _ operand: SQLOperand, _ translator: PredicateTranslator
    ) throws(StoreError) -> (Reading, SQLFragment?) {
        let placed = try translator.layout.entity(scope.entity)
        guard let key = keys.first, key != "objectID", key.lowercased() != "self" else {
            return (.object(entity: scope.entity, hasNumber: true), SQLFragment("\(scope.alias).Z_ENT"))
        }
        guard case .slot(let slot)? = translator.layout.model.entities[scope.entity].location(of: key) else {
            return (.value(operand.kind), nil)
        }
        switch placed.slots[slot] {
        case .attribute(_, let kind): return (.attribute(kind), nil)
        case .transient: return (.value(operand.kind), nil)
        case .reference(let reference):
            let remainingKeys = keys.dropFirst()
            if remainingKeys.isEmpty || remainingKeys == ["objectID"] || remainingKeys == ["self"] {
                let number = reference.entityColumn.map { SQLFragment("\(scope.alias).\(identifier($0))") }
                return (.object(entity: reference.destination, hasNumber: number != nil), number)
            }
            let table = try translator.layout.entity(reference.destination).table
            return try reading(remainingKeys, scope.destination(key, reference, table: table), operand, translator)
        }
    }

    /// Decodes one row of the result.
    func values(_ statement: PreparedStatement, _ layout: StoreLayout, store: UInt16) -> [StoredValue] {
        var column: Int32 = 0
        return readings.map { reading in
            defer { column += 1 }
            if statement.isNull(column) {
                if case .object(_, true) = reading { column += 1 }
                return .null
            }
            switch reading {
            case .attribute(.external): return ReadShape.external(column, statement, layout)
            case .attribute(let kind): return kind.decode(statement, column)
            case .value(let kind): return Self.value(statement, column, kind)
            case .object(let entity, let hasNumber):
                let key = statement.int(column)
                guard hasNumber else { return .reference(RowKey(store: store, entity: entity, primaryKey: key)) }
                column += 1
                return .reference(
                    RowKey(store: store, entity: layout.entityIndex(number: statement.int(column)) ?? entity, primaryKey: key))
            }
        }
    }

    private static func value(_ statement: PreparedStatement, _ place: Int32, _ kind: SQLOperand.Kind) -> StoredValue {
        switch (kind, statement.value(place)) {
        case (_, .null): .null
        case (.decimal, let value): DecimalStorage.decode(value).map(StoredValue.decimal) ?? .null
        case (.date, .double), (.date, .int): .date(statement.double(place))
        case (.uuid, _): statement.uuid(place).map(StoredValue.uuid) ?? .null
        case (_, .int(let value)): .int(value)
        case (_, .double(let value)): .double(value)
        case (_, .text(let value)): .string(value)
        case (_, .blob(let value)): .data(value)
        }
    }
}

extension StoreReader {
    /// - Returns: One value per column, for each result.
    package func values(_ query: DictionaryQuery) throws -> [[StoredValue]] {
        let translation = try DictionaryTranslation(query, layout, store)
        let statement = try connection.statement(translation.sql.text)
        defer { statement.reset() }
        try statement.bind(translation.sql.arguments)
        var results: [[StoredValue]] = []
        while try statement.step() { results.append(translation.values(statement, layout, store: store.number)) }
        return results
    }

    /// Returns the number of results.
    package func count(_ query: DictionaryQuery) throws -> Int {
        let sql = try DictionaryTranslation(query, layout, store).sql
        return try connection.first("SELECT COUNT(*) FROM (\(sql.text))", sql.arguments) { Int($0.int(0)) } ?? 0
    }
}

extension PredicateKit.Predicate {
    /// The predicate with column names, also as variables, replaced by the columns' expressions.
    fileprivate func naming(_ columns: [String: Expression]) -> PredicateKit.Predicate {
        mapExpressions { expression in
            switch expression {
            case .variable(let name): columns[name] ?? expression
            case .keyPath(let keys): keys.count == 1 ? columns[keys[0]] ?? expression : expression
            default: expression
            }
        }
    }
}

extension Expression {
    fileprivate var isConstant: Bool { if case .constant = self { true } else { false } }
}
