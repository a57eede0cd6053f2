// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import SQLiteStore

extension MirrorFile {
    /// Rows of one change of the store.
    private static let filledRowsMax = 500

    /// Gives rows that were written before a lens was declared the values of its later attributes, before the app reads them.
    ///
    /// - Throws: `StoreError` for a file that cannot be written. The lenses are filled when sync opens the store.
    func fillLenses() throws {
        if mapping.lensSignature.isEmpty { return }
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try fillLenses(writer)
        }
    }

    /// The transaction has the author of imports: devices with these lenses read the same values from the record, so nothing is sent.
    func fillLenses(_ writer: StoreWriter) throws {
        let signature = mapping.lensSignature
        if try StateTable.text(.lenses, writer) ?? "" == signature { return }
        let metadata = reader(writer)
        for entity in mapping.entities.values where !entity.lenses.isEmpty && !entity.entity.isAbstract {
            let keys = try writer.fetchKeys(StoreQuery(entity: entity.entity.root)).filter { $0.entityIndex == entity.entity.index }
            for start in stride(from: 0, to: keys.count, by: Self.filledRowsMax) {
                var changes = StoreChanges()
                changes.author = MirrorNames.importAuthor
                for row in try writer.rows(Array(keys[start..<min(start + Self.filledRowsMax, keys.count)])) {
                    guard let (filled, slots) = entity.filled(row, since: try metadata.record(of: row.key)?.ancestor) else { continue }
                    changes.updates.append(
                        RowUpdate(key: row.key, expectedVersion: row.version, values: filled.values, changedSlots: slots))
                }
                if !changes.isEmpty { try writer.apply(changes) }
            }
        }
        try StateTable.set(.lenses, .text(signature), writer)
    }
}
