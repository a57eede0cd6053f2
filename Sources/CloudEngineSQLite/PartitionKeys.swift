// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import GRDB
import Synchronization

/// The keys of partitions, which never change: every request asks for one.
final class PartitionKeys: Sendable {
    private static let keptMax = 10_000

    private let known = Mutex<[Partition: Int64]>([:])

    /// The key of a partition, if it is cached. Only committed keys may be set.
    subscript(_ partition: Partition) -> Int64? {
        get { known.withLock { $0[partition] } }
        set {
            known.withLock { known in
                // A cache, so it may be emptied at any time.
                if known.count >= Self.keptMax { known.removeAll() }
                known[partition] = newValue
            }
        }
    }

    /// A partition in a transaction that reads, and so sees committed rows only.
    func unit(reading partition: Partition, _ db: Database, allowance: ReadAllowance? = nil, clock: UnitClock? = nil) throws -> SQLiteUnit {
        let part = self[partition]
        let unit = try SQLiteUnit(reading: partition, part: part, db, allowance: allowance, clock: clock)
        if part == nil, let found = unit.part { self[partition] = found }
        return unit
    }
}
