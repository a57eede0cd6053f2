// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// An index of a partition.
package struct StoredIndex: Hashable, Sendable {
    package var id: Int64
    package var index: RecordIndex
    /// Whether it has all records. One that has not is kept up all the same.
    package var isBuilt: Bool
    /// Where building goes on.
    package var builtUpTo: RecordPlace?

    package init(id: Int64, index: RecordIndex, isBuilt: Bool, builtUpTo: RecordPlace? = nil) {
        self.id = id
        self.index = index
        self.isBuilt = isBuilt
        self.builtUpTo = builtUpTo
    }
}

extension StoredIndex {
    /// What becomes of a record's entries: nil if they stay. Records that do not exist, or are deleted, have none.
    package func change(of recordName: String, from old: Record?, to new: Record?) -> IndexChange? {
        let before = keys(of: old), after = keys(of: new)
        guard before != after else { return nil }
        return IndexChange(
            index: id, recordName: recordName, removed: Array(before.subtracting(after)), added: Array(after.subtracting(before)))
    }

    private func keys(of record: Record?) -> Set<[UInt8]> { record.flatMap { $0.isDeleted ? nil : Set(index.keys(of: $0)) } ?? [] }
}

/// A record by its place in the partition.
package struct RecordPlace: Hashable, Sendable {
    package var zone: Int64
    package var recordName: String

    package init(zone: Int64, recordName: String) {
        self.zone = zone
        self.recordName = recordName
    }

    static func precedes(_ a: RecordPlace, _ b: RecordPlace) -> Bool {
        a.zone != b.zone ? a.zone < b.zone : a.recordName.utf8.lexicographicallyPrecedes(b.recordName.utf8)
    }
}

/// A place in an index: entries stand by key, then by name.
package struct IndexPlace: Hashable, Sendable {
    package var key: [UInt8]
    package var recordName: String

    package init(key: [UInt8], recordName: String) {
        self.key = key
        self.recordName = recordName
    }
}

/// A part of an index: one zone, a range of keys, in one direction.
package struct IndexScan: Hashable, Sendable {
    package var index: Int64
    package var zone: Int64
    package var range: KeyRange
    /// Only entries after this one, in the direction of the scan.
    package var after: IndexPlace?
    package var descending: Bool

    package init(index: Int64, zone: Int64, range: KeyRange, after: IndexPlace? = nil, descending: Bool = false) {
        self.index = index
        self.zone = zone
        self.range = range
        self.after = after
        self.descending = descending
    }
}

package struct IndexRow: Hashable, Sendable {
    package var key: [UInt8]
    package var record: StoredRecord
    /// Bytes of the record's text.
    package var bytes: Int

    package init(key: [UInt8], record: StoredRecord, bytes: Int) {
        self.key = key
        self.record = record
        self.bytes = bytes
    }
}

/// What becomes of one record's entries in one index.
package struct IndexChange: Hashable, Sendable {
    package var index: Int64
    package var recordName: String
    package var removed: [[UInt8]]
    package var added: [[UInt8]]

    package init(index: Int64, recordName: String, removed: [[UInt8]] = [], added: [[UInt8]] = []) {
        self.index = index
        self.recordName = recordName
        self.removed = removed
        self.added = added
    }
}

/// Thrown by a query that needs indexes which are not built yet.
package struct IndexesMissing: Error, Hashable, Sendable {
    package var indexes: [RecordIndex]
}
