// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Reads which records supersede others, and which deletions of the page are merges.
///
/// An object that was merged into another one is deleted on the server, and the record of the other one lists it as superseded. Either may
/// arrive first, and both may have other values by then. A deletion that may be a merge is therefore postponed to the end of the import,
/// and references to a missing record are not redirected before that.
struct SupersessionPass {
    struct Result {
        /// Deletions that the end of the import decides on.
        var postponed: Set<String> = []
        /// Unique values of deleted records: an object that has them now may be the one that they were merged into.
        var freedValues: [(values: UniqueValues, key: RowKey)] = []
    }

    static func run(_ work: inout ImportWorkspace) -> Result {
        var result = Result()
        guard work.mapping.hasUniqueness else { return result }
        readRedirects(&work)
        result.postponed = postponedDeletions(work)
        findMerges(&work, &result)
        return result
    }

    private static func readRedirects(_ work: inout ImportWorkspace) {
        if !work.redirects.isEmpty {
            let arriving = Set(work.records.map(\.recordName))
            work.redirects = work.redirects.filter { [objects = work.objects] name, survivor in
                // A redirect that is not sent yet is as valid as one that arrives, and so is that of an object with a deletion to be sent.
                !arriving.contains(survivor) || objects[name]?.supersedingRecord == survivor
                    || objects[survivor].map { state in
                        state.merged.names.contains(name)
                            && (!state.ancestor.mergedNames.names.contains(name) || objects[name]?.isMergedHere == true)
                    } ?? false
            }
        }
        for record in work.records {
            for name in work.mapping.mergedNames(of: record).names where name != record.recordName {
                work.redirects[name] = record.recordName
            }
        }
    }

    /// Deletions that may turn out to be merges, in a page with successors.
    private static func postponedDeletions(_ work: ImportWorkspace) -> Set<String> {
        guard work.page.moreComing else { return [] }
        return Set(
            work.page.deletions.filter { name in
                guard let state = work.objects[name], state.changeTag != nil, state.stage != .needsDelete, !state.isRelocated else {
                    return false
                }
                return work.mapping.isUnique(state.key.entityIndex) && work.rows.exists(state.key)
            })
    }

    /// Finds deletions of the page that are merges: another device merged the object into one that arrives with the page, or that arrived
    /// before, when it had other values here.
    private static func findMerges(_ work: inout ImportWorkspace, _ result: inout Result) {
        if work.page.deletions.isEmpty { return }
        let arriving = Set(work.records.map(\.recordName))
        var survivors: [UniqueValues: String] = [:]
        for key in work.loaded.surrounded {
            // Other devices cannot merge into an object that only this device knows.
            guard let name = work.objects.loadedName(of: key), !work.deletions.contains(name), let state = work.objects[name],
                state.changeTag != nil
            else { continue }
            for unique in uniqueValues(of: state, work) { survivors[unique] = name }
        }
        for record in work.records { for unique in work.mapping.uniqueValues(of: record) { survivors[unique] = record.recordName } }
        for name in work.page.deletions where !result.postponed.contains(name) {
            guard let state = work.objects[name], state.changeTag != nil, work.rows[state.key] != nil,
                work.mapping.isUnique(state.key.entityIndex)
            else { continue }
            let values = uniqueValues(of: state, work)
            result.freedValues += values.map { ($0, state.key) }
            let survivor = work.survivor(of: name, arriving: arriving) ?? values.lazy.compactMap { survivors[$0] }.first
            if let survivor { work.mergedElsewhere.append(name, into: survivor) }
        }
    }

    /// Returns the values that an object has here, and those that the server knew: the device that merged it knew those.
    private static func uniqueValues(of state: RecordState, _ work: ImportWorkspace) -> [UniqueValues] {
        guard let row = work.rows[state.key], let entity = work.mapping.entities[state.key.entityIndex] else { return [] }
        let base = Record(recordName: state.recordName, recordType: entity.recordType, fields: state.ancestor.fields)
        return work.mapping.uniqueValues(of: row) + work.mapping.uniqueValues(of: base)
    }
}

/// Redirects deferred references and links of superseded records, at the end of an import.
struct RedirectPass {
    static func run(_ work: inout ImportWorkspace) {
        guard work.mapping.hasUniqueness, !work.page.moreComing else { return }
        for reference in work.deferred.sorted where !work.exists(reference.destination) { redirect(reference, &work) }
        for name in work.redirects.keys.sorted() where !work.exists(name) {
            guard !work.links.touching(name).isEmpty, let survivor = work.survivor(of: name) else { continue }
            LinkMove.move(from: name, to: survivor, in: &work)
        }
    }

    private static func redirect(_ reference: ParkedRelationship, _ work: inout ImportWorkspace) {
        guard let survivor = work.survivor(of: reference.destination), let source = work.objects[reference.key.source],
            let row = work.rows[source.key],
            let property = work.mapping.entities[source.key.entityIndex]?.property(named: reference.key.relationship),
            let target = work.row(named: survivor, fitting: property)
        else { return }
        if row.values[property.slot].isNull {
            work.rows.set(.reference(target), slot: property.slot, of: source.key)
            work.markChanged(source)
        } else {
            // As where the target itself arrives late.
            work.log(.string(reference.destination), of: property, source, winner: .local, losing: nil, winning: nil)
        }
        work.deferred.resolve(reference.key.source, reference.key.relationship)
    }
}
