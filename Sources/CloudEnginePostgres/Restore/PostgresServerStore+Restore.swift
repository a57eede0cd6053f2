// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import Synchronization

extension PostgresServerStore: DumpedStorage {
    /// Partitions of one statement.
    private static let partitionsPerStatement = 10_000

    /// In one transaction.
    package func endRestore(now: Int64) async throws -> Int {
        let (count, first) = try await writing { connection in
            // Of a dump that was made during a move.
            try PostgresMoveEnd.forget(connection)
            var count = 0
            var last = Int64.min
            while true {
                let page = try connection.query(PartitionRows.page, [last, Self.partitionsPerStatement]).rows.first
                guard let page, let end: Int64 = page[0] else { break }
                try connection.send(PartitionRows.storeRestorePoint, [last, end, now])
                try connection.send(PartitionRows.raiseEpoch, [last, end, now])
                last = end
                count += page[1]
            }
            // The replaced data may have had partitions that the dump lacks: those that take their place are of another history.
            let meta = PostgresMeta(connection)
            let first = max((try meta.number(PartitionRows.firstEpochKey) ?? PartitionState().epoch) + 1, now)
            try meta.set(PartitionRows.firstEpochKey, to: first)
            // Servers that run by mistake read the epoch again.
            try connection.countRevocation()
            return (count, first)
        }
        units.firstEpoch.store(first, ordering: .relaxed)
        return count
    }
}
