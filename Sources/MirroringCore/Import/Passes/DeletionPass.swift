// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Applies the page's deletions. It runs before records, so that nothing is resolved to a row that is deleted.
struct DeletionPass {
    /// - Parameter postponed: Deletions that the end of the import decides on.
    static func run(_ postponed: Set<String>, _ work: inout ImportWorkspace) {
        for name in work.page.deletions {
            if postponed.contains(name) {
                postpone(name, &work)
            } else if work.mergedElsewhere.contains(name) {
                continue
            } else if let alternative = ObjectRekey.alternative(for: name, in: work) {
                ObjectRekey.rekey(name, to: alternative, in: &work)
            } else {
                if work.loaded.deletedWithheld.contains(name), work.redirects[name] == nil {
                    ObjectDeletion.deleteLinks(to: name, in: &work)
                }
                ObjectDeletion.delete(name, in: &work)
            }
        }
    }

    private static func postpone(_ name: String, _ work: inout ImportWorkspace) {
        guard var state = work.objects[name] else { return }
        state.stage = .missing
        work.objects.put(state)
    }
}

/// Deletes an object, or a join record, that the server no longer has.
enum ObjectDeletion {
    static func delete(_ name: String, in work: inout ImportWorkspace) {
        if work.links.remove(name) { work.recordsApplied += 1 }
        guard let state = work.objects[name], !work.objects.removed.contains(name) else { return }
        // The deleted record is another object's that had the same values.
        if state.changeTag == nil, work.mapping.isUnique(state.key.entityIndex), !work.isReverted(name) { return }
        work.recordsApplied += 1
        // A relocated object lives on in another zone.
        if state.isRelocated { return work.objects.remove(name) }
        let entity = work.mapping.entities[state.key.entityIndex]
        if let entity, let row = work.rows[state.key] {
            // As it was before the page: another deletion of the page may have cleared references, which is not an edit.
            work.logLocalEdits(of: work.loaded.rows[state.key] ?? row, state, entity)
            work.rows.delete(state.key)
            clearReferences(to: state, &work)
        }
        work.resolveAllReferences(of: name, entity)
        deleteLinks(to: name, in: &work)
        work.objects.remove(name)
    }

    /// Links to a deleted object that another device made concurrently would stay on the server forever.
    static func deleteLinks(to name: String, in work: inout ImportWorkspace) {
        for link in work.links.touching(name) where !work.deletions.contains(link.recordName) {
            // The server never had such a link.
            if work.isReverted(name), link.changeTag == nil {
                _ = work.links.remove(link.recordName)
            } else {
                work.links.markForDeletion(link.recordName)
            }
        }
    }

    private static func clearReferences(to deleted: RecordState, _ work: inout ImportWorkspace) {
        var referrers = work.loaded.referrers[deleted.key] ?? []
        // A merge is applied after the page's records, which may refer to the row.
        if work.mergedElsewhere.contains(deleted.recordName) { referrers += work.rows.referrers(to: deleted.key) }
        for referrer in referrers { work.clearReferences(of: referrer, to: deleted, deleted.key) }
    }
}
