// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire
import Foundation
import GRDB

extension SQLiteServerStore: OperatedStorage {
    package func stateText() async throws -> String { String(try dataVersion()) }

    package func changeCounters(
        containerIdentifier: String, environment: CloudEnvironment
    ) async throws -> [(partition: Partition, counter: Int64)] {
        var counters: [(partition: Partition, counter: Int64)] = []
        for partition in try await partitions(containerIdentifier: containerIdentifier, environment: environment) {
            counters.append((partition, try await read(partition) { try $0.state().counter }))
        }
        return counters
    }

    package func accountData(ofUser name: String) async throws -> AccountData {
        try await reading { db in
            guard
                let row = try Row.fetchOne(
                    db,
                    sql:
                        "SELECT account, created, quota, name, given_name, family_name, email, phone, discoverable, operator FROM accounts WHERE name = ?",
                    arguments: [name])
            else { throw StorageFailure.unknownUser }
            let account: Int64 = row[0]
            let profile = AccountProfile(
                accountName: row[3], name: NameComponents(givenName: row[4], familyName: row[5]), emailAddress: row[6], phoneNumber: row[7],
                isDiscoverable: row[8], isOperator: row[9])
            var data = AccountData(profile: profile, created: row[1], quota: row[2])
            data.identities = try Self.identities(of: account, db)
            data.secondFactorSince = try Int64.fetchOne(
                db, sql: "SELECT confirmed FROM second_factors WHERE account = ? AND confirmed IS NOT NULL", arguments: [account])
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
                    WHERE actor = ?1 OR subject = ?1 OR substr(subject, 1, length(?1) + 1) = ?1 || ',' OR actor = ?2 ORDER BY number
                    """, arguments: [name, profile.emailAddress])
            while let row = try events.next() {
                data.auditEvents.append(
                    AuditEvent(
                        time: row[0], actorText: row[1], network: row[2], action: row[3], subject: row[4],
                        outcome: AuditEvent.Outcome(rawValue: row[5]) ?? .done))
            }
            return data
        }
    }

    package func publicRecords(
        createdBy userRecordName: String, in partition: Partition, after last: ScannedRecord?
    ) async throws -> [ScannedRecord] {
        let number = last?.number ?? 0
        return try await reading { db in
            guard let part = try SQLiteUnit.part(of: partition, db) else { return [] }
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT rowid, body, zone FROM records WHERE rowid > ? AND +part = ? AND deleted = 0 AND instr(body, ?) > 0 ORDER BY rowid
                    """, arguments: [number, part, Data(userRecordName.utf8)])
            var found: [ScannedRecord] = []
            while found.count < Self.removalRowsMax, let row = try rows.next() {
                let record = try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](row[1] as Data))
                guard record.created?.userRecordName == userRecordName || record.recordName == userRecordName else { continue }
                found.append(ScannedRecord(number: row[0], zone: row[2], record: record))
            }
            return found
        }
    }
}
