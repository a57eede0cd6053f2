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
    /// Whether an earlier transaction with the unit failed.
    let isRepeated: Bool
    /// Whether a partition without a row gets one; otherwise the unit fails with ``PartitionVanished``.
    let makesPartition: Bool
    /// Runs the unit, several times if its transaction fails. Returns a function to be called after the commit.
    let run: @Sendable (PostgresUnit) throws -> @Sendable () -> Void
    let fail: @Sendable (any Error) -> Void

    /// Whether it may be in a transaction with others. Maintenance has no limit of time, so others would wait for it for long, and a unit
    /// that failed a transaction may fail the next one, too.
    var isShareable: Bool { terms.milliseconds != nil && !isRepeated }
}

/// One transaction for units of one partition, so that they wait for one flush of the log, and of a standby, together.
///
/// ```
/// unit A ─┐
/// unit B ─┼─ BEGIN, lock of the partition, A, B in a savepoint, C in a savepoint, COMMIT ─ responses to A, B, C
/// unit C ─┘
/// ```
///
/// A unit that throws is undone alone. Its error is sent after the commit, too: it may follow from changes of a unit before it.
///
/// If a statement fails, or if the transaction loses to another one, the database gives it up; then each unit runs again, alone, because
/// statements are sent ahead and the failed one may be of another unit. So a unit ends one transaction of others at most.
struct PartitionTransaction {
    /// Units in one transaction at most.
    static let unitsMax = 64

    private struct Member {
        let write: PostgresWrite
        var state = State.running

        /// Whether the commit of the transaction stores changes of the unit.
        var isCommitted: Bool {
            switch state {
            case .running, .succeeded: true
            case .refused: false
            }
        }

        /// Whether another execution of the unit would find the answer of a committed one.
        var isIdempotent: Bool {
            switch state {
            case .running, .refused: false
            case .succeeded(let isIdempotent, _): isIdempotent
            }
        }
    }

    private enum State {
        case running
        /// - Parameter isIdempotent: Whether the unit stored the answer to its idempotency key.
        case succeeded(isIdempotent: Bool, respond: @Sendable () -> Void)
        /// It was undone.
        case refused(any Error)
    }

    let connection: PostgresConnection
    let units: PostgresUnits
    /// Time since the partition was locked after which no more units join, so that the first one does not wait long for the last.
    let joinTime: Duration

    /// Carries out a unit and those that join it, and calls their functions.
    ///
    /// - Parameter next: Takes the next unit that waits for the partition, if it is shareable.
    func run(_ first: PostgresWrite, joinedBy next: () -> PostgresWrite?) {
        connection.commitSeconds = UnitLimits.commitSeconds
        var members = [Member(write: first)]
        var isCommitSent = false
        do {
            var last = try units.open(first, on: connection)
            let end = ContinuousClock.now + joinTime
            members[0].state = try execute(first, last)
            while first.isShareable, !last.writesOutside, members.count < Self.unitsMax, .now < end, let write = next() {
                members.append(Member(write: write))
                do {
                    let unit = try PostgresUnit(after: last, write.terms)
                    members[members.count - 1].state = try execute(write, unit)
                    last = unit
                } catch let error where !(error is PostgresError) {
                    members[members.count - 1].state = .refused(error)
                }
            }
            try last.commit { isCommitSent = true }
            units.didCommit(last)
        } catch {
            connection.recover()
            return failed(error, members, isCommitSent: isCommitSent)
        }
        for member in members {
            switch member.state {
            case .running: preconditionFailure("a transaction was committed before the end of its last unit")
            case .succeeded(_, let respond): respond()
            case .refused(let error): member.write.fail(error)
            }
        }
    }

    /// - Throws: `PostgresError` if the transaction failed, otherwise the error of the unit, which was undone.
    private func execute(_ write: PostgresWrite, _ unit: PostgresUnit) throws -> State {
        do {
            let respond = try write.run(unit)
            if let event = write.event { try unit.append(event) }
            try unit.end()
            return .succeeded(isIdempotent: unit.isIdempotent, respond: respond)
        } catch let error where !(error is PostgresError) {
            try unit.undo()
            if error is PostgresTimeIsUp { throw PostgresTimeIsUp.wireError }
            throw error
        }
    }

    /// Handles the failure of a transaction, or the error of its first unit.
    private func failed(_ error: any Error, _ members: [Member], isCommitSent: Bool) {
        guard let error = error as? PostgresError else { return members.forEach { $0.write.fail(error) } }
        for member in members {
            if members.count > 1, error.failureClass != .connection {
                run(member.write) { nil }
            } else {
                member.write.fail(
                    error.failure(isCommitSent: isCommitSent && member.isCommitted, isIdempotent: member.isIdempotent))
            }
        }
    }
}
