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
            if coming.contains(record) || isThere(record) && !page.deletions.contains(record) { return record }
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
