// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

// An object that this device merged, and that turned out to be another object, is taken off the survivor's list of superseded records. Until
// that change is sent, another device may merge the two after all: the server's list is right for a record that the server deletes. So the
// batch with the shorter list updates the object's record, too, without fields: the server rejects it if the record was deleted meanwhile,
// and a deletion that comes later is one of a device that knows of both. If the batch has no room for that, or the server saves the list alone,
// the record is updated after the list. If the server rejected a change of the object before, the record is updated with its next change. Until
// the server has saved it, a deletion of it is a merge.

extension RecordState {
    /// The record that superseded the object until this device found that they are two objects; nil for other objects.
    var separatedFrom: String? {
        if case .string(let name)? = ancestor.unapplied[MirrorNames.separatedFrom]?.value { name } else { nil }
    }

    /// The record that supersedes a separated object if the server deleted that: another device merged the two before this device took the
    /// object off the list, and the server no longer has the list that shows it. nil once the server has saved the object's record after
    /// the shorter list, and for other objects.
    var supersedingRecord: String? {
        get { if case .string(let name)? = ancestor.unapplied[MirrorNames.supersededBy]?.value { name } else { nil } }
        set { ancestor.unapplied[MirrorNames.supersededBy] = newValue.map { Field(.string($0)) } }
    }

    /// The records that the next update takes off the server's list of superseded ones.
    fileprivate var namesOffList: Set<String> {
        stage == .needsUpload && changeTag != nil ? ancestor.mergedNames.names.subtracting(merged.names) : []
    }

    /// Whether the record has to be updated with the list of its survivor, or after it. A deletion is sent in its own right.
    fileprivate var isUpdatable: Bool { isShown && role == .current && changeTag != nil }

    private var isShown: Bool { stage == .uploaded || stage == .needsUpload }

    /// Returns the record of an object that a list of this device no longer has, and whose own update is not sent with that. The record is
    /// updated by a later batch: the server rejects that if another device has merged the object by then.
    ///
    /// - Parameter list: Of the survivor. The record is behind it in the queue, or a list that fails would be tried again and again between
    ///   updates that succeed.
    func updated(after list: ExportBatch.Item) -> RecordState {
        var state = self
        state.supersedingRecord = list.recordName
        // A rejected change waits for the next one.
        if failure != nil { return state }
        state.stage = .needsUpload
        state.mark = max(mark, list.mark + 1)
        return state
    }

    /// Notes that the server saved a list without the object, and not the object's record.
    fileprivate mutating func awaitUpdate(after list: String) {
        guard isShown else { return }
        supersedingRecord = list
        stage = .needsUpload
    }

    /// Whether this device merged the object into another one, and has not sent its deletion.
    var isMergedHere: Bool { stage == .needsDelete && changeTag != nil && ancestor.unapplied[MirrorNames.mergedFor] != nil }
}

extension BatchPlan.Loaded {
    /// Adds the objects that updates of pending records take off lists, transitively.
    ///
    /// - Parameters:
    ///   - record: Returns a record of the batch's zone.
    ///   - load: Loads the row of a record, as for pending ones.
    package mutating func addSeparated(
        by pending: [RecordState], record: (String) throws -> RecordState?, load: (inout Self, RecordState) throws -> Void
    ) rethrows {
        var survivors = pending.filter { !$0.namesOffList.isEmpty }
        var known = Set(pending.map(\.recordName))
        while let survivor = survivors.popLast() {
            for name in survivor.namesOffList.sorted() {
                guard let state = try record(name), state.isUpdatable else { continue }
                separated[survivor.recordName, default: []].append(state)
                guard known.insert(name).inserted else { continue }
                if state.stage == .needsUpload { try load(&self, state) }
                if state.failure == nil, !state.namesOffList.isEmpty { survivors.append(state) }
            }
        }
    }
}

/// The objects that a sent batch takes off lists, with their survivors and whether the server saved the shorter lists.
struct SentSeparations {
    private var survivors: [String: (name: String, isSaved: Bool)] = [:]

    /// - Parameter records: The present metadata of the items. Merge bases do not change while a batch is in flight.
    init(_ items: [ExportBatch.Item], _ outcomes: [String: ItemOutcome], records: [String: RecordState]) {
        for item in items {
            guard let field = item.record.fields[MirrorNames.merged], let listed = records[item.recordName]?.ancestor.mergedNames.names
            else { continue }
            let isSaved = outcomes[item.recordName]?.isAcceptance == true
            for name in listed.subtracting(MergedNames(of: field).names) { survivors[name] = (item.recordName, isSaved) }
        }
    }

    /// Notes the server's response to the update of a record.
    ///
    /// - Parameter outcome: nil if the server executed a part of the batch without the update.
    func note(_ outcome: ItemOutcome?, in state: inout RecordState) {
        let survivor = survivors[state.recordName]
        switch outcome {
        case .saved:
            // The server has the shorter list by now, or the batch that sends it names the record again.
            if state.supersedingRecord != nil { state.supersedingRecord = nil }
            if survivor?.isSaved == true { state.ancestor.unapplied[MirrorNames.separatedFrom] = nil }
        case .refused(let failure) where failure.code == .unknownItem || failure.code == .serverRecordChanged:
            // The next import may bring a deletion of the record. Without the list it would not be recognised as a merge.
            if let survivor, survivor.isSaved { state.supersedingRecord = survivor.name }
        case .refused, nil: if let survivor, survivor.isSaved { state.awaitUpdate(after: survivor.name) }
        case .deleted, .aborted: return
        }
    }
}

extension ImportPlan.Loaded {
    /// Restores the redirects of deleted records that the server lists as superseded, or listed when it deleted them, with the superseding
    /// records: their objects were merged by another device.
    ///
    /// - Parameters:
    ///   - deletions: Names of deleted records, which are loaded.
    ///   - record: Returns a record of the page's zone.
    package mutating func restoreRedirects(of deletions: [String], record: (String) throws -> RecordState?) rethrows {
        for name in deletions {
            guard let state = records[name], let former = state.supersedingRecord ?? state.separatedFrom,
                let survivor = try record(former), state.supersedingRecord != nil || survivor.ancestor.mergedNames.names.contains(name)
            else { continue }
            records[former] = survivor
            successors[name] = former
        }
    }

    /// Returns the superseded records that records of a page no longer list. The caller loads them: this device may have merged them, too.
    package func namesTakenOffLists(by page: ImportPage, mapping: RecordMapping) -> [String] {
        page.records.flatMap { record -> [String] in
            guard let listed = records[record.recordName]?.merged.names, !listed.isEmpty else { return [] }
            return listed.subtracting(mapping.mergedNames(of: record).names).sorted()
        }
    }
}

extension RecordState {
    /// Keeps objects on the list of superseded records that another device took off, if this device merged them as well, for values that
    /// they still have, and has not sent their deletion.
    ///
    /// - Parameter former: The list before the merge.
    /// - Returns: Whether there are any.
    mutating func keepMerged(since former: MergedNames, in work: ImportWorkspace) -> Bool {
        let names = former.names.subtracting(merged.names).filter { name in
            work.redirects[name] == recordName && !work.deletions.contains(name) && work.objects[name]?.isMergedHere == true
        }
        merged.formUnion(MergedNames(names))
        return !names.isEmpty
    }
}
