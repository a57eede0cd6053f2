// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

extension StoreWriter {
    /// Encodes a value for a slot's column; writes a large one to a file.
    func encode(_ value: StoredValue, of slot: SlotLayout) throws(StoreError) -> SQLValue {
        guard case .attribute(_, .external) = slot else { return StoredValueEncoding.encode(value) }
        return try encodeExternal(value)
    }

    func encodeExternal(_ value: StoredValue) throws(StoreError) -> SQLValue {
        guard case .blob(let data) = StoredValueEncoding.encode(value) else { return .null }
        guard data.count > ExternalValue.inlineMax, let folder = layout.external else {
            return .blob(ExternalValue.inline(data).column)
        }
        let name = try folder.add(data)
        external.made.append(name)
        return .blob(ExternalValue.file(name).column)
    }

    /// Marks the files of rows as unneeded, before the rows are deleted or updated.
    ///
    /// - Parameter rows: The rows, as an SQL condition.
    func dropFiles(
        of entity: StoredEntity, slots: some Sequence<Int>, where rows: SQLFragment
    ) throws(StoreError) {
        for slot in slots {
            guard let sql = entity.filesSQL(slot) else { continue }
            let statement = try connection.statement("\(sql) AND (\(rows.text))")
            defer { statement.reset() }
            try statement.bind(rows.arguments)
            while try statement.step() {
                if case .file(let name)? = statement.blob(0).map(ExternalValue.init) { external.dropped.append(name) }
            }
        }
    }
}

extension StoredEntity {
    /// Selects a slot's column in all rows with possibly external values; nil for a slot without such values.
    func filesSQL(_ slot: Int) -> String? {
        guard case .attribute(let column, .external) = slots[slot] else { return nil }
        let quotedColumn = identifier(column)
        return "SELECT \(quotedColumn) FROM \(identifier(table)) WHERE length(\(quotedColumn)) = \(ExternalValue.referenceSize)"
    }
}
