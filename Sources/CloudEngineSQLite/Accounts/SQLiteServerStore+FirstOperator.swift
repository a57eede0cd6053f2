// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
import GRDB

extension SQLiteServerStore {
    package func addFirstOperator(
        named name: String, password: String, isClaiming: Bool, now: Int64
    ) async throws -> FirstOperatorOutcome {
        let hash = try await PasswordHash.make(password, passwordParameters)
        return try await writing { db in
            guard try !Self.hasOperator(db) else { return .operatorExists }
            if let account = try Self.account(named: name, db) {
                let isClaimable =
                    try !Self.isBeingRemoved(account, db) && Self.identities(of: account, db).isEmpty
                    && db.row("SELECT 1 FROM accounts WHERE account = ? AND password IS NOT NULL", [account]) == nil
                guard isClaiming, isClaimable else { return .nameTaken(isClaimable: isClaimable) }
                try Self.setPassword(hash, of: account, db)
                try db.execute(sql: "UPDATE accounts SET operator = 1 WHERE account = ?", arguments: [account])
                return .added
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
            return .added
        }
    }

    package func hasOperator() async throws -> Bool { try await reading { try Self.hasOperator($0) } }

    private static func hasOperator(_ db: Database) throws -> Bool {
        try db.row("SELECT 1 FROM accounts WHERE operator = 1 LIMIT 1", []) != nil
    }
}
