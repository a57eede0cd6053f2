// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire

extension PostgresServerStore: OperatedStorage {
    /// The transactions that a new snapshot sees.
    package func stateText() async throws -> String {
        try await reading { try $0.value("SELECT pg_current_snapshot()::text") ?? "" }
    }

    package func changeCounters(
        containerIdentifier: String, environment: CloudEnvironment
    ) async throws -> [(partition: Partition, counter: Int64)] {
        try await reading { connection in
            try connection.query(PartitionRows.counters, [containerIdentifier, environment.rawValue]).rows.map {
                (partition: try PartitionRows.partition($0), counter: $0[4])
            }
        }
    }

    package func accountData(ofUser name: String) async throws -> AccountData {
        try await reading { connection in
            let row = try connection.query(
                """
                SELECT name, given_name, family_name, email, phone, discoverable, operator, account, created, quota FROM accounts
                WHERE name = $1
                """, [name]
            ).rows.first
            guard let row else { throw StorageFailure.unknownUser }
            let account: Int64 = row[7]
            var data = AccountData(profile: Self.profile(row), created: row[8], quota: row[9])
            data.identities = try connection.identities(of: account)
            data.secondFactorSince = try connection.value(
                "SELECT confirmed FROM second_factors WHERE account = $1 AND confirmed IS NOT NULL", [account])
            data.userRecordNames = try connection.userRecordNames(of: account)
            for (container, owner) in data.userRecordNames.sorted(by: { $0.key < $1.key }) {
                let key: PostgresValues = [container, owner]
                data.roles += try connection.query(
                    "SELECT environment, role FROM role_members WHERE container = $1 AND name = $2 ORDER BY environment, role", key
                ).rows.map { (containerIdentifier: container, environment: $0[0], role: $0[1]) }
                data.restrictions += try connection.query(
                    "SELECT environment FROM restrictions WHERE container = $1 AND user_name = $2 ORDER BY environment", key
                ).rows.map { (containerIdentifier: container, environment: $0[0]) }
            }
            data.partitions = try connection.partitions(of: data.userRecordNames).sorted { $0.key < $1.key }.map(\.value)
            data.auditEvents = try connection.query(
                """
                SELECT time, actor, network, action, subject, outcome FROM audit
                WHERE actor = $1 OR subject = $1 OR left(subject, length($1) + 1) = $1 || ',' OR actor = $2 ORDER BY number
                """, [name, data.profile.emailAddress]
            ).rows.map(Self.auditEvent)
            return data
        }
    }

    package func publicRecords(
        createdBy userRecordName: String, in partition: Partition, after last: ScannedRecord?
    ) async throws -> [ScannedRecord] {
        guard let part = try await reading({ try $0.part(of: partition) }) else { return [] }
        var (zone, name) = (last?.zone ?? .min, last?.record.recordName ?? "")
        while true {
            let values: PostgresValues = [part, userRecordName, zone, name, Self.removalRowsMax]
            let rows = try await reading { try $0.query(RecordRows.created, values).rows }
            let records = try rows.compactMap { row in
                try (row[2] as [UInt8]?).map {
                    ScannedRecord(number: 0, zone: row[0], record: try PostgresUnit.decode(Record.self, $0))
                }
            }.filter { $0.record.created?.userRecordName == userRecordName || $0.record.recordName == userRecordName }
            guard records.isEmpty, let end = rows.last, rows.count == Self.removalRowsMax else { return records }
            (zone, name) = (end[0], end[1])
        }
    }
}
