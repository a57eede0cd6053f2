// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
package import ManagedModel
import PredicateKit

/// The rows of a store without its model, read with the derived one. Nothing in the store's folder changes.
///
///     let contents = try StoreContents(of: url, options: options)
///     let query = try contents.query("Car", where: "maker == 'FIAT'", limit: 20)
///     let rows = try contents.read { try $0.fetch(query) }
package struct StoreContents: Sendable {
    package let derived: DerivedModel
    package let model: ResolvedModel
    private let store: SQLiteStore

    /// - Throws: ``StoreError``: those of ``DerivedModel``, or `.incompatibleModel` for tables that do not fit the model.
    package init(of url: URL, options: SQLiteStore.Options) throws(StoreError) {
        derived = try DerivedModel(ofStoreAt: url)
        do throws(ModelError) { model = try ResolvedModel(derived.model) } catch {
            throw StoreError(.incompatibleModel, "the store's model is not sound", detail: error.description)
        }
        var options = options
        options.isReadOnly = true
        options.isInspection = true
        store = try SQLiteStore(url: url, model: model, number: 1, options: options)
    }

    /// Runs `body` on one consistent snapshot; the reader must not leave the closure.
    package func read<T>(_ body: (StoreReader) throws -> T) throws -> T { try store.read(body) }

    /// - Parameters:
    ///   - format: A predicate in Apple's format; nil for all rows.
    ///   - sort: Comma-separated key paths, each with a leading minus for descending order; nil for the order of keys.
    /// - Throws: ``StoreError``: `.notFound` for an unknown entity, `.unsupportedPredicate` with the reason.
    package func query(
        _ entity: String, where format: String? = nil, sort: String? = nil, limit: Int? = nil, offset: Int = 0
    ) throws(StoreError) -> StoreQuery {
        guard let resolved = model.entity(named: entity) else {
            throw StoreError(.notFound, "the store has no such entity", detail: entity)
        }
        var query = StoreQuery(entity: resolved.index, limit: limit, offset: offset)
        if let format {
            do throws(PredicateFailure) { query.predicate = try PredicateKit.Predicate(format: format) } catch {
                throw StoreError(.unsupportedPredicate, "the predicate cannot be read", detail: "\(error)")
            }
        }
        query.sort = (sort ?? "").split(separator: ",").map { part in
            let key = part.trimmingCharacters(in: .whitespaces)
            let path = (key.hasPrefix("-") ? key.dropFirst() : key[...]).split(separator: ".").map(String.init)
            return SortKey(keyPath: path, ascending: !key.hasPrefix("-"))
        }
        for key in query.sort where resolved.location(of: key.keyPath.first ?? "") == nil {
            throw StoreError(
                .unsupportedPredicate, "the entity has no property to sort by", detail: "\(entity).\(key.keyPath.joined(separator: "."))")
        }
        return query
    }
}

extension StoreReader {
    /// Passes the rows of one entity to `body`, without those of its subentities, in order of their keys and without
    /// caching them.
    ///
    /// - Throws: The error of `body`, or ``StoreError`` with `.corrupt` for a table with keys that do not ascend.
    package func forEachRow(of index: Int, _ body: (Row) throws -> Void) throws {
        let entity = try layout.entity(index)
        let statement = try connection.passingStatement(
            """
            SELECT \(entity.shape.selectList("t0")) FROM \(identifier(entity.table)) t0 \
            WHERE +t0.Z_ENT = \(entity.number) ORDER BY t0.Z_PK
            """)
        defer { statement.reset() }
        var last: Int64?
        while try statement.step() {
            guard let row = entity.shape.decode(statement, layout, store: store.number) else { continue }
            // A damaged file may repeat the same page endlessly.
            if let last, row.key.primaryKey <= last {
                throw StoreError(.corrupt, "the keys of a table do not ascend", detail: entity.table)
            }
            last = row.key.primaryKey
            try body(row)
        }
    }
}
