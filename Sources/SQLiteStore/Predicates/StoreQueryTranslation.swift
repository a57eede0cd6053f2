// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

/// A query as SQL.
struct StoreQueryTranslation {
    private let entity: StoredEntity
    private let tail: SQLFragment
    private let isCut: Bool

    /// - Throws: ``StoreError`` with `.unsupportedPredicate` and the reason.
    init(_ query: StoreQuery, _ layout: StoreLayout, _ store: SQLiteStore) throws(StoreError) {
        entity = try layout.entity(query.entity)
        let root = QueryScope(entity: query.entity, names: AliasSource())
        let translator = PredicateTranslator(
            layout: layout, storeNumber: store.number, now: store.options.clock, root: root)
        let conditions = try Self.conditions(query, entity, translator)
        let order = try Self.order(query.sort, translator)

        var tail = SQLFragment(" FROM \(identifier(entity.table)) t0\(root.joinClauses)")
        if !conditions.isEmpty { tail = tail + " WHERE " + .joined(conditions, " AND ") }
        if let order { tail = tail + " ORDER BY " + order }
        isCut = query.limit != nil || query.offset > 0
        if isCut {
            tail = tail + SQLFragment(" LIMIT ? OFFSET ?", [.int(Int64(query.limit ?? -1)), .int(Int64(query.offset))])
        }
        self.tail = tail
    }

    func rows() -> SQLFragment { "SELECT \(entity.shape.selectList("t0"))" + tail }
    func keys() -> SQLFragment { "SELECT t0.Z_PK, t0.Z_ENT" + tail }
    func primaryKeys() -> SQLFragment { "SELECT t0.Z_PK" + tail }
    func count() -> SQLFragment { isCut ? "SELECT COUNT(*) FROM (SELECT 1" + tail + ")" : "SELECT COUNT(*)" + tail }

    static func conditions(
        _ query: StoreQuery, _ entity: StoredEntity, _ translator: PredicateTranslator
    ) throws(StoreError) -> [SQLFragment] {
        var conditions: [SQLFragment] = []
        let numbers = query.includesSubentities ? entity.hierarchyNumbers : [entity.number]
        if !entity.ownsTable || numbers.count < entity.hierarchyNumbers.count {
            let list = numbers.map { String($0) }.joined(separator: ", ")
            conditions.append(SQLFragment(numbers.count == 1 ? "t0.Z_ENT = \(list)" : "t0.Z_ENT IN (\(list))"))
        }
        if let predicate = query.predicate { conditions.append("(" + (try translator.condition(predicate)) + ")") }
        return conditions
    }

    /// - Parameters:
    ///   - aliases: Expressions of computed columns, by name.
    ///   - endsByKey: Whether ties are ordered by primary key.
    static func order(
        _ keys: [SortKey], _ translator: PredicateTranslator, aliases: [String: Expression] = [:], endsByKey: Bool = true
    ) throws(StoreError) -> SQLFragment? {
        guard let last = keys.last else { return nil }
        var parts: [SQLFragment] = []
        for key in keys {
            let alias = key.keyPath.count == 1 ? aliases[key.keyPath[0]] : nil
            let operand = try translator.operand(alias ?? .keyPath(key.keyPath))
            let direction = key.ascending ? " ASC" : " DESC"
            switch operand.kind {
            case .object, .entity:
                throw translator.refusal("objects have no order: \(key.keyPath.joined(separator: "."))")
            case .decimal:
                // Digits beyond a double's precision do not affect the order. Differs: in memory they do.
                let value = operand.sql
                let number =
                    "CASE typeof(" + value + ") WHEN 'blob' THEN CAST(CAST(" + value + " AS TEXT) AS REAL) ELSE "
                parts.append(number + value + " END" + direction)
            case .text where key.collation != nil:
                parts.append(operand.sql + " COLLATE \(key.collation?.rawValue ?? "BINARY")" + direction)
            default: parts.append(translator.folded(operand, key.options).sql + direction)
            }
        }
        // Ties have a defined order, the one in which an index returns them.
        if endsByKey { parts.append(SQLFragment("t0.Z_PK\(last.ascending ? " ASC" : " DESC")")) }
        return .joined(parts, ", ")
    }
}
