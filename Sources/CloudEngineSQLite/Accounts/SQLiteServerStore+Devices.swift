// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire
import Foundation
import GRDB
import Synchronization
import SystemSupport

/// Devices and web sessions: the valid ones, their last use, and their end.
extension SQLiteServerStore {
    package func isInForce(_ credential: CredentialReference, now: Int64) async throws -> Bool {
        try lookingUp { db in
            switch credential {
            case .device(let account, let device):
                try db.row(
                    "SELECT 1 FROM devices WHERE account = ? AND device = ? AND (expires IS NULL OR expires > ?)", [account, device, now])
                    != nil
            case .session(let idHash):
                try db.row(
                    """
                    SELECT 1 FROM web_sessions s WHERE id_hash = ? AND (device IS NULL OR EXISTS (
                        SELECT 1 FROM devices d WHERE d.account = s.account AND d.device = s.device AND (d.expires IS NULL OR d.expires > ?)))
                    """, [idHash, now]) != nil
            case .serverKey(let id):
                try db.row("SELECT 1 FROM server_keys WHERE id = ? AND (expires IS NULL OR expires > ?)", [id, now]) != nil
            }
        }
    }

    private static let revocationsKey = "revocations"

    package func revocationCount() async throws -> Int64 {
        let count: Int64 = try lookingUp { db in
            try db.row("SELECT value FROM meta WHERE key = ?", [Self.revocationsKey]).map { $0[0] } ?? 0
        }
        if keysSeen.withLock({ $0 != count }) {
            try reloadSealingKeys()
            // After the keys were read: a failure is tried again with the next call.
            keysSeen.withLock { $0 = count }
        }
        return count
    }

    /// Called in the transaction of each revocation: other processes find out by the count.
    static func countRevocation(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO meta (key, value) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET value = value + 1",
            arguments: [revocationsKey])
    }

    static func deviceID(of credential: CredentialReference?) -> String? {
        guard case .device(_, let device)? = credential else { return nil }
        return device
    }

    package func store(_ uses: [CredentialReference: CredentialUse]) async throws {
        try await writing { db in
            for (credential, use) in uses {
                switch credential {
                case .device(let account, let device):
                    try db.cachedStatement(
                        sql: "UPDATE devices SET last_used = ?, network = ?, platform = ? WHERE account = ? AND device = ?"
                    ).execute(arguments: [use.time, use.network, use.platform, account, device])
                case .session(let idHash):
                    try db.cachedStatement(sql: "UPDATE web_sessions SET last_used = ?, network = ?, platform = ? WHERE id_hash = ?")
                        .execute(arguments: [use.time, use.network, use.platform, Data(idHash)])
                case .serverKey: break
                }
            }
        }
    }

    package func accesses(ofUser name: String) async throws -> [AccountAccess] {
        try await reading { db in
            let account = try Self.requiredAccount(named: name, db)
            let devices = try Row.fetchAll(
                db,
                sql: """
                    SELECT device, label, created, expires, last_used, network, platform FROM devices WHERE account = ? ORDER BY created, device
                    """, arguments: [account])
            let sessions = try Row.fetchAll(
                db,
                sql: """
                    SELECT id_hash, container, started, device, last_used, network, platform FROM web_sessions
                    WHERE account = ? ORDER BY started, id_hash
                    """, arguments: [account])
            return devices.map { row in
                AccountAccess(
                    kind: .device(label: row[1], expires: row[3]), id: row[0], began: row[2], lastUse: Self.use(row, from: 4))
            }
                + sessions.map { row in
                    let hash: Data = row[0]
                    return AccountAccess(
                        kind: .session(SessionUse(row[1]), deviceID: row[3]),
                        id: Hex.text(hash.prefix(AccountAccess.sessionIDBytes)), began: row[2], lastUse: Self.use(row, from: 4))
                }
        }
    }

    private static func use(_ row: Row, from column: Int) -> CredentialUse? {
        let time: Int64? = row[column]
        return time.map { CredentialUse(time: $0, network: row[column + 1] ?? "", platform: row[column + 2] ?? "") }
    }

    package func removeDevice(labelled label: String, ofUser name: String) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            // An account has few devices, and no index has labels.
            let devices = try Row.fetchAll(db, sql: "SELECT device, label FROM devices WHERE account = ?", arguments: [account])
                .filter { $0[1] == label }.map { row -> String in row[0] }
            guard !devices.isEmpty else { throw StorageFailure(.unknownName, "the user has no device of this label") }
            for device in devices { try Self.remove(device: device, of: account, db) }
        }
    }

    package func removeDevice(id: String, ofUser name: String) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            guard try Self.remove(device: id, of: account, db) else {
                throw StorageFailure(.unknownName, "the user has no device of this identifier")
            }
        }
    }

    /// Deletes a device's token and the web sessions that were made with it.
    @discardableResult
    private static func remove(device: String, of account: Int64, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM devices WHERE account = ? AND device = ?", arguments: [account, device])
        let wasThere = db.changesCount > 0
        try db.execute(sql: "DELETE FROM web_sessions WHERE account = ? AND device = ?", arguments: [account, device])
        try countRevocation(db)
        return wasThere
    }

    package func endSessions(ofUser name: String, id: String?) async throws {
        let prefix = try id.map { text in
            guard let bytes = Hex.bytes(text), bytes.count == AccountAccess.sessionIDBytes else {
                throw StorageFailure(.unknownName, "the user has no session of this identifier")
            }
            return bytes
        }
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            let hashes = try Data.fetchAll(db, sql: "SELECT id_hash FROM web_sessions WHERE account = ?", arguments: [account])
            let ended = hashes.filter { prefix == nil || $0.prefix(AccountAccess.sessionIDBytes).elementsEqual(prefix ?? []) }
            guard id == nil || !ended.isEmpty else { throw StorageFailure(.unknownName, "the user has no session of this identifier") }
            for hash in ended { try db.execute(sql: "DELETE FROM web_sessions WHERE id_hash = ?", arguments: [hash]) }
            if !ended.isEmpty { try Self.countRevocation(db) }
        }
    }
}
