// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Synchronization

/// Index builds that go on after the queries that need them were answered, at most one in each partition.
///
/// Only progress is in memory. How far an index is built is stored with it, so a build that ends with the process goes on
/// with the next query.
final class IndexBuilds: Sendable {
    private struct Build {
        var indexes: Set<RecordIndex>
        var recordCount: Int
    }

    private let builds = Mutex<[Partition: Build]>([:])

    /// Records that the build of these indexes has taken in; nil unless there is one.
    func recordCount(of indexes: [RecordIndex], in partition: Partition) -> Int? {
        builds.withLock { builds in builds[partition].flatMap { $0.indexes.isSuperset(of: indexes) ? $0.recordCount : nil } }
    }

    /// Adds indexes to the build of a partition.
    ///
    /// - Parameter recordCount: Records that they have already.
    /// - Returns: Whether the caller must carry the build out: there was none.
    func begin(_ indexes: [RecordIndex], in partition: Partition, recordCount: Int) -> Bool {
        builds.withLock { builds in
            guard let build = builds[partition] else {
                builds[partition] = Build(indexes: Set(indexes), recordCount: recordCount)
                return true
            }
            // The build begins again where the index is that is farthest behind.
            builds[partition] = Build(indexes: build.indexes.union(indexes), recordCount: min(build.recordCount, recordCount))
            return false
        }
    }

    /// The indexes of a build, for its next slice.
    func indexes(in partition: Partition) -> Set<RecordIndex> { builds.withLock { $0[partition]?.indexes ?? [] } }

    /// Counts a slice, and ends a build with complete indexes.
    ///
    /// - Parameter indexes: The indexes of the slice; others may have been added since it began.
    func note(_ slice: IndexSlice, of indexes: Set<RecordIndex>, in partition: Partition) {
        builds.withLock { builds in
            builds[partition]?.recordCount += slice.recordCount
            guard slice.isComplete else { return }
            builds[partition]?.indexes.subtract(indexes)
            if builds[partition]?.indexes.isEmpty == true { builds[partition] = nil }
        }
    }

    /// Ends a build that failed.
    func end(in partition: Partition) { builds.withLock { $0[partition] = nil } }
}
