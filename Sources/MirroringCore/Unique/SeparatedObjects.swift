// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

// An object that this device merged, and that turned out to be another object, is taken off the survivor's list of superseded records. Until
// that change is sent, another device may merge the two after all: the server's list is right for a record that the server deletes. So the
// batch with the shorter list updates the object's record, too, without fields: the server rejects it if the record was deleted meanwhile,
// and a deletion that comes later is one of a device that knows of both.

extension RecordState {
    /// The record that superseded the object until this device found that they are two objects; nil for other objects.
    var separatedFrom: String? {
        if case .string(let name)? = ancestor.unapplied[MirrorNames.separatedFrom]?.value { name } else { nil }
    }

    /// The record that superseded a separated object after all: another device merged the two, and deleted the object's record before this
    /// device took it off the list; nil for other objects.
    var supersedingRecord: String? {
        if case .string(let name)? = ancestor.unapplied[MirrorNames.supersededBy]?.value { name } else { nil }
    }

    /// Notes the server's response to the update with which the object is taken off the survivor's list.
    ///
    /// - Parameters:
    ///   - isThere: Whether the server has the object's record; `false` if it was deleted.
    ///   - isOffList: Whether the server saved the shorter list of the survivor.
    mutating func settleSeparation(isThere: Bool, isOffList: Bool) {
        guard let survivor = separatedFrom else { return }
        switch (isThere, isOffList) {
        case (true, true): ancestor.unapplied[MirrorNames.separatedFrom] = nil
        // The survivor is sent again, and this record with it.
        case (true, false): stage = .needsUpload
        case (false, true): ancestor.unapplied[MirrorNames.supersededBy] = Field(.string(survivor))
        case (false, false): break
        }
    }

    /// Whether this device merged the object into another one, and has not sent its deletion.
    var isMergedHere: Bool { stage == .needsDelete && changeTag != nil && ancestor.unapplied[MirrorNames.mergedFor] != nil }
}

/// The objects of pending changes that are taken off a survivor's list by one of them.
struct PendingSeparations {
    /// By the survivor's record name.
    private var bySurvivor: [String: [RecordState]] = [:]
    private var names: Set<String> = []

    /// - Parameter pending: Marked records of one zone.
    init(_ pending: [RecordState]) {
        guard pending.contains(where: { $0.separatedFrom != nil }) else { return }
        let updates = pending.filter { $0.stage == .needsUpload && $0.changeTag != nil && $0.failure == nil }
        let byName = Dictionary(updates.map { ($0.recordName, $0) }, uniquingKeysWith: { $1 })
        // A survivor that was itself separated from another object is sent with that one, without objects of its own.
        for state in updates {
            guard let survivor = state.separatedFrom.flatMap({ byName[$0] }), survivor.takesOffList(state.recordName),
                survivor.separatedFrom.map({ byName[$0] != nil }) != true
            else { continue }
            bySurvivor[survivor.recordName, default: []].append(state)
            names.insert(state.recordName)
        }
    }

    /// The objects that an update of a record takes off its list.
    subscript(survivor: String) -> [RecordState] { bySurvivor[survivor] ?? [] }

    func contains(_ name: String) -> Bool { names.contains(name) }
}

extension RecordState {
    fileprivate func takesOffList(_ name: String) -> Bool {
        ancestor.mergedNames.names.contains(name) && !merged.names.contains(name)
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
            guard let former = records[name]?.separatedFrom, let survivor = try record(former),
                records[name]?.supersedingRecord != nil || survivor.ancestor.mergedNames.names.contains(name)
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
