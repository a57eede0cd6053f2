// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

/// The tables of a store written by Apple's framework, as part of the metadata that apps read.
///
/// With them, a model is compared with the store's metadata alone, with the same result as opening the store.
package struct ForeignTables: Codable {
    private let store: ForeignStore
    private let numbers: [String: Int64]
    private let columns: [String: [String]]

    init(_ connection: Connection, _ metadata: StoreMetadata) throws(StoreError) {
        var numbers: [String: Int64] = [:]
        do {
            try connection.query("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY") { row in
                if let name = row.text(0) { numbers[name] = row.int(1) }
            }
        } catch { throw StoreError(error) }
        self.numbers = numbers
        columns = try connection.tableColumns()
        store = try ForeignStore(connection, metadata, numbers)
    }

    /// Whether a store opens with a model without a migration.
    ///
    /// - Parameter metadata: The result of ``SQLiteStore/metadata(at:)``.
    /// - Returns: nil for metadata without a description of tables.
    package static func fit(_ metadata: [String: Any], _ model: Model, configuration: String?) -> Bool? {
        guard let data = metadata[StoreFormat.MetadataKey.tables] as? Data,
            let tables = try? JSONDecoder().decode(ForeignTables.self, from: data)
        else { return nil }
        guard let resolved = try? ResolvedModel(model) else { return false }
        do throws(StoreError) {
            try tables.check(resolved, configuration)
            return true
        } catch {
            return false
        }
    }

    private func check(_ model: ResolvedModel, _ configuration: String?) throws(StoreError) {
        var existing = StoreLayoutBuilder.Existing()
        existing.columns = columns
        existing.numbers = numbers
        var builder = try StoreLayoutBuilder(model, configuration: configuration, existing: existing)
        try store.check(against: try builder.build(), columns)
    }
}

extension StoreMetadata {
    /// The metadata that apps see, with a description of the tables of a store that was not opened here yet.
    func visible(identifier: String, _ connection: Connection) -> [String: Any] {
        var visible = visible(identifier: identifier)
        if formatVersion == nil, let tables = try? ForeignTables(connection, self), let data = try? JSONEncoder().encode(tables) {
            visible[StoreFormat.MetadataKey.tables] = data
        }
        return visible
    }
}
