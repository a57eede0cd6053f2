// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

// An object that was merged into another one is deleted on the server, and the other one's record says that it took it over. Either may
// come first, and both may have other values by then. So a deletion of what may have been merged is not believed before all that was to
// come has come, and what refers to a record that is gone is not given another target before.

extension ImportDraft {
    /// Takes in what the records of the page took over.
    mutating func learnSuccessors(_ records: [Record]) {
        guard mapping.hasUniqueness else { return }
        let coming = Set(records.map(\.recordName))
        successors = successors.filter { name, into in
            // What is to be sent yet is as good as what comes.
            !coming.contains(into) || states[into].map { $0.merged.names.contains(name) && !$0.ancestor.mergedNames.names.contains(name) } ?? false
        }
        for record in records { for name in mapping.mergedNames(of: record).names where name != record.recordName { successors[name] = record.recordName } }
    }

    /// The record that has an object now; nil where nobody said that it was merged, or what it was merged into is gone.
    func successor(of name: String, coming: Set<String> = []) -> String? {
        var next = successors[name]
        var seen: Set<String> = [name]
        while let record = next, seen.insert(record).inserted {
            if coming.contains(record) || isThere(record) && !deletions.contains(record) { return record }
            next = successors[record]
        }
        return nil
    }

    func isThere(_ name: String) -> Bool { states[name].map { rows.exists($0.key) } ?? false }

    // MARK: Deletions

    /// Deletions of a page of which more is to come that may turn out to be merges.
    var deletionsThatWait: Set<String> {
        guard mapping.hasUniqueness, page.moreComing else { return [] }
        return Set(page.deletions.filter { name in
            guard let state = states[name], state.changeTag != nil, state.stage != .needsDelete, !state.isMovedOut else { return false }
            return mapping.isUnique(state.key.entityIndex) && rows.exists(state.key)
        })
    }

    /// The end of the import comes back to it.
    mutating func putOff(_ name: String) {
        guard var state = states[name] else { return }
        state.stage = .missing
        put(state)
    }

    // MARK: Two that took each other over

    /// Whether the record of an object that was merged here says that it took over the one that stays here: then somebody else merged
    /// them the other way, and each deletes what the other keeps. The smaller name stays, or what the server has.
    mutating func goOnIfTaken(_ record: Record) {
        let name = record.recordName
        guard mapping.hasUniqueness, let state = states[name], isMergedHere(state), let into = successor(of: name), let staying = states[into],
            state.key.entityIndex == staying.key.entityIndex, mapping.mergedNames(of: record).names.contains(into), !isSeparate(record, state)
        else { return }
        if name < into || staying.stage == .missing || deletions.contains(into) { goOn(into, as: name) }
    }

    /// An object that is gone from the server may go on as one that was merged into it here, if nobody else knows of that, or says the
    /// opposite.
    func other(of name: String) -> String? {
        guard mapping.hasUniqueness, let state = states[name], rows.exists(state.key) else { return nil }
        return state.merged.names.sorted().first { other in
            guard let taken = states[other], isMergedHere(taken), taken.key.entityIndex == state.key.entityIndex,
                !deletions.contains(other)
            else { return false }
            // Whoever deleted it could not know of the merge, or merged them the other way.
            return !state.ancestor.mergedNames.names.contains(other) || taken.ancestor.mergedNames.names.contains(name)
        }
    }

    func isMergedHere(_ state: RecordState) -> Bool {
        state.stage == .needsDelete && state.changeTag != nil && state.ancestor.unapplied[MirrorNames.mergedFor] != nil
    }

    /// The row of an object becomes that of one that was merged into it.
    mutating func goOn(_ name: String, as other: String) {
        guard var old = states[name], var new = states[other], let entity = mapping.entities[old.key.entityIndex] else { return }
        let key = old.key
        let values = rows[key].flatMap { mapping.uniqueValues(of: $0).first }
        takeValues(of: new, into: key, from: old, entity)
        new.key = key
        new.stage = .needsUpload
        new.failure = nil
        new.ancestor.unapplied[MirrorNames.mergedFor] = nil
        new.merged = new.ancestor.mergedNames
        new.merged.formUnion(old.merged)
        if old.changeTag != nil { new.merged.insert(name) }
        new.merged.remove(other)
        new.ranks = old.ranks
        old.ranks = [:]
        for property in entity.properties where property.isToOne {
            let waiting = ParkedRelationship.Key(source: name, relationship: property.name)
            guard let target = parked[waiting] else { continue }
            park(ParkedRelationship.Key(source: other, relationship: property.name), at: target)
            park(waiting, at: nil)
        }
        if old.changeTag == nil || deletions.contains(name) {
            states[name] = nil
            removed.append(name)
        } else {
            // A key of its own, without a row.
            old.key = rows.insert(entity: entity.entity)
            rows.delete(old.key)
            old.stage = .needsDelete
            old.failure = nil
            old.merged = MergedNames()
            old.ancestor.unapplied[MirrorNames.mergedFor] = values.map { Field(.string(mapping.recordName(for: $0))) }
            put(old)
        }
        put(new)
        rename(key, from: name, to: other)
        successors[other] = nil
        for merged in new.merged.names { successors[merged] = other }
        // What refers to it has to be known: the page is planned again if it is not.
        if !key.isTemporary { takenBack.append(key) }
        let referrers = Set(rows.referrers(to: key) + (loaded.referrers[key] ?? []))
        for referrer in referrers.sorted(by: { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }) {
            guard rows[referrer]?.values.contains(.reference(key)) == true, let source = self.name(of: referrer), var state = states[source],
                state.stage == .uploaded
            else { continue }
            state.stage = .needsUpload
            put(state)
        }
        moveLinks(from: name, to: other)
        adoptParked(waitingFor: other)
    }

    /// What goes on has its own values: those of an object that somebody deleted go with it. Whoever merged the two the other way says so
    /// in the record that stays, and what was changed here since is an edit of that.
    private mutating func takeValues(of new: RecordState, into key: RowKey, from old: RecordState, _ entity: EntityMapping) {
        guard let row = rows[key] else { return }
        let local = LocalRecord(row: row, names: loaded.names, parked: parked(of: old.recordName), state: old)
        let edited = Set(RecordMerge.localChanges(of: local, since: old.ancestor, entity: entity).map(\.property.name))
        for property in entity.properties where !edited.contains(property.name) {
            guard case .attribute = property.kind else { continue }
            switch property.content(in: new.ancestor.fields) {
            case .absent: rows.set(property.absentValue, slot: property.slot, of: key)
            case .inline(let value): rows.set(property.stored(value), slot: property.slot, of: key)
            // Its content is not at hand.
            case .asset: continue
            }
        }
    }

    // MARK: What is left

    /// At the end of an import, lets what waits for records that were merged refer to what they were merged into.
    mutating func followSuccessors() {
        guard mapping.hasUniqueness, !page.moreComing else { return }
        for (key, destination) in parked.sorted(by: { ($0.key.source, $0.key.relationship) < ($1.key.source, $1.key.relationship) }) where !isThere(destination) {
            guard let into = successor(of: destination), var source = states[key.source], let row = rows[source.key],
                let property = mapping.entities[source.key.entityIndex]?.property(named: key.relationship),
                let target = self.row(named: into, fitting: property)
            else { continue }
            if row.values[property.slot].isNull {
                rows.set(.reference(target), slot: property.slot, of: source.key)
                if source.stage == .uploaded { source.stage = .needsUpload }
                put(source)
            } else {
                // As where the target itself comes late.
                log(.string(destination), of: property, source, winner: .local, losing: nil, winning: nil)
            }
            park(key, at: nil)
        }
        for name in successors.keys.sorted() where !isThere(name) {
            guard !links.touching(name).isEmpty, let into = successor(of: name) else { continue }
            moveLinks(from: name, to: into)
        }
    }

    /// What somebody else merged into an object while it was merged itself here is where that is now.
    mutating func passOnMerged(of record: Record) {
        let names = mapping.mergedNames(of: record)
        guard let into = successor(of: record.recordName), var state = states[into], !names.names.isSubset(of: state.merged.names.union([into])) else { return }
        state.merged.formUnion(names)
        state.merged.remove(into)
        if state.stage == .uploaded { state.stage = .needsUpload }
        put(state)
        for name in state.merged.names { successors[name] = into }
    }

    /// An object that was merged turned out to be another one.
    mutating func separate(_ name: String) {
        guard let into = successors.removeValue(forKey: name), var state = states[into] else { return }
        state.merged.remove(name)
        if state.stage == .uploaded { state.stage = .needsUpload }
        put(state)
    }
}
