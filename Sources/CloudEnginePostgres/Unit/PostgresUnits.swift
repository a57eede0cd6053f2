// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import Synchronization

/// Opens units of work, and remembers of their partitions what saves the next ones round trips.
final class PostgresUnits: Sendable {
    /// Partitions that are remembered at most.
    private static let partitionsMax = 100_000

    /// The epoch of partitions that are made from now on: a restore from a backup raises it.
    let firstEpoch: Atomic<Int64>
    private let prefetch = PostgresPrefetch()
    /// Partitions with committed rows.
    private let known = Mutex<Set<Partition>>([])
    private let committed = Atomic(0)

    init(firstEpoch: Int64) { self.firstEpoch = Atomic(firstEpoch) }

    /// Transactions that this process has committed.
    var commits: Int { committed.load(ordering: .relaxed) }

    func countCommit() { committed.add(1, ordering: .relaxed) }

    func open(
        reading partition: Partition, _ terms: WorkTerms, on connection: PostgresConnection, _ cancellation: PostgresCancellation
    ) throws -> PostgresUnit {
        try PostgresUnit(
            partition, isWriting: false, exists: false, terms, connection, firstEpoch: firstEpoch.load(ordering: .relaxed),
            prefetched: prefetch[partition], cancellation: cancellation)
    }

    /// Begins a transaction with its first unit.
    func open(_ write: PostgresWrite, on connection: PostgresConnection) throws -> PostgresUnit {
        let exists = !write.makesPartition || known.withLock { $0.contains(write.partition) }
        do {
            return try open(write, exists: exists, on: connection)
        } catch is PartitionVanished where write.makesPartition {
            connection.recover()
            return try open(write, exists: false, on: connection)
        }
    }

    private func open(_ write: PostgresWrite, exists: Bool, on connection: PostgresConnection) throws -> PostgresUnit {
        try PostgresUnit(
            write.partition, isWriting: true, exists: exists, write.terms, connection, firstEpoch: firstEpoch.load(ordering: .relaxed),
            prefetched: prefetch[write.partition])
    }

    func didRead(_ unit: PostgresUnit) { prefetch[unit.partition] = unit.questions }

    /// - Parameter last: The last unit of the transaction.
    func didCommit(_ last: PostgresUnit) {
        countCommit()
        prefetch[last.partition] = last.questions
        let partition = last.partition
        known.withLock { known in
            // A cache, so it may be emptied at any time.
            if known.count >= Self.partitionsMax { known.removeAll() }
            known.insert(partition)
        }
    }

    /// Forgets partitions that were removed.
    func forget(_ partitions: [Partition]) { known.withLock { $0.subtract(partitions) } }
}
