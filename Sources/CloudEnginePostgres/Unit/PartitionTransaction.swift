// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService

/// A unit that writes to a partition and waits for its turn.
struct PostgresWrite: Sendable {
    let partition: Partition
    let terms: WorkTerms
    /// Stored with the unit.
    let event: AuditEvent?
    /// Runs the unit, several times if its transaction fails. Returns a function to be called after the commit.
    let run: @Sendable (PostgresUnit) throws -> @Sendable () -> Void
    let fail: @Sendable (any Error) -> Void
}

/// One transaction for units of one partition, so that they wait for one flush of the log, and of a standby, together.
///
/// ```
/// unit A ─┐
/// unit B ─┼─ BEGIN, lock of the partition, A, B in a savepoint, C in a savepoint, COMMIT ─ responses to A, B, C
/// unit C ─┘
/// ```
///
/// A unit that throws is undone alone. If a statement fails, the database gives the transaction up; then each unit runs again, alone,
/// because statements are sent ahead and the failed one may be of another unit.
struct PartitionTransaction {
    /// Units in one transaction at most.
    static let unitsMax = 64
    private struct Ended {
        let write: PostgresWrite
        let isIdempotent: Bool
        let succeed: @Sendable () -> Void
    }

    let connection: PostgresConnection
    let units: PostgresUnits
    /// Time since the partition was locked after which no more units join, so that the first one does not wait long for the last.
    let joinTime: Duration

    /// Carries out a unit and those that join it, and calls their functions.
    ///
    /// - Parameter next: Takes the next unit that waits for the partition.
    func run(_ first: PostgresWrite, joinedBy next: () -> PostgresWrite?) {
        connection.commitSeconds = UnitLimits.commitSeconds
        var ended: [Ended] = []
        var last: PostgresUnit?
        var write: PostgresWrite? = first
        var isCommitSent = false
        var end = ContinuousClock.now
        do {
            while let current = write {
                write = nil
                do {
                    let unit = try last.map { try PostgresUnit(after: $0, current.terms) } ?? units.open(current, on: connection)
                    if last == nil { end = .now + joinTime }
                    ended.append(try execute(current, unit))
                    last = unit
                } catch let error where !(error is PostgresError) {
                    if last == nil { connection.recover() }
                    current.fail(error is PostgresTimeIsUp ? PostgresTimeIsUp.wireError : error)
                    if last == nil { return }
                } catch {
                    ended.append(Ended(write: current, isIdempotent: false) {})
                    throw error
                }
                if ended.count < Self.unitsMax, .now < end { write = next() }
            }
            guard let last else { return }
            try last.commit { isCommitSent = true }
            units.didCommit(last)
        } catch {
            connection.recover()
            return failed(error, ended, isCommitSent: isCommitSent)
        }
        for unit in ended { unit.succeed() }
    }

    private func execute(_ write: PostgresWrite, _ unit: PostgresUnit) throws -> Ended {
        do {
            let succeed = try write.run(unit)
            if let event = write.event { try unit.append(event) }
            try unit.end()
            return Ended(write: write, isIdempotent: unit.isIdempotent, succeed: succeed)
        } catch let error where !(error is PostgresError) {
            try unit.undo()
            throw error
        }
    }

    /// Handles the failure of a transaction.
    private func failed(_ error: any Error, _ units: [Ended], isCommitSent: Bool) {
        guard let error = error as? PostgresError else { return units.forEach { $0.write.fail(error) } }
        for unit in units {
            if error.isOfOneStatement, units.count > 1 {
                run(unit.write) { nil }
            } else {
                unit.write.fail(error.failure(isCommitSent: isCommitSent, isIdempotent: unit.isIdempotent))
            }
        }
    }
}
