// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Unsent objects that must be deleted because a required target is deleted.
///
/// Their values go to the conflict log, as after a deletion on another device.
package struct RemovedRows: Sendable {
    /// Without the rows that are deleted anyway.
    package private(set) var keys: [RowKey] = []
    package private(set) var conflicts: [ConflictEntry] = []

    /// - Parameters:
    ///   - gone: Rows that are deleted.
    ///   - others: Rows that would stay, each with its metadata.
    ///   - names: Record names of the to-one targets of rows.
    package init(
        with gone: [RowKey], among others: [(row: Row, state: RecordState)], names: [RowKey: String], mapping: RecordMapping
    ) {
        var going = Set(gone)
        var isSettled = !mapping.hasRequirements
        while !isSettled {
            isSettled = true
            for (row, state) in others where !going.contains(row.key) {
                guard let entity = mapping.entities[row.key.entityIndex],
                    entity.required.contains(where: { row.values[$0.slot].reference.map { going.contains($0) } ?? false })
                else { continue }
                going.insert(row.key)
                keys.append(row.key)
                let local = LocalRecord(row: row, of: entity, names: names, parked: [:], state: state)
                for change in RecordMerge.localChanges(of: local, entity: entity) {
                    conflicts.append(
                        ConflictEntry(
                            entity: entity.name, recordName: state.recordName, property: change.property.name,
                            losing: change.content.value, winner: .remoteDeletion, losingStamp: nil, winningStamp: nil))
                }
                isSettled = false
            }
        }
    }
}
