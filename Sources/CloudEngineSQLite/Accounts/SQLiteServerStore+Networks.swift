// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Crypto
import Foundation
import GRDB

/// Networks from which owners of accounts signed in, as hashes.
extension SQLiteServerStore: NetworkStorage {
    static let networkTable = """
        CREATE TABLE password_networks (
            owner INTEGER NOT NULL, network INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (owner, network)) WITHOUT ROWID;
        """

    /// Networks of an account at most.
    private static let networksMax = 8
    /// How long a network is remembered: 30 days.
    static let networkMilliseconds: Int64 = 30 * 24 * 60 * 60 * 1000
    /// Sign-ins within an hour store a network once.
    private static let networkWriteMilliseconds: Int64 = 60 * 60 * 1000

    /// 64 bits of the SHA-256 of a text.
    private static func number(of text: String) -> Int64 {
        Int64(bitPattern: SHA256.hash(data: Data(text.utf8)).prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    package func isKnown(_ networkKey: String, ofAccount account: String, now: Int64) async throws -> Bool {
        try lastSignIn(networkKey, ofAccount: account).map { $0 >= now - Self.networkMilliseconds } ?? false
    }

    private func lastSignIn(_ networkKey: String, ofAccount account: String) throws -> Int64? {
        let (owner, network) = (Self.number(of: account), Self.number(of: networkKey))
        return try lookingUp { db in
            try db.row("SELECT at FROM password_networks WHERE owner = ? AND network = ?", [owner, network]).map { $0[0] }
        }
    }

    /// Removes the networks of an account that is removed.
    static func removeNetworks(ofAccount account: Int64, _ db: Database) throws {
        try db.run("DELETE FROM password_networks WHERE owner = ?", [number(of: AttemptKey.account(account))])
    }

    package func storeNetwork(_ networkKey: String, ofAccount account: String, now: Int64) async throws {
        if let last = try lastSignIn(networkKey, ofAccount: account), (0..<Self.networkWriteMilliseconds).contains(now - last) { return }
        let (owner, network) = (Self.number(of: account), Self.number(of: networkKey))
        try await writing { db in
            try db.run("INSERT OR REPLACE INTO password_networks (owner, network, at) VALUES (?, ?, ?)", [owner, network, now])
            let stored = try db.rows("SELECT network, at FROM password_networks WHERE owner = ?", [owner])
            let oldest = stored.map { row -> (network: Int64, at: Int64) in (row[0], row[1]) }.filter { $0.network != network }
                .sorted { $0.at > $1.at }.dropFirst(Self.networksMax - 1)
            for old in oldest { try db.run("DELETE FROM password_networks WHERE owner = ? AND network = ?", [owner, old.network]) }
        }
    }
}
