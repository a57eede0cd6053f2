// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

extension ImportDraft {
    mutating func delete(_ name: String) {
        if links.remove(name) { recordsApplied += 1 }
        guard let state = states[name], !removed.contains(name) else { return }
        recordsApplied += 1
        if state.isMovedOut {
            // The object lives on elsewhere.
            states[name] = nil
            removed.append(name)
            return
        }
        let entity = mapping.entities[state.key.entityIndex]
        if let entity, let row = rows[state.key] {
            // As it was before the page: what another deletion of the page took from it is no edit.
            logLocalEdits(of: loaded.rows[state.key] ?? row, state, entity)
            rows.delete(state.key)
            dropReferences(to: state)
        }
        for property in entity?.properties ?? [] {
            park(ParkedRelationship.Key(source: name, relationship: property.name), at: nil)
        }
        // Links at the gone object that somebody else made at the same time would stay on the server for ever.
        for link in links.touching(name) where !page.deletions.contains(link.recordName) { links.markForDeletion(link.recordName) }
        states[name] = nil
        removed.append(name)
    }

    private mutating func logLocalEdits(of row: Row, _ state: RecordState, _ entity: EntityMapping) {
        let local = LocalRecord(row: row, names: loaded.names, parked: parked(of: state.recordName))
        for change in RecordMerge.localChanges(of: local, since: state.ancestor, entity: entity) {
            log(change.content.value, of: change.property, state, winner: .remoteDeletion, losing: nil, winning: nil)
        }
    }

    /// Rows keep no reference to a row that is gone. Where the server's record still names it, the name is parked,
    /// so that the emptied slot is not taken for a change made here.
    private mutating func dropReferences(to gone: RecordState) {
        for referrer in loaded.referrers[gone.key] ?? [] {
            guard let row = rows[referrer], let entity = mapping.entities[referrer.entityIndex] else { continue }
            let source = names[referrer].flatMap { states[$0] }
            for property in entity.properties where row.values[property.slot] == .reference(gone.key) {
                rows.set(.null, slot: property.slot, of: referrer)
                guard let source, property.content(in: source.ancestor.fields) == .inline(.string(gone.recordName)) else { continue }
                park(ParkedRelationship.Key(source: source.recordName, relationship: property.name), at: gone.recordName)
            }
        }
    }
}
