// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

// An object that this device merged, and that turned out to be another object, is taken off the survivor's list of superseded records. Until
// that change is sent, another device may merge the two after all: the server's list is right for a record that the server deletes.

extension RecordState {
    /// The record that superseded the object until this device found that they are two objects; nil for other objects.
    var separatedFrom: String? {
        if case .string(let name)? = ancestor.unapplied[MirrorNames.separatedFrom]?.value { name } else { nil }
    }

    /// Whether this device merged the object into another one, and has not sent its deletion.
    var isMergedHere: Bool { stage == .needsDelete && changeTag != nil && ancestor.unapplied[MirrorNames.mergedFor] != nil }
}

extension ImportPlan.Loaded {
    /// Restores the redirects of deleted records that the server lists as superseded, with the superseding records: their objects were
    /// merged by another device.
    ///
    /// - Parameters:
    ///   - deletions: Names of deleted records, which are loaded.
    ///   - record: Returns a record of the page's zone.
    package mutating func restoreRedirects(of deletions: [String], record: (String) throws -> RecordState?) rethrows {
        for name in deletions {
            guard let former = records[name]?.separatedFrom, let survivor = try record(former),
                survivor.ancestor.mergedNames.names.contains(name)
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
