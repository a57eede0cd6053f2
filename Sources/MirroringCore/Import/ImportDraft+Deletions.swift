// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

extension ImportDraft {
    mutating func delete(_ name: String) {
        if links.remove(name) { recordsApplied += 1 }
        guard let state = states[name], !removed.contains(name) else { return }
        // What was deleted is another object that had the same values.
        let isReverted = page.reverted[name] != nil
        if state.changeTag == nil, mapping.isUnique(state.key.entityIndex), !isReverted { return }
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
        for property in entity?.properties ?? [] where property.isToOne {
            park(ParkedRelationship.Key(source: name, relationship: property.name), at: nil)
        }
        // Links at the gone object that somebody else made at the same time would stay on the server for ever.
        for link in links.touching(name) where !deletions.contains(link.recordName) {
            // The server never had it.
            if isReverted, link.changeTag == nil { _ = links.remove(link.recordName) } else { links.markForDeletion(link.recordName) }
        }
        states[name] = nil
        removed.append(name)
    }

    mutating func logLocalEdits(of row: Row, _ state: RecordState, _ entity: EntityMapping) {
        let local = LocalRecord(row: row, names: loaded.names, parked: parked(of: state.recordName), state: state)
        for change in RecordMerge.localChanges(of: local, since: state.ancestor, entity: entity) {
            var losing = change.content.value
            // It was connected with something of a share, and deleted before it came there.
            if case .unnamed(let target) = change.content { losing = loaded.namesElsewhere[target].map { .string($0) } }
            log(losing, of: change.property, state, winner: .remoteDeletion, losing: nil, winning: nil)
        }
    }

    /// Rows keep no reference to a row that is gone. Where the server's record still names it, the name is parked,
    /// so that the emptied slot is not taken for a change made here.
    private mutating func dropReferences(to gone: RecordState) {
        var referrers = loaded.referrers[gone.key] ?? []
        // A deletion that was set aside comes when rows of the page refer to the row already.
        if isGoingTwin(gone.recordName) { referrers += rows.referrers(to: gone.key) }
        for referrer in referrers {
            guard let row = rows[referrer], let entity = mapping.entities[referrer.entityIndex] else { continue }
            let source = name(of: referrer).flatMap { states[$0] }
            for property in entity.properties where property.isToOne && row.values[property.slot] == .reference(gone.key) {
                rows.set(.null, slot: property.slot, of: referrer)
                guard let source, property.content(in: source.ancestor.fields) == .inline(.string(gone.recordName)) else { continue }
                park(ParkedRelationship.Key(source: source.recordName, relationship: property.name), at: gone.recordName)
            }
        }
    }
}
