// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import GRDB
import Synchronization

/// Removal of accounts. The tables are found by the schema: rows with the column `account`, `part` or `user` go with the person of that
/// number, database or name, so that a table of a later format is covered by its columns.
extension SQLiteServerStore: RemovalStorage {
    private static func markerKey(_ account: Int64) -> String { "removal.\(account)" }

    /// Returns `true` for an account that is being removed.
    static func isBeingRemoved(_ account: Int64, _ db: Database) throws -> Bool {
        try db.row("SELECT 1 FROM meta WHERE key = ?", [markerKey(account)]) != nil
    }

    /// Refuses writes of an account that is being removed, or has been: the request was authenticated before.
    ///
    /// - Throws: `WireError` with `.authenticationFailed`.
    static func checkExistence(of account: Int64, _ db: Database, _ memory: WriterMemory) throws {
        let exists = try memory.value(.account(account), db) {
            try db.row("SELECT 1 FROM accounts WHERE account = ?", [account]) != nil && !isBeingRemoved(account, db)
        }
        guard exists else { throw WireError(.authenticationFailed, "the account was removed") }
    }

    package func beginRemoval(
        ofUser name: String, publicRecords: AccountRemoval.PublicRecords
    ) async throws -> AccountRemoval {
        try await requireObjects()
        return try await writing { db in
            guard let row = try Row.fetchOne(db, sql: "SELECT account, email, phone FROM accounts WHERE name = ?", arguments: [name]) else {
                throw StorageFailure.unknownUser
            }
            let account: Int64 = row[0]
            // Content that is deleted from here on is overwritten, not only unlinked.
            try db.execute(sql: "PRAGMA secure_delete = ON")
            try db.execute(sql: "UPDATE accounts SET salt = NULL, password = NULL WHERE account = ?", arguments: [account])
            for table in try PersonalTable.all(db) where table.hasAccount && table.isCredential {
                try db.execute(sql: "DELETE FROM \(table.name) WHERE account = ?", arguments: [account])
            }
            try db.execute(
                sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
                arguments: [Self.markerKey(account), publicRecords.rawValue])
            try Self.countRevocation(db)
            var names: [String: String] = [:]
            for row in try Row.fetchAll(db, sql: "SELECT container, name FROM user_names WHERE account = ?", arguments: [account]) {
                names[row[0]] = row[1]
            }
            var partitions: [Int64: Partition] = [:]
            for (container, owner) in names {
                for environment in CloudEnvironment.allCases {
                    for scope in DatabaseScope.allCases {
                        let partition = Partition(containerIdentifier: container, environment: environment, scope: scope, owner: owner)
                        if let part = try SQLiteUnit.part(of: partition, db) { partitions[part] = partition }
                    }
                }
            }
            return AccountRemoval(
                account: account, accountName: name, publicRecords: publicRecords, userRecordNames: names, emailAddress: row[1],
                phoneNumber: row[2], partitions: partitions)
        }
    }

    package func removeRows(of removal: AccountRemoval, _ willRun: @Sendable () async throws -> Void) async throws {
        let tables = try await reading { try PersonalTable.all($0) }
        for name in removal.userRecordNames.values.sorted() {
            for table in tables where table.hasUser { try await remove(table, user: name, willRun) }
            try await forgetName(name, willRun)
            try await forgetVersions(containing: name, removal, willRun)
            try await forgetChangeLog(of: name, willRun)
        }
        // Answers have shares in them, and thus addresses.
        for address in [removal.emailAddress, removal.phoneNumber].compactMap({ $0 }) {
            try await forgetAnswers(containing: address, willRun)
            try await forgetShareVersions(containing: address, willRun)
        }
        for part in removal.partitions.keys.sorted() {
            let uploads = try await reading { try String.fetchAll($0, sql: "SELECT id FROM uploads WHERE part = ?", arguments: [part]) }
            for upload in uploads { unlink(folder.files.partial(upload: upload)) }
            for table in tables where table.hasPart && !["partitions", "object_parts"].contains(table.name) {
                try await remove(table, part: part, willRun)
            }
            try? FileManager.default.removeItem(atPath: folder.files.files(part: part))
            try await removeObjects(part: part)
        }
    }

    package func endRemoval(_ removal: AccountRemoval) async throws {
        let folder = folder
        try await writing { [staged] db in
            for table in try PersonalTable.all(db) {
                // A request in flight may have written before its account was marked, and after its rows were deleted.
                if table.hasPart {
                    for part in removal.partitions.keys.sorted() {
                        try db.execute(sql: "DELETE FROM \(table.name) WHERE part = ?", arguments: [part])
                    }
                }
                if table.hasAccount, table.name != "accounts" {
                    try db.execute(sql: "DELETE FROM \(table.name) WHERE account = ?", arguments: [removal.account])
                }
            }
            // With the rows: after the commit nothing would find the files again.
            for part in removal.partitions.keys { try? FileManager.default.removeItem(atPath: folder.files.files(part: part)) }
            // No server stages a request while this transaction has the lock, and none for this account after it.
            staged.removeAll()
            try Self.neverAgain(removal.account, in: .account, db)
            try Self.neverAgain(removal.partitions.keys.max() ?? 0, in: .part, db)
            // Their column is a hash.
            try Self.removeNetworks(ofAccount: removal.account, db)
            try db.execute(sql: "DELETE FROM accounts WHERE account = ?", arguments: [removal.account])
            try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [Self.markerKey(removal.account)])
            try Self.countRevocation(db)
        }
        userNames.withLock { names in names = names.filter { $0.key.account != removal.account } }
        for partition in removal.partitions.values { parts[partition] = nil }
        // The log has pages from before.
        try await truncateLog()
    }

    /// Moves the write-ahead log into the database and empties it, since it has pages with content that was deleted.
    ///
    /// - Returns: `false` if readers prevented it for ten seconds: the log has the pages until it is overwritten.
    @discardableResult
    func truncateLog() async throws -> Bool {
        let (pool, lock) = (pool, writeLock)
        return try await DiskQueue.run {
            do {
                // Checkpoints exclude the writes of other processes: see `FolderLock`.
                return try lock.withLock { try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } }.walFrameCount == 0
            } catch is DatabaseError {
                return false
            }
        }
    }

    // MARK: Numbers

    /// Numbers that name rows for caches and for requests in flight, and so are never given again.
    enum RowNumber: String {
        case account = "removed.account"
        case part = "removed.part"
    }

    static func neverAgain(_ number: Int64, in kind: RowNumber, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
            arguments: [kind.rawValue, number])
    }

    /// The greatest number that was given to an account or a partition that was removed.
    static func greatestRemoved(_ kind: RowNumber, _ db: Database) throws -> Int64 {
        try db.row("SELECT value FROM meta WHERE key = ?", [kind.rawValue]).map { $0[0] } ?? 0
    }
}
