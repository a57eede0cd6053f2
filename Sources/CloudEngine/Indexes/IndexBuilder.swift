// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// What one slice of an index build did.
package struct IndexSlice: Hashable, Sendable {
    /// Whether all indexes are complete.
    package var isComplete: Bool
    /// Records that the slice read.
    package var recordCount: Int

    package init(isComplete: Bool, recordCount: Int) {
        self.isComplete = isComplete
        self.recordCount = recordCount
    }
}

/// Builds indexes of records that there are already, slice by slice.
package struct IndexBuilder: Sendable {
    /// Records that one slice of building takes in, or fewer large ones. Other writers come in between two slices.
    private static let recordsPerSlice = 1000

    let limits: Limits

    /// Takes one more slice of the partition's records into indexes.
    ///
    /// Concurrent writers update the indexes, so a record that changes while they are built is indexed correctly in any
    /// case. Building that was interrupted goes on where it was.
    ///
    /// A partition that was never written to, or whose account was removed, stays without indexes.
    package func build(_ indexes: [RecordIndex], in unit: any PartitionWriter) throws -> IndexSlice {
        guard try unit.state().counter > 0 else { return IndexSlice(isComplete: true, recordCount: 0) }
        let open = try indexes.map { try unit.makeIndex($0) }.filter { !$0.isBuilt }
        // The slice begins where the index begins that is farthest behind; the others take the records twice.
        var start = open.first?.builtUpTo
        for index in open.dropFirst() {
            guard let place = start else { break }
            if index.builtUpTo.map({ RecordPlace.precedes($0, place) }) ?? true { start = index.builtUpTo }
        }
        guard !open.isEmpty else { return IndexSlice(isComplete: true, recordCount: 0) }
        var changes: [Int64: [IndexChange]] = [:]
        var (place, recordCount, bytes, isComplete) = (start, 0, 0, false)
        while !isComplete, recordCount < Self.recordsPerSlice, bytes < limits.queryBytesPerPage {
            let records = try unit.records(after: place, limit: Self.recordsPerSlice - recordCount)
            for (place, record) in records {
                bytes += RecordSize.bytes(of: record)
                for index in open where index.index.recordType == record.recordType {
                    changes[place.zone, default: []].append(
                        IndexChange(index: index.id, recordName: record.recordName, added: index.index.keys(of: record)))
                }
            }
            place = records.last?.place ?? place
            recordCount += records.count
            isComplete = records.isEmpty
        }
        for (zone, changes) in changes { try unit.apply(changes, in: zone) }
        for index in open {
            // One that was ahead of the slice stays there.
            if !isComplete, let place, let old = index.builtUpTo, RecordPlace.precedes(place, old) { continue }
            try unit.setBuilt(index.id, upTo: isComplete ? nil : place)
        }
        return IndexSlice(isComplete: isComplete, recordCount: recordCount)
    }
}
