// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Applies the page's object records to rows: inserts new ones, merges others field by field.
///
/// To-one relationships are collected, and resolved by ``ReferencePass`` once all rows of the page are known, so that the order of records
/// does not matter.
struct RecordPass {
    /// A to-one field that a row takes.
    struct Reference {
        let source: String
        let property: PropertyMapping
        /// nil clears the relationship.
        let target: String?
    }

    struct Result {
        var references: [Reference] = []
        var claims: [OneToOnePass.Claim] = []
    }

    private var result = Result()
    /// Versions of the present record's encrypted values, and its quarantined values; nil for a record without any, now and before.
    private var fieldStates: FieldStates?

    static func run(_ work: inout ImportWorkspace) -> Result {
        var pass = RecordPass()
        for record in work.records where record.recordType != MirrorNames.linkRecordType { pass.apply(record, &work) }
        return pass.result
    }

    private mutating func apply(_ received: Record, _ work: inout ImportWorkspace) {
        guard let named = work.mapping.entity(of: received) else { return }
        ObjectRekey.resolveOppositeMerge(by: received, in: &work)
        let known = work.objects[received.recordName]
        guard named.hasEncryptedFields || received.fields[MirrorNames.fieldStates] != nil || known?.fieldStates.isEmpty == false else {
            return apply(received, named, unordered: [], &work)
        }
        var record = received
        let withheld = record.withholdQuarantined(known.flatMap { work.mapping.entities[$0.key.entityIndex] } ?? named, since: known)
        fieldStates = withheld.versions
        apply(record, named, unordered: withheld.unordered, &work)
        fieldStates = nil
    }

    /// - Parameters:
    ///   - record: Without quarantined values.
    ///   - unordered: Encrypted fields with a value that may be older than this device's.
    private mutating func apply(_ record: Record, _ named: EntityMapping, unordered: Set<String>, _ work: inout ImportWorkspace) {
        let isReverted = work.isReverted(record.recordName)
        if isReverted, let state = work.objects[record.recordName], state.stage == .needsDelete, work.rows[state.key] == nil {
            return insert(record, named, &work)
        }
        guard var state = work.objects[record.recordName] else { return insert(record, named, &work) }
        if state.changeTag == nil, state.stage == .needsDelete, work.mapping.isUnique(state.key.entityIndex) {
            // Made and deleted here, and never sent: the record is another device's.
            return insert(record, named, &work)
        }
        // Merged here as a duplicate, which it no longer is: it is an object again.
        if work.isSeparate(record, state) {
            let survivor = separate(record.recordName, &work)
            return insert(record, named, separatedFrom: survivor, &work)
        }
        guard
            state.changeTag != record.recordChangeTag || state.changeTag == nil || work.page.generation != nil || isReverted
                || state.fieldStates.hasQuarantined
        else { return }
        // An object keeps its entity if a record has another type later.
        let entity = work.mapping.entities[state.key.entityIndex] ?? named
        var merge = RecordMerge(
            entity: entity, ancestor: state.ancestor, remote: record.fields, assets: work.loaded.assets,
            former: work.loaded.former[record.recordName] ?? state.forwardedEdits)
        merge.isReverting = isReverted
        merge.isBaseUnseen = state.isBaseUnseen(by: record)
        merge.unordered = unordered
        work.recordsApplied += 1
        guard let row = work.rows[state.key] else { return applyToDeleted(record, state, merge, &work) }
        self.merge(record, merge, into: row, &state, &work)
    }

    /// Applies a record after its object was deleted here, sent or not: the deletion beats the edit, which is logged.
    private func applyToDeleted(_ record: Record, _ deleted: RecordState, _ merge: RecordMerge, _ work: inout ImportWorkspace) {
        var state = deleted
        for change in merge.remoteChanges {
            work.log(change.value, of: change.property, state, winner: .localDeletion, losing: record.modified, winning: nil)
        }
        logUnknownChanges(record, state, merge.entity, &work)
        passOnSuperseded(by: record, &work)
        let mergedFor = state.ancestor.unapplied[MirrorNames.mergedFor]
        Self.adopt(record, into: &state, entity: merge.entity, digests: [:], work.page)
        if let fieldStates { state.fieldStates = fieldStates }
        state.ancestor.unapplied[MirrorNames.mergedFor] = mergedFor
        if state.isRelocated { state.stage = .needsDelete }
        work.objects.put(state)
    }

    private mutating func merge(
        _ record: Record, _ merge: RecordMerge, into row: Row, _ state: inout RecordState, _ work: inout ImportWorkspace
    ) {
        // In the destination zone, relocated objects have the names that they had here.
        let present = work.presentNames
        let names = state.isRelocated ? present.merging(work.loaded.namesElsewhere) { here, _ in here } : present
        let local = work.localRecord(row, of: merge.entity, state, names: names)
        // A record that this device created, and that is unchanged since: the response to the first attempt was lost, and the "losing"
        // values are older ones of this device. An object whose name follows from its values may be another device's. So may a record
        // that a server had once and that is sent again: another device may have sent it again, too.
        let isEcho =
            state.changeTag == nil && state.system.created == nil && record.created == record.modified
            && !work.mapping.isUnique(state.key.entityIndex)
        let outcome = isEcho ? merge.merge(into: local) : merge.merge(into: local) { work.mapping.resolver?($0) ?? $0.byPolicy }
        for lost in outcome.lostHere {
            let stamp = merge.isBaseUnseen ? state.modified : nil
            work.log(lost.value, of: lost.property, state, winner: .remote, losing: stamp, winning: record.modified)
        }
        for (property, value) in outcome.merged { work.rows.set(value, slot: property.slot, of: state.key) }
        for lost in isEcho ? [] : outcome.lost {
            work.log(lost.value, of: lost.property, state, winner: .local, losing: record.modified, winning: nil)
            if case .string(let name)? = lost.value,
                let claim = OneToOnePass.rejectedClaim(of: name, by: record.recordName, lost.property, of: merge.entity)
            {
                result.claims.append(claim)
            }
        }
        for (property, content) in outcome.adopted {
            switch property.form {
            case .attribute: work.rows.set(merge.stored(content, for: property), slot: property.slot, of: state.key)
            case .toOne:
                result.references.append(Reference(source: record.recordName, property: property, target: property.target(content)))
            case .rank, .merged: break
            }
        }
        let listed = state.merged
        state.adopt(outcome.adopted)
        if let names = outcome.mergedNames { state.merged = names }
        let keepsMerged = !listed.names.isEmpty && state.keepMerged(since: listed, in: work)
        // A user who discards a rejected change may have no right to send the update. Otherwise this version may be older than the survivor's
        // list, and a device that has not read the list may delete it.
        let superseding = work.isReverted(record.recordName) ? nil : state.supersedingRecord
        Self.adopt(record, into: &state, entity: merge.entity, digests: outcome.digests, work.page)
        if state.supersedingRecord != superseding { state.supersedingRecord = superseding }
        if let fieldStates { state.fieldStates = fieldStates }
        // A forwarded version is still to be stamped, also if the values are equal.
        let isForwarding = work.loaded.former[record.recordName] != nil || state.forwardedEdits != nil
        let isAhead = outcome.isLocalAhead || isForwarding || keepsMerged || superseding != nil || state.fieldStates.isReplacingAny
        if state.isRelocated {
            // Missing before, perhaps: another device made an object with the same values, and so with this name.
            state.stage = .needsDelete
        } else if state.stage != .needsDelete {
            state.stage = isAhead ? .needsUpload : .uploaded
        }
        state.failure = nil
        work.objects.put(state)
    }

    /// - Parameter survivor: The record into which the object was merged here, by mistake.
    private mutating func insert(
        _ received: Record, _ entity: EntityMapping, separatedFrom survivor: String? = nil, _ work: inout ImportWorkspace
    ) {
        work.recordsApplied += 1
        var record = received
        if fieldStates?.hasQuarantined == true { record.removeAssets(without: work.loaded.assets, of: entity) }
        let new = work.page.newObjects.object(of: record, entity) ?? NewObject(record, entity, assets: work.loaded.assets)
        let key = work.rows.insert(entity: entity.entity, values: new.values)
        var state = RecordState(recordName: record.recordName, key: key, stage: .uploaded)
        state.adopt(new.own)
        state.adopt(new, of: record)
        Self.adoptVersion(of: record, into: &state, work.page)
        if let survivor { state.ancestor.unapplied[MirrorNames.separatedFrom] = Field(.string(survivor)) }
        if let fieldStates { state.fieldStates = fieldStates }
        work.objects.insert(state)
        for (property, target) in new.references {
            result.references.append(Reference(source: record.recordName, property: property, target: target))
        }
    }

    // MARK: Merge base

    private static func adopt(
        _ record: Record, into state: inout RecordState, entity: EntityMapping, digests: [String: ContentDigest], _ page: ImportPage
    ) {
        let former = state.ancestor.unapplied
        state.ancestor = entity.ancestor(of: record.fields)
        if !former.isEmpty { state.ancestor.keepStored(from: former, with: record) }
        state.ancestor.digests = digests
        state.modified = record.modified
        adoptVersion(of: record, into: &state, page)
    }

    private static func adoptVersion(of record: Record, into state: inout RecordState, _ page: ImportPage) {
        state.changeTag = record.recordChangeTag
        state.system = state.system.updated(by: record)
        if let generation = page.generation { state.generation = generation }
    }

    // MARK: Deleted and superseded objects

    /// Logs values of a later version of the model: the app's next version can show and restore them.
    private func logUnknownChanges(_ record: Record, _ state: RecordState, _ entity: EntityMapping, _ work: inout ImportWorkspace) {
        for (property, value, _) in entity.unknownChanges(in: record, since: state.ancestor) {
            var losing = value
            if case .asset(let asset)? = value, let content = work.loaded.assets[asset.canonical] { losing = .bytes([UInt8](content)) }
            work.conflicts.append(
                ConflictEntry(
                    entity: work.mapping.syncName(ofEntity: state.key.entityIndex), recordName: state.recordName, property: property,
                    losing: losing, winner: .localDeletion, losingStamp: record.modified, winningStamp: nil))
        }
    }

    /// Adds the records that another device merged into an object, while that was merged here, to its survivor.
    private func passOnSuperseded(by record: Record, _ work: inout ImportWorkspace) {
        let names = work.mapping.mergedNames(of: record)
        guard let survivor = work.survivor(of: record.recordName), var state = work.objects[survivor],
            !names.names.isSubset(of: state.merged.names.union([survivor]))
        else { return }
        state.merged.formUnion(names)
        state.merged.remove(survivor)
        work.markChanged(state)
        for name in state.merged.names { work.redirects[name] = survivor }
    }

    /// Ends the redirect of an object that turned out not to be a duplicate.
    ///
    /// - Returns: The record that had superseded it.
    private func separate(_ name: String, _ work: inout ImportWorkspace) -> String? {
        guard let survivor = work.redirects.removeValue(forKey: name), var state = work.objects[survivor] else { return nil }
        state.merged.remove(name)
        work.markChanged(state)
        return survivor
    }
}

extension RecordState {
    /// Adopts the properties of a record that no row has.
    mutating func adopt(_ properties: [(property: PropertyMapping, content: RemoteContent)]) {
        for (property, content) in properties {
            switch property.form {
            case .attribute, .toOne: continue
            case .rank(let relationship):
                if case .value(.string(let rank)) = property.mirrored(content) {
                    ranks[relationship] = rank
                } else {
                    ranks[relationship] = nil
                }
            case .merged: merged = PropertyMapping.mergedNames(content)
            }
        }
    }
}
