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
}
