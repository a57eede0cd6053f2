// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

/// A failure of a statement or of a connection, by its SQLSTATE.
///
/// The server's message is not stored: it may quote values.
///
/// Source: PostgreSQL's documentation, appendix "PostgreSQL Error Codes".
struct PostgresError: Error, Hashable, Sendable {
    enum Class: Hashable, Sendable {
        /// The transaction lost to another one and may be executed again: serialization failures and deadlocks.
        case conflict
        /// The connection or the server ended. A commit in flight may have been carried out.
        case connection
        /// A row with this key exists.
        case duplicate
        /// The server has no room or no free connection.
        case exhausted
        /// The statement, or its wait for a lock, took too long.
        case timeout
        /// The database's data is elsewhere, and it rejects writes.
        case moved
        case other
    }

    /// Five characters; `08006` for a connection that was lost.
    var state: String

    init(state: String) { self.state = state }

    static let connectionLost = PostgresError(state: "08006")
    static let lockTimeoutState = "55P03"
    /// Of the trigger that rejects writes to a database that was moved: a class of its own, which PostgreSQL does not use.
    static let movedState = "TN001"

    /// A database that speaks PostgreSQL without its functions of replication.
    var isUnknownFunction: Bool { ["42883", "0A000"].contains(state) }

    var failureClass: Class {
        switch state {
        case "40001", "40P01": .conflict
        // Shut down by an operator, crashed, starting, or no primary any more.
        case "57P01", "57P02", "57P03", "57P05", "25006", "25P03": .connection
        case "23505": .duplicate
        case "57014", Self.lockTimeoutState: .timeout
        case Self.movedState: .moved
        default: state.hasPrefix("08") ? .connection : state.hasPrefix("53") ? .exhausted : .other
        }
    }

    /// The error of a transaction that this one ended.
    ///
    /// - Parameters:
    ///   - isCommitSent: Whether the server may have committed changes.
    ///   - isIdempotent: Whether another execution would find the answer of a committed one.
    func failure(isCommitSent: Bool, isIdempotent: Bool = false) -> any Error {
        switch failureClass {
        case .conflict: PostgresRetry(failure: storageFailure)
        case .connection where isCommitSent && !isIdempotent: StorageFailure.unknownOutcome
        case .connection: PostgresRetry(failure: StorageFailure(.busy, "the database server can't be reached"), isInDoubt: isCommitSent)
        default: storageFailure
        }
    }

    var storageFailure: StorageFailure {
        let what = "PostgreSQL state \(state)"
        return switch failureClass {
        case .moved: .moved
        case .timeout: .slow
        case .conflict: StorageFailure(.busy, what)
        case .exhausted: StorageFailure(state == "53100" ? .full : .busy, what)
        case .connection, .duplicate, .other: StorageFailure(.unavailable, what)
        }
    }
}

/// A transaction failed: it may be executed again, since it changed nothing, or stored the answer to its idempotency key.
struct PostgresRetry: Error {
    var failure: StorageFailure
    /// Whether it may have been committed.
    var isInDoubt = false
}

/// No connection, and so nothing was executed.
struct PostgresUnreachable: Error {
    var reason: String

    /// Not `.unavailable`: a server that runs expects its database back, so clients retry.
    var storageFailure: StorageFailure { StorageFailure(.busy, "the database server can't be reached: \(reason)") }
}

extension StorageFailure {
    /// The database needed longer than a unit of work may take. Clients retry later.
    static let slow = StorageFailure(.busy, "the database did not answer in the time of a request")
    /// The connection was lost after the commit was sent, and no idempotency key shows whether it was carried out.
    static let unknownOutcome = StorageFailure(.unavailable, "the connection was lost during a commit: the outcome is unknown")
}
