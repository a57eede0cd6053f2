// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import GRDB

extension SQLiteServerStore {
    /// Makes an account with a password that is an operator, in one transaction, unless there is an operator.
    ///
    /// - Returns: `false` if there is an operator; nothing changed then.
    /// - Throws: `StorageFailure` with `.nameTaken`.
    package func addFirstOperator(named name: String, password: String, now: Int64) async throws -> Bool {
        let hash = try await PasswordHash.make(password, passwordParameters)
        return try await writing { db in
            guard try !Self.hasOperator(db) else { return false }
            guard try Self.account(named: name, db) == nil else {
                throw StorageFailure(.nameTaken, "a user of this name is there already")
            }
            try db.execute(
                sql: """
                    INSERT INTO accounts (account, name, created, salt, password, rounds, block_size, parallelism, operator)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
                    """,
                arguments: [
                    try Self.newAccountNumber(db), name, now, hash.salt, hash.hash, hash.parameters.rounds, hash.parameters.blockSize,
                    hash.parameters.parallelism,
                ])
            return true
        }
    }

    package func hasOperator() async throws -> Bool { try await reading { try Self.hasOperator($0) } }

    private static func hasOperator(_ db: Database) throws -> Bool {
        try db.row("SELECT 1 FROM accounts WHERE operator = 1 LIMIT 1", []) != nil
    }
}
