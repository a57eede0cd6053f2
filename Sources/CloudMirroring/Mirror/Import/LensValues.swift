// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import SQLiteStore

/// Values of attributes that lenses derive from others.
struct LensValues: FileTransactions {
    let file: MirrorFile

    /// Rows of one change of the store.
    private static let filledRowsMax = 500

    /// Gives rows that were written before a lens was declared the values of its later attributes, before the app reads them.
    ///
    /// - Throws: `StoreError` for a file that cannot be written. The lenses are filled when sync opens the store.
    func fill() throws {
        let lenses = FilledLenses(mapping)
        if lenses.isEmpty { return }
        // Most launches have no new lens, and write nothing.
        let isFilled = try store.read { try $0.hasTable(StateTable.name) && StateTable.text(.lenses, $0) == lenses.text }
        if isFilled { return }
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try fill(writer)
        }
    }

    /// The transaction has the author of imports: devices with these lenses read the same values from the record, so nothing is sent.
    func fill(_ writer: StoreWriter) throws {
        let lenses = FilledLenses(mapping).text
        let stored = try StateTable.text(.lenses, writer)
        if stored ?? "" == lenses { return }
        let metadata = reader(writer)
        for (entity, new) in FilledLenses(text: stored).missing(from: mapping) {
            let keys = try writer.fetchKeys(StoreQuery(entity: entity.entity.index, includesSubentities: false))
            for start in stride(from: 0, to: keys.count, by: Self.filledRowsMax) {
                var changes = StoreChanges()
                changes.author = MirrorNames.importAuthor
                let batch = Array(keys[start..<min(start + Self.filledRowsMax, keys.count)])
                let records = try metadata.records(of: batch)
                let bases = Dictionary(records.map { ($0.key, $0.ancestor) }, uniquingKeysWith: { first, _ in first })
                for row in try writer.rows(batch) {
                    guard let (filled, slots) = entity.filled(row, since: bases[row.key], by: new) else { continue }
                    changes.updates.append(
                        RowUpdate(key: row.key, expectedVersion: row.version, values: filled.values, changedSlots: slots))
                }
                if !changes.isEmpty { try writer.apply(changes) }
            }
        }
        try StateTable.set(.lenses, .text(lenses), writer)
    }
}
