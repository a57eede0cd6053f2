// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
import Crypto
import Foundation
import GRDB

extension SQLiteServerStore: SecondFactorStorage {
    package func secondFactor(ofAccount account: Int64) async throws -> SecondFactorState? {
        try await reading { db in
            let since = try Int64.fetchOne(
                db, sql: "SELECT confirmed FROM second_factors WHERE account = ? AND confirmed IS NOT NULL", arguments: [account])
            let codes = try Int.fetchOne(db, sql: "SELECT count(*) FROM recovery_codes WHERE account = ?", arguments: [account])
            return since.map { SecondFactorState(since: $0, recoveryCodes: codes ?? 0) }
        }
    }

    package func beginSecondFactor(ofAccount account: Int64, now: Int64) async throws -> [UInt8] {
        let secret = Data(Secrets.bytes(TimeCode.secretBytes))
        try await writing { db in
            try db.execute(
                sql: """
                    INSERT INTO second_factors (account, secret, began) VALUES (?, ?, ?)
                    ON CONFLICT (account) DO UPDATE SET secret = excluded.secret, began = excluded.began WHERE confirmed IS NULL
                    """, arguments: [account, secret, now])
            guard db.changesCount > 0 else { throw StorageFailure(.nameTaken, "the account has a second factor already") }
        }
        return [UInt8](secret)
    }

    /// Milliseconds in which a secret has to be confirmed: it was shown on a page.
    private static let setupMilliseconds: Int64 = 3_600_000

    package func confirmSecondFactor(ofAccount account: Int64, code: String, now: Int64) async throws -> [String]? {
        let secret = try await reading { db in
            try Data.fetchOne(
                db, sql: "SELECT secret FROM second_factors WHERE account = ? AND confirmed IS NULL AND began > ?",
                arguments: [account, now - Self.setupMilliseconds])
        }
        let text = SecondFactorText.normalized(code)
        guard let secret, let step = TimeCode.step(of: text, secret: [UInt8](secret), now: now, after: 0) else { return nil }
        let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode.make() }
        return try await writing { db in
            try db.execute(
                sql: "UPDATE second_factors SET confirmed = ?, last_step = ? WHERE account = ? AND confirmed IS NULL AND secret = ?",
                arguments: [now, step, account, secret])
            guard db.changesCount > 0 else { return nil }
            try db.execute(sql: "DELETE FROM recovery_codes WHERE account = ?", arguments: [account])
            for code in codes {
                try db.execute(
                    sql: "INSERT INTO recovery_codes (account, code_hash) VALUES (?, ?)", arguments: [account, RecoveryCode.hash(code)])
            }
            return codes
        }
    }

    package func useSecondFactor(_ code: String, ofAccount account: Int64, now: Int64) async throws -> Bool {
        let found = try await reading { db in
            try Row.fetchOne(
                db, sql: "SELECT secret, last_step FROM second_factors WHERE account = ? AND confirmed IS NOT NULL", arguments: [account]
            ).map { row -> (secret: Data, last: Int64) in (row[0], row[1]) }
        }
        guard let found else { return false }
        if let step = TimeCode.step(of: SecondFactorText.normalized(code), secret: [UInt8](found.secret), now: now, after: found.last) {
            // Of two that send one code at the same time, one is let in.
            return try await writing { db in
                try db.execute(
                    sql: "UPDATE second_factors SET last_step = ? WHERE account = ? AND last_step < ? AND secret = ?",
                    arguments: [step, account, step, found.secret])
                return db.changesCount > 0
            }
        }
        guard let hash = RecoveryCode.hash(code) else { return false }
        return try await writing { db in
            try db.execute(sql: "DELETE FROM recovery_codes WHERE account = ? AND code_hash = ?", arguments: [account, hash])
            return db.changesCount > 0
        }
    }

    package func passwordVersion(ofAccount account: Int64) async throws -> [UInt8] {
        let row = try await reading { db in
            try Row.fetchOne(
                db, sql: "SELECT salt, password FROM accounts WHERE account = ? AND password IS NOT NULL", arguments: [account]
            )
            .map { row -> (salt: Data, hash: Data) in (row[0], row[1]) }
        }
        guard let row else { return [] }
        return PasswordHash.version(salt: row.salt, hash: row.hash)
    }

    package func removeSecondFactor(ofUser name: String) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            try db.execute(sql: "DELETE FROM recovery_codes WHERE account = ?", arguments: [account])
            try db.execute(sql: "DELETE FROM second_factors WHERE account = ?", arguments: [account])
            guard db.changesCount > 0 else { throw StorageFailure(.unknownName, "the user has no second factor") }
        }
    }
}
