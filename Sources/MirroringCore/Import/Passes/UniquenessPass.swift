// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Merges duplicates by key: objects with equal values that must be unique.
///
/// Two devices made the same thing, or an object got the name of another one later. Every device that knows both merges them, and into the
/// same one in any order: values of the duplicate fill empty ones of the survivor, different values go to the conflict log, and
/// objects that were related to the duplicate are related to the survivor.
struct UniquenessPass {
    static func run(_ work: inout ImportWorkspace) {
        guard work.mapping.hasUniqueness else { return }
        mergeDuplicates(&work)
        mergeAsElsewhere(&work)
    }

    /// Merges until all values that must be unique are.
    private static func mergeDuplicates(_ work: inout ImportWorkspace) {
        var owners: [UniqueValues: RowKey] = [:]
        let merged = work.mergedElsewhere.merges.compactMap { [objects = work.objects] in objects[$0.name]?.key }
        var open = (work.rows.touchedKeys + work.loaded.surrounded + merged).reversed() as [RowKey]
        while let key = open.popLast() {
            guard let owner = claimValues(of: key, &owners, work) else { continue }
            let isOwnerSurvivor = precedes(owner, key, work)
            let survivor = isOwnerSurvivor ? owner : key
            merge(isOwnerSurvivor ? key : owner, into: survivor, &work)
            // The survivor may have unique values of the duplicate now.
            open.append(survivor)
        }
    }

    /// Merges objects that another device merged.
    private static func mergeAsElsewhere(_ work: inout ImportWorkspace) {
        for (name, into) in work.mergedElsewhere.merges where !work.objects.removed.contains(name) {
            guard let key = work.objects[name]?.key, work.rows[key] != nil else { continue }
            // The survivor on the other device may itself have been merged here.
            let target = work.exists(into) ? into : work.survivor(of: name)
            if let survivor = target.flatMap({ work.objects[$0]?.key }), survivor != key, work.rows[survivor] != nil {
                merge(key, into: survivor, &work)
            } else {
                ObjectDeletion.delete(name, in: &work)
            }
        }
    }

    // MARK: Which object survives

    /// Makes a row the owner of its values, unless another row owns one of them: that row is returned.
    private static func claimValues(of key: RowKey, _ owners: inout [UniqueValues: RowKey], _ work: ImportWorkspace) -> RowKey? {
        guard work.mapping.isUnique(key.entityIndex), let row = work.rows[key], !isInAnotherZone(key, work) else { return nil }
        for unique in work.mapping.uniqueValues(of: row) {
            // An owner may have been merged since.
            if let owner = owners[unique], owner != key, let other = work.rows[owner], work.mapping.uniqueValues(of: other).contains(unique) {
                if work.objects.name(of: owner) != nil, work.objects.name(of: key) != nil { return owner }
            } else {
                owners[unique] = key
            }
        }
        return nil
    }

    /// Whether the page has the source record of a relocated row only. Objects of different zones are never merged.
    private static func isInAnotherZone(_ key: RowKey, _ work: ImportWorkspace) -> Bool {
        work.objects.name(of: key).flatMap { work.objects[$0]?.isRelocated } ?? false
    }

    /// Whether a row survives rather than another one. The order is the same on every device: a record that the
    /// server has before one that it deleted, one that was not superseded elsewhere, one with more properties, the smaller name.
    private static func precedes(_ one: RowKey, _ other: RowKey, _ work: ImportWorkspace) -> Bool {
        func rank(_ key: RowKey, against other: RowKey) -> (Int, Int, Int, String) {
            let entity = work.mapping.model.entities[key.entityIndex]
            let name = work.objects.name(of: key) ?? "", otherName = work.objects.name(of: other) ?? ""
            return (
                isDeletedOnServer(name, work) ? 1 : 0, isSuperseded(name, by: otherName, work) ? 1 : 0, -(entity.slots.count + entity.toMany.count), name
            )
        }
        return rank(one, against: other) < rank(other, against: one)
    }

    /// Whether a record lists an object as superseded: the object's deletion comes with a later page. If both list each other, names
    /// decide.
    private static func isSuperseded(_ name: String, by other: String, _ work: ImportWorkspace) -> Bool {
        work.objects[other]?.merged.names.contains(name) == true
    }

    private static func isDeletedOnServer(_ name: String, _ work: ImportWorkspace) -> Bool {
        work.mergedElsewhere.contains(name) || work.objects[name]?.stage == .missing
    }

    // MARK: Merge

    private static func merge(_ duplicateKey: RowKey, into survivorKey: RowKey, _ work: inout ImportWorkspace) {
        guard let name = work.objects.name(of: duplicateKey), let survivorName = work.objects.name(of: survivorKey), var duplicate = work.objects[name],
            var survivor = work.objects[survivorName], let row = work.rows[duplicateKey]
        else { preconditionFailure("duplicates are rows with records") }
        let survivorValues = Set(work.rows[survivorKey].map { work.mapping.uniqueValues(of: $0) } ?? [])
        let shared = work.mapping.uniqueValues(of: row).first(where: survivorValues.contains)
        mergeProperties(of: row, duplicate, into: &survivor, &work)
        // The rows that refer to it have to be loaded: the page is planned again if they are not.
        if !duplicateKey.isTemporary { work.displaced.append(duplicateKey) }
        redirectReferences(from: duplicateKey, to: survivorKey, &work)
        work.resolveAllReferences(of: name, work.mapping.entities[duplicateKey.entityIndex])
        LinkMove.move(from: name, to: survivorName, in: &work)
        work.rows.delete(duplicateKey)
        // References to the duplicate lead to the survivor, even if their values differ later.
        if duplicate.changeTag != nil { survivor.merged.insert(name) }
        // With the records that an object which was never sent superseded.
        survivor.merged.formUnion(duplicate.merged)
        survivor.merged.remove(survivorName)
        for superseded in survivor.merged.names { work.redirects[superseded] = survivorName }
        if duplicate.changeTag == nil || isDeletedOnServer(name, work) {
            work.objects.remove(name)
        } else {
            duplicate.stage = .needsDelete
            duplicate.failure = nil
            // A superseded record has one survivor: its deletion waits for the record that lists it.
            duplicate.merged = MergedNames()
            duplicate.ancestor.unapplied[MirrorNames.mergedFor] = shared.map { Field(.string(work.mapping.recordName(for: $0))) }
            work.objects.put(duplicate)
        }
        survivor.failure = nil
        work.markChanged(survivor)
    }

    private static func mergeProperties(of row: Row, _ duplicate: RecordState, into survivor: inout RecordState, _ work: inout ImportWorkspace) {
        guard let entity = work.mapping.entities[survivor.key.entityIndex], let duplicateEntity = work.mapping.entities[duplicate.key.entityIndex] else {
            preconditionFailure("duplicates are of mirrored entities")
        }
        for property in entity.properties {
            guard let other = duplicateEntity.property(named: property.name), let present = work.rows[survivor.key]?.values[property.slot] else { continue }
            let value = row.values[other.slot]
            switch property.kind {
            case .rank, .merged: continue
            case .toOne:
                if present.isNull, work.deferred[survivor.recordName, property.name] == nil {
                    if !value.isNull { work.rows.set(value, slot: property.slot, of: survivor.key) }
                    if let target = work.deferred[duplicate.recordName, property.name] {
                        work.deferred.defer(survivor.recordName, property.name, to: target)
                    }
                    if let rank = duplicate.ranks[property.name] { survivor.ranks[property.name] = rank }
                } else if !value.isNull, value != present, value != .reference(survivor.key) {
                    let losing = value.reference.flatMap { work.loaded.names[$0] }
                    work.log(
                        losing.map { .string($0) }, of: property, survivor, winner: .remote, losing: duplicate.modified, winning: survivor.modified)
                }
            case .attribute(let attribute):
                if value == present || value.isNull || value == attribute.defaultValue { continue }
                if present.isNull || present == attribute.defaultValue {
                    work.rows.set(value, slot: property.slot, of: survivor.key)
                } else {
                    work.log(
                        FieldCodec.encode(value, as: attribute.type), of: property, survivor, winner: .remote, losing: duplicate.modified,
                        winning: survivor.modified)
                }
            }
        }
    }

    /// Rows that refer to the duplicate refer to the survivor, and are sent.
    private static func redirectReferences(from duplicate: RowKey, to survivor: RowKey, _ work: inout ImportWorkspace) {
        for key in work.referrers(to: duplicate) {
            guard key != duplicate, let row = work.rows[key], let entity = work.mapping.entities[key.entityIndex] else { continue }
            for property in entity.properties where property.isToOne && row.values[property.slot] == .reference(duplicate) {
                // The survivor keeps its inverse object in a one-to-one relationship.
                let isTaken = hasOtherInverse(property, survivor, than: key, work)
                work.rows.set(isTaken || key == survivor ? .null : .reference(survivor), slot: property.slot, of: key)
                guard let source = work.objects.name(of: key), let state = work.objects[source] else { continue }
                if isTaken {
                    let losing = work.objects[work.objects.name(of: survivor) ?? ""].map { FieldValue.string($0.recordName) }
                    work.log(losing, of: property, state, winner: .remote, losing: state.modified, winning: nil)
                }
                work.markChanged(state)
            }
        }
    }

    private static func hasOtherInverse(_ property: PropertyMapping, _ survivor: RowKey, than key: RowKey, _ work: ImportWorkspace) -> Bool {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne, case .slot(let slot)? = relationship.inverse,
            let inverse = work.rows[survivor]?.values[slot].reference
        else { return false }
        return inverse != key
    }
}
