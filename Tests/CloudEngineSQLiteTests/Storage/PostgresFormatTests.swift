// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import TemporaryPostgres
    import Testing

    @testable import CloudEnginePostgres

    /// The tables of a database, and their formats.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresFormatTests {
        private let address: String

        init() throws { address = try #require(TemporaryPostgres.shared).makeDatabase() }

        /// An index of millions of records takes longer than the minute of a session's statement.
        @Test func statementsThatMakeTablesHaveNoTimeLimit() throws {
            let connection = try PostgresConnection(address)
            let answerSeconds = connection.answerSeconds
            try PostgresFormat.prepare(connection, makesTables: true)
            let limit: String? = try connection.value("SELECT current_setting('statement_timeout')")
            #expect(limit == "0")
            #expect(connection.answerSeconds == answerSeconds)
            connection.close()
        }
    }
#endif
