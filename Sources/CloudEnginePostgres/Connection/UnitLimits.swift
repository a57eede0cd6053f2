// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService

/// Limits of a unit's time inside the database, in milliseconds, from the budget of its request.
///
/// ```
/// statement   the budget            one statement, for example a scan
/// lock        half of it            one wait for a row or a table that another transaction has
/// unit        twice the budget      all statements of the unit together
/// idle        unit + 1 s            a transaction whose process hangs loses its locks
/// ```
///
/// The processor time of the server's own thread has the same budget; the database's time is not in it.
struct UnitLimits: Hashable, Sendable {
    /// Of a session, so of statements outside of units, too.
    static let session = UnitLimits(statement: 60_000, lock: 30_000, unit: nil, idle: 60_000)

    var statement: Int
    var lock: Int
    /// Nil for work without a limit.
    var unit: Int?
    var idle: Int

    /// Seconds for the response to a statement: the server's own limit ends it earlier, unless the server hangs.
    var answerSeconds: Double { Double(statement) / 1000 + 5 }
    /// Seconds for the response to the commit of a unit, which waits for a synchronous standby.
    static let commitSeconds = 10.0

    private init(statement: Int, lock: Int, unit: Int?, idle: Int) {
        (self.statement, self.lock, self.unit, self.idle) = (statement, lock, unit, idle)
    }

    init(_ terms: WorkTerms) {
        guard let budget = terms.milliseconds else {
            self = .session
            return
        }
        let limit = max(1, min(budget, Self.session.statement))
        self.init(statement: limit, lock: max(1, limit / 2), unit: 2 * limit, idle: min(2 * limit + 1000, Self.session.idle))
    }

    /// Sets the limits of one transaction.
    static let statement = """
        SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
            set_config('idle_in_transaction_session_timeout', $3, true)
        """

    var values: PostgresValues { [String(statement), String(lock), String(idle)] }

    /// Sets the limits of a session.
    var sessionSettings: String {
        "SET statement_timeout = \(statement); SET lock_timeout = \(lock); SET idle_in_transaction_session_timeout = \(idle)"
    }
}
