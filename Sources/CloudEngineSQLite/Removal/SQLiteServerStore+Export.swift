// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire
import Foundation
import GRDB

/// The stored data of an account outside its databases, without secrets.
package struct AccountData: Sendable {
    package var profile: AccountProfile
    /// Milliseconds since 1970 UTC.
    package var created: Int64
    /// Bytes; nil for the server's default, 0 for any number.
    package var quota: Int64?
    /// User record names by container.
    package var userRecordNames: [String: String]
    /// Roles by container and environment.
    package var roles: [(containerIdentifier: String, environment: String, role: String)]
    /// Containers and environments in which the processing of the user's data is paused.
    package var restrictions: [(containerIdentifier: String, environment: String)]
    package var partitions: [Partition]
    /// Lines of the audit log with the account's name, oldest first.
    package var auditEvents: [AuditEvent]
}

extension SQLiteServerStore {
    /// The account's own data, for a copy that its person gets.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`.
    package func accountData(ofUser name: String) async throws -> AccountData {
        try await reading { db in
            guard
                let row = try Row.fetchOne(
                    db,
                    sql:
                        "SELECT account, created, quota, name, given_name, family_name, email, phone, discoverable, operator FROM accounts WHERE name = ?",
                    arguments: [name])
            else { throw StorageFailure(.unknownName, "no user has this name") }
            let account: Int64 = row[0]
            let profile = AccountProfile(
                accountName: row[3], name: NameComponents(givenName: row[4], familyName: row[5]), emailAddress: row[6], phoneNumber: row[7],
                isDiscoverable: row[8], isOperator: row[9])
            var data = AccountData(
                profile: profile, created: row[1], quota: row[2], userRecordNames: [:], roles: [], restrictions: [], partitions: [],
                auditEvents: [])
            for row in try Row.fetchAll(db, sql: "SELECT container, name FROM user_names WHERE account = ?", arguments: [account]) {
                data.userRecordNames[row[0]] = row[1]
            }
            for (container, owner) in data.userRecordNames.sorted(by: { $0.key < $1.key }) {
                for environment in CloudEnvironment.allCases {
                    let key: StatementArguments = [container, environment.rawValue, owner]
                    data.roles += try String.fetchAll(
                        db, sql: "SELECT role FROM role_members WHERE container = ? AND environment = ? AND name = ?", arguments: key
                    ).map { (container, environment.rawValue, $0) }
                    let isRestricted =
                        try Int.fetchOne(
                            db, sql: "SELECT 1 FROM restrictions WHERE container = ? AND environment = ? AND user = ?", arguments: key)
                        != nil
                    if isRestricted { data.restrictions.append((container, environment.rawValue)) }
                    for scope in DatabaseScope.allCases {
                        let partition = Partition(containerIdentifier: container, environment: environment, scope: scope, owner: owner)
                        if try SQLiteUnit.part(of: partition, db) != nil { data.partitions.append(partition) }
                    }
                }
            }
            let events = try Row.fetchCursor(
                db,
                sql: """
                    SELECT time, actor, network, action, subject, outcome FROM audit
                    WHERE actor = ? OR subject = ? OR subject LIKE ? OR actor = ? ORDER BY number
                    """, arguments: [name, name, "\(name),%", profile.emailAddress])
            while let row = try events.next() {
                data.auditEvents.append(
                    AuditEvent(
                        time: row[0], actorText: row[1], network: row[2], action: row[3], subject: row[4],
                        outcome: AuditEvent.Outcome(rawValue: row[5]) ?? .done))
            }
            return data
        }
    }

    /// Records of a public database that a user created, a page at a time.
    ///
    /// - Parameter number: The last number of the page before; 0 at first.
    package func publicRecords(
        createdBy userRecordName: String, in partition: Partition, after number: Int64
    ) async throws -> [(number: Int64, record: CloudWire.Record)] {
        try await reading { db in
            guard let part = try SQLiteUnit.part(of: partition, db) else { return [] }
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT rowid, body FROM records WHERE rowid > ? AND +part = ? AND deleted = 0 AND instr(body, ?) > 0 ORDER BY rowid",
                arguments: [number, part, Data(userRecordName.utf8)])
            var found: [(Int64, CloudWire.Record)] = []
            while found.count < Self.removalRowsMax, let row = try rows.next() {
                let record = try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](row[1] as Data))
                guard record.created?.userRecordName == userRecordName || record.recordName == userRecordName else { continue }
                found.append((row[0], record))
            }
            return found
        }
    }
}
