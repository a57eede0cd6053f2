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
        /// The statement took too long.
        case timeout
        case other
    }

    /// Five characters; `08006` for a connection that was lost.
    var state: String

    init(state: String) { self.state = state }

    static let connectionLost = PostgresError(state: "08006")

    var failureClass: Class {
        switch state {
        case "40001", "40P01": .conflict
        // Shut down by an operator, crashed, starting, or no primary any more.
        case "57P01", "57P02", "57P03", "57P05", "25006", "25P03": .connection
        case "23505": .duplicate
        case "57014": .timeout
        default: state.hasPrefix("08") ? .connection : state.hasPrefix("53") ? .exhausted : .other
        }
    }

    var storageFailure: StorageFailure {
        let code: StorageFailure.Code =
            switch failureClass {
            case .conflict, .timeout: .busy
            case .exhausted: state == "53100" ? .full : .busy
            case .connection, .duplicate, .other: .unavailable
            }
        return StorageFailure(code, "PostgreSQL state \(state)")
    }
}

extension StorageFailure {
    /// The connection was lost after the commit was sent, and no idempotency key shows whether it was carried out.
    static let unknownOutcome = StorageFailure(.unavailable, "the connection was lost during a commit: the outcome is unknown")
}
