// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Gives an object's row the record of another one that was merged into it here, if the server keeps that one.
///
/// Two devices may merge two objects in opposite directions: each deletes the record that the other keeps. The smaller name wins, or the
/// record that the server has.
enum ObjectRekey {
    /// Resolves opposite merges: the record of an object that was merged here lists the survivor as superseded.
    static func resolveOppositeMerge(by record: Record, in work: inout ImportWorkspace) {
        let name = record.recordName
        guard work.mapping.hasUniqueness, let state = work.objects[name], state.isMergedHere,
            let survivor = work.localSurvivor(of: name),
            let survivorState = work.objects[survivor], state.key.entityIndex == survivorState.key.entityIndex,
            work.mapping.mergedNames(of: record).names.contains(survivor), !work.isSeparate(record, state)
        else { return }
        if name < survivor || survivorState.stage == .missing || work.deletions.contains(survivor) { rekey(survivor, to: name, in: &work) }
    }

    /// Returns a record under which an object that the server deleted lives on: one that was merged into it here, unless other devices know
    /// of the merge and did not merge the opposite way.
    static func alternative(for name: String, in work: ImportWorkspace) -> String? {
        guard work.mapping.hasUniqueness, let state = work.objects[name], work.rows.exists(state.key) else { return nil }
        return state.merged.names.sorted().first { candidate in
            guard let merged = work.objects[candidate], merged.isMergedHere, merged.key.entityIndex == state.key.entityIndex,
                !work.deletions.contains(candidate)
            else { return false }
            // The device that deleted it did not know of the merge, or merged the opposite way.
            return !state.ancestor.mergedNames.names.contains(candidate) || merged.ancestor.mergedNames.names.contains(name)
        }
    }

    static func rekey(_ name: String, to newName: String, in work: inout ImportWorkspace) {
        guard var old = work.objects[name], var new = work.objects[newName], let entity = work.mapping.entities[old.key.entityIndex] else {
            return
        }
        let key = old.key
        let values = work.rows[key].flatMap { work.mapping.uniqueValues(of: $0).first }
        adoptValues(of: new, into: key, from: old, entity, &work)
        new.key = key
        new.stage = .needsUpload
        new.failure = nil
        new.ancestor.unapplied[MirrorNames.mergedFor] = nil
        new.merged = new.ancestor.mergedNames
        new.merged.formUnion(old.merged)
        if old.changeTag != nil { new.merged.insert(name) }
        new.merged.remove(newName)
        new.ranks = old.ranks
        old.ranks = [:]
        for property in entity.properties where property.isToOne {
            guard let target = work.deferred[name, property.name] else { continue }
            work.deferred.defer(newName, property.name, to: target)
            work.deferred.resolve(name, property.name)
        }
        if old.changeTag == nil || work.deletions.contains(name) {
            work.objects.remove(name)
        } else {
            // The record to delete has a key of its own, without a row.
            old.key = work.rows.insert(entity: entity.entity)
            work.rows.delete(old.key)
            old.stage = .needsDelete
            old.failure = nil
            old.merged = MergedNames()
            old.ancestor.unapplied[MirrorNames.mergedFor] = values.map { Field(.string(work.mapping.recordName(for: $0))) }
            work.objects.put(old)
        }
        work.objects.put(new)
        work.objects.rekey(key, from: name, to: newName)
        work.redirects[newName] = nil
        for superseded in new.merged.names { work.redirects[superseded] = newName }
        // The rows that refer to it have to be loaded: the page is planned again if they are not.
        if !key.isTemporary { work.displaced.append(key) }
        markReferrersChanged(of: key, &work)
        LinkMove.move(from: name, to: newName, in: &work)
        work.resolveReferences(to: newName)
    }

    private static func markReferrersChanged(of key: RowKey, _ work: inout ImportWorkspace) {
        for referrer in work.referrers(to: key) {
            guard work.rows[referrer]?.values.contains(.reference(key)) == true, let source = work.objects.name(of: referrer),
                let state = work.objects[source], state.stage == .uploaded
            else { continue }
            work.markChanged(state)
        }
    }

    /// The row takes the values of the record under which it lives on: those of a deleted object are deleted with it. A device that merged
    /// the opposite way wrote its values into the surviving record, and later changes here are edits of that.
    private static func adoptValues(
        of new: RecordState, into key: RowKey, from old: RecordState, _ entity: EntityMapping, _ work: inout ImportWorkspace
    ) {
        guard let row = work.rows[key] else { return }
        let edited = Set(
            RecordMerge.localChanges(of: work.localRecord(row, of: entity, old), entity: entity).map(\.property.name))
        let shown = entity.upgraded(new.ancestor.fields)
        for property in entity.properties where !edited.contains(property.name) {
            guard case .attribute = property.kind else { continue }
            switch property.content(in: shown) {
            case .absent: work.rows.set(property.absentValue, slot: property.slot, of: key)
            case .inline(let value): work.rows.set(property.stored(value), slot: property.slot, of: key)
            // The content is not loaded.
            case .asset: continue
            }
        }
    }
}

extension ImportWorkspace {
    /// Returns the rows that refer to a row, in a repeatable order: loaded ones, and those of the page.
    mutating func referrers(to key: RowKey) -> [RowKey] {
        Set(rows.referrers(to: key) + (loaded.referrers[key] ?? [])).sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
    }
}
