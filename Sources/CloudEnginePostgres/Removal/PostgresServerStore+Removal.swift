// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import Synchronization

/// Removal of accounts. The tables are found by the schema, as in the embedded engine: rows with the column `account`, `part` or `user_name`
/// go with the person of that number, database or name.
///
/// Other processes write at the same time. A unit checks its account after it locked its partition, so a unit in flight is either ended
/// before the rows are deleted, or refused:
///
/// ```
/// begin    credentials, marker, commit; wait for all transactions that began before
/// rows     …
/// end      locks of the person's partitions; rows that a unit in flight wrote; account
/// ```
extension PostgresServerStore: RemovalStorage {
    package func beginRemoval(ofUser name: String, publicRecords: AccountRemoval.PublicRecords) async throws -> AccountRemoval {
        try await requireObjects()
        let removal = try await writing { connection in
            let row = try connection.query("SELECT account, email, phone FROM accounts WHERE name = $1 FOR UPDATE", [name]).rows.first
            guard let row else { throw StorageFailure.unknownUser }
            let account: Int64 = row[0]
            try connection.send("UPDATE accounts SET salt = NULL, password = NULL WHERE account = $1", [account])
            for table in try PersonalTable.all(connection) where table.hasAccount && table.isCredential {
                try connection.send("DELETE FROM \(table.name) WHERE account = $1", [account])
            }
            try PostgresMeta(connection).set(AccountRows.removalKey(account), to: Array(publicRecords.rawValue.utf8))
            try connection.countRevocation()
            let names = try connection.userRecordNames(of: account)
            return AccountRemoval(
                account: account, accountName: name, publicRecords: publicRecords, userRecordNames: names, emailAddress: row[1],
                phoneNumber: row[2], partitions: try connection.partitions(of: names))
        }
        try await awaitEarlierTransactions()
        return removal
    }

    /// Longer than an idle transaction lives.
    private static let waitSeconds = 70.0

    /// Waits for the transactions that began before, of all processes: their checks of accounts are from before the marker.
    ///
    /// - Throws: `StorageFailure` with `.busy`.
    private func awaitEarlierTransactions() async throws {
        let time: String? = try await reading { try $0.value("SELECT clock_timestamp()::text") }
        let deadline = ContinuousClock.now + .seconds(Self.waitSeconds)
        while .now < deadline {
            let count: Int64? = try await reading {
                try $0.value(
                    """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tarn'
                    AND pid <> pg_backend_pid() AND xact_start < $1::timestamptz
                    """, [time])
            }
            if count == 0 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw StorageFailure(.busy, "transactions that began before the removal have not ended")
    }

    package func removeRows(of removal: AccountRemoval, _ willRun: @Sendable () async throws -> Void) async throws {
        let tables = try await reading { try PersonalTable.all($0) }
        for name in removal.userRecordNames.values.sorted() {
            for table in tables where table.hasUser { try await remove(table, user: name, willRun) }
            try await forgetName(name, removal, tables, willRun)
        }
        // Answers have shares in them, and thus addresses.
        for address in [removal.emailAddress, removal.phoneNumber].compactMap({ $0 }) {
            try await forgetAddress(address, tables, willRun)
        }
        for part in removal.partitions.keys.sorted() {
            let uploads = try await reading { try $0.query(AssetRows.uploadsOfPartition, [part]).rows.map { $0[0] as String } }
            for upload in uploads { unlink(assetFolder.partial(upload: upload)) }
            for table in tables where table.hasPart && !["partitions", "object_parts"].contains(table.name) {
                try await remove(table, part: part, willRun)
            }
            removeFolder(ofPartition: part)
            try await removeObjects(part: part)
        }
    }

    package func endRemoval(_ removal: AccountRemoval) async throws {
        let parts = removal.partitions.keys.sorted()
        try await writing { [self] connection in
            // Later units of these partitions wait for the commit, and then find neither the partition nor the account.
            for part in parts { _ = try connection.query(PartitionRows.lock, [part]) }
            for table in try PersonalTable.all(connection) {
                if table.hasPart {
                    for part in parts { try connection.send("DELETE FROM \(table.name) WHERE part = $1", [part]) }
                }
                if table.hasAccount, table.name != "accounts" {
                    try connection.send("DELETE FROM \(table.name) WHERE account = $1", [removal.account])
                }
            }
            // With the rows: after the commit nothing would find the files again.
            for part in parts { removeFolder(ofPartition: part) }
            try connection.send("DELETE FROM accounts WHERE account = $1", [removal.account])
            try PostgresMeta(connection).remove(AccountRows.removalKey(removal.account))
            try connection.countRevocation()
        }
        userNames.withLock { names in names = names.filter { !$0.key.hasPrefix("\(removal.account) ") } }
        units.forget(Array(removal.partitions.values))
    }

    private func removeFolder(ofPartition part: Int64) { try? FileManager.default.removeItem(atPath: assetFolder.files(part: part)) }
}

extension PostgresConnection {
    /// The account's record names by container.
    func userRecordNames(of account: Int64) throws -> [String: String] {
        let rows = try query("SELECT container, name FROM user_names WHERE account = $1", [account]).rows
        return Dictionary(rows.map { ($0[0] as String, $0[1] as String) }, uniquingKeysWith: { first, _ in first })
    }

    /// A person's databases, with their keys.
    ///
    /// - Parameter names: Record names by container.
    func partitions(of names: [String: String]) throws -> [Int64: Partition] {
        var partitions: [Int64: Partition] = [:]
        for (container, owner) in names {
            for environment in CloudEnvironment.allCases {
                for scope in DatabaseScope.allCases {
                    let partition = Partition(containerIdentifier: container, environment: environment, scope: scope, owner: owner)
                    if let part = try part(of: partition) { partitions[part] = partition }
                }
            }
        }
        return partitions
    }

    /// The key of a partition; nil if it has no row.
    func part(of partition: Partition) throws -> Int64? {
        var key = PartitionKey(partition)
        while let row = try query(PartitionRows.read, [key.part]).rows.first {
            if PartitionRows.isRow(row, of: partition) { return key.part }
            key = key.next(partition)
        }
        return nil
    }
}
