// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire
import Foundation
import GRDB

/// The units of work of a removal. Rows are found by readers, which delay nobody, and written a few at a time.
extension SQLiteServerStore {
    /// Rows that one unit of work deletes or changes at most.
    package static let removalRowsMax = 200
    /// Bytes of bodies that one page of records has, besides the last.
    private static let removalBytesMax = 4_000_000

    /// Deletes rows of a person's own database.
    func remove(_ table: PersonalTable, part: Int64, _ willRun: @Sendable () async throws -> Void) async throws {
        let key = table.key.joined(separator: ", ")
        let name = table.name
        while true {
            try await willRun()
            let count = try await removalUnit { db in
                try db.execute(
                    sql: "DELETE FROM \(name) WHERE (\(key)) IN (SELECT \(key) FROM \(name) WHERE part = ? LIMIT ?)",
                    arguments: [part, Self.removalRowsMax])
                return db.changesCount
            }
            if count < Self.removalRowsMax { return }
        }
    }

    /// Deletes rows that name a person in databases of others.
    func remove(_ table: PersonalTable, user: String, _ willRun: @Sendable () async throws -> Void) async throws {
        let key = table.key
        let name = table.name
        while true {
            let rows = try await reading { db in
                try Row.fetchAll(
                    db, sql: "SELECT \(key.joined(separator: ", ")) FROM \(name) WHERE user = ? LIMIT ?",
                    arguments: [user, Self.removalRowsMax]
                ).map { Array($0.databaseValues) }
            }
            guard !rows.isEmpty else { return }
            let isKey = key.map { "\($0) = ?" }.joined(separator: " AND ")
            try await willRun()
            try await removalUnit { db in
                for row in rows { try db.execute(sql: "DELETE FROM \(name) WHERE \(isKey)", arguments: StatementArguments(row)) }
            }
        }
    }

    /// A unit of work, and a rest as long as it: the lock between processes is not fair, and a server's writes come first.
    @discardableResult
    func removalUnit<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let start = ContinuousClock.now
        let value = try await writing(body)
        if !isServer { try await Task.sleep(for: min(ContinuousClock.now - start, .milliseconds(100))) }
        return value
    }

    // MARK: Names in data of others

    package func mentions(
        of text: String, inShares: Bool, after last: RecordMention?, _ removal: AccountRemoval
    ) async throws -> [RecordMention] {
        let own = Set(removal.partitions.keys)
        let number = last?.number ?? 0
        return try await reading { db in
            let rows =
                inShares
                ? try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT rowid, part, zone, body FROM records WHERE rowid > ? AND instr(body, ?) > 0
                        AND instr(lower(CAST(body AS TEXT)), ?) > 0 ORDER BY rowid
                        """,
                    arguments: [
                        number, Data(AccountRemoval.quoted(ShareDetails.recordType).utf8), AccountRemoval.quoted(text.lowercased()),
                    ])
                : try Row.fetchCursor(
                    db,
                    sql: "SELECT rowid, part, zone, body FROM records WHERE rowid > ? AND (name = ? OR instr(body, ?) > 0) ORDER BY rowid",
                    arguments: [number, text, Data(AccountRemoval.quoted(text).utf8)])
            var found: [RecordMention] = []
            var bytes = 0
            while found.count < Self.removalRowsMax, bytes < Self.removalBytesMax, let row = try rows.next() {
                let (part, zone): (Int64, Int64) = (row[1], row[2])
                guard !own.contains(part), let partition = try Self.partition(part, db) else { continue }
                let body: Data = row[3]
                bytes += body.count
                let zoneName = try String.fetchOne(
                    db, sql: "SELECT name FROM zones WHERE part = ? AND zone = ? AND deleted = 0", arguments: [part, zone])
                found.append(
                    RecordMention(
                        number: row[0], partition: partition, part: part, zone: zone, zoneName: zoneName,
                        record: try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](body))))
            }
            return found
        }
    }

    private static func partition(_ part: Int64, _ db: Database) throws -> Partition? {
        try db.row("SELECT container, environment, scope, owner FROM partitions WHERE part = ?", [part]).flatMap { row in
            guard let environment = CloudEnvironment(rawValue: row[1]), let scope = DatabaseScope(rawValue: row[2]) else { return nil }
            return Partition(containerIdentifier: row[0], environment: environment, scope: scope, owner: row[3])
        }
    }

    package func purge(_ mention: RecordMention) async throws {
        let name = mention.record.recordName
        try await removalUnit { [staged] db in
            let unit = try SQLiteUnit(writing: mention.partition, part: mention.part, db, staged)
            if let stored = try unit.records(named: [name], in: mention.zone)[name], !stored.record.isDeleted {
                let removed = try unit.indexes(ofType: stored.record.recordType).compactMap {
                    $0.change(of: name, from: stored.record, to: nil)
                }
                try unit.apply(removed, in: mention.zone)
                let bytes = Int64(-RecordSize.bytes(of: stored.record))
                // The usage of a deleted zone is subtracted already.
                try db.execute(
                    sql: "UPDATE zones SET record_bytes = record_bytes + ? WHERE part = ? AND zone = ? AND deleted = 0",
                    arguments: [bytes, mention.part, mention.zone])
                if db.changesCount > 0 { try unit.addUsage(StoredBytes(records: bytes)) }
            }
            try db.execute(
                sql: "DELETE FROM records WHERE part = ? AND zone = ? AND name = ?", arguments: [mention.part, mention.zone, name])
        }
    }

    package func anonymize(_ mentions: [RecordMention], _ removal: AccountRemoval) async throws {
        try await removalUnit { [staged] db in
            for mention in mentions {
                guard let name = removal.userRecordNames[mention.partition.containerIdentifier] else { continue }
                let unit = try SQLiteUnit(writing: mention.partition, part: mention.part, db, staged)
                try Self.anonymize(mention.record.recordName, in: mention.zone, of: unit, name)
            }
        }
    }

    private static func anonymize(_ recordName: String, in zone: Int64, of unit: SQLiteUnit, _ name: String) throws {
        guard let old = try unit.records(named: [recordName], in: zone)[recordName]?.record else { return }
        try unit.run(
            "UPDATE records SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB) WHERE part = ? AND zone = ? AND name = ?",
            [AccountRemoval.quoted(name), AccountRemoval.quoted(AccountRemoval.placeholder), unit.writtenPart, zone, recordName])
        guard !old.isDeleted, let new = try unit.records(named: [recordName], in: zone)[recordName]?.record else { return }
        try unit.apply(try unit.indexes(ofType: old.recordType).compactMap { $0.change(of: recordName, from: old, to: new) }, in: zone)
        // References to the record of the person, which is deleted, refer to nothing.
        let targets: Arguments = [AccountRemoval.placeholder, unit.writtenPart, zone, name]
        try unit.run("UPDATE OR REPLACE record_references SET target = ? WHERE part = ? AND zone = ? AND target = ?", targets)
    }

    /// Removes a record name from roles, subscriptions, stored answers and waiting requests.
    func forgetName(_ name: String, _ willRun: @Sendable () async throws -> Void) async throws {
        try await willRun()
        let subscriptions = try await reading { db in
            try Row.fetchAll(
                db, sql: "SELECT part, id FROM subscriptions WHERE instr(body, ?) > 0", arguments: [Data(AccountRemoval.quoted(name).utf8)]
            ).map { (part: $0[0] as Int64, id: $0[1] as String) }
        }
        try await removalUnit { try $0.execute(sql: "DELETE FROM role_members WHERE name = ?", arguments: [name]) }
        for start in stride(from: 0, to: subscriptions.count, by: Self.removalRowsMax) {
            let page = subscriptions[start..<min(start + Self.removalRowsMax, subscriptions.count)]
            try await willRun()
            try await removalUnit { db in
                for subscription in page {
                    try db.execute(
                        sql: "UPDATE subscriptions SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB) WHERE part = ? AND id = ?",
                        arguments: [
                            AccountRemoval.quoted(name), AccountRemoval.quoted(AccountRemoval.placeholder), subscription.part,
                            subscription.id,
                        ])
                }
            }
        }
        try await forgetAnswers(containing: name, willRun)
    }

    /// Deletes idempotent responses that contain a text.
    func forgetAnswers(containing text: String, _ willRun: @Sendable () async throws -> Void) async throws {
        var last: Int64 = 0
        while true {
            let after = last
            let rows = try await reading { db in
                try Int64.fetchAll(
                    db,
                    sql: """
                        SELECT rowid FROM answers WHERE rowid > ? AND (instr(key, ?) > 0 OR instr(lower(CAST(body AS TEXT)), ?) > 0)
                        ORDER BY rowid LIMIT ?
                        """, arguments: [after, text, text.lowercased(), Self.removalRowsMax])
            }
            guard let end = rows.last else { return }
            last = end
            try await willRun()
            try await removalUnit { db in for row in rows { try db.execute(sql: "DELETE FROM answers WHERE rowid = ?", arguments: [row]) } }
        }
    }

    /// Deletes versions of shares with an address of the person.
    func forgetShareVersions(containing address: String, _ willRun: @Sendable () async throws -> Void) async throws {
        let rows = try await reading { db in
            try Int64.fetchAll(
                db,
                sql:
                    "SELECT rowid FROM record_versions WHERE instr(body, ?) > 0 AND instr(lower(CAST(body AS TEXT)), ?) > 0 ORDER BY rowid",
                arguments: [Data(AccountRemoval.quoted(ShareDetails.recordType).utf8), AccountRemoval.quoted(address.lowercased())])
        }
        for start in stride(from: 0, to: rows.count, by: Self.removalRowsMax) {
            let page = rows[start..<min(start + Self.removalRowsMax, rows.count)]
            try await willRun()
            try await removalUnit { db in
                for row in page { try db.execute(sql: "DELETE FROM record_versions WHERE rowid = ?", arguments: [row]) }
            }
        }
    }

    /// Deletes versions of shares, of the person's record and, if they are to be removed, of public records that the person created. In
    /// others the name is replaced.
    func forgetVersions(containing name: String, _ removal: AccountRemoval, _ willRun: @Sendable () async throws -> Void) async throws {
        let removesCreated = removal.publicRecords == .remove
        var last: Int64 = 0
        while true {
            let after = last
            let rows = try await reading { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT v.rowid, v.name = ? OR instr(v.body, ?) > 0 OR ? AND p.scope = 'public'
                            AND json_extract(CAST(v.body AS TEXT), '$.created.userRecordName') = ?
                        FROM record_versions v JOIN partitions p ON p.part = v.part
                        WHERE v.rowid > ? AND (v.name = ? OR instr(v.body, ?) > 0) ORDER BY v.rowid LIMIT ?
                        """,
                    arguments: [
                        name, Data(AccountRemoval.quoted(ShareDetails.recordType).utf8), removesCreated, name, after, name,
                        Data(AccountRemoval.quoted(name).utf8),
                        Self.removalRowsMax,
                    ]
                ).map { (row: $0[0] as Int64, isDeleted: $0[1] as Bool? ?? false) }
            }
            guard let end = rows.last?.row else { return }
            last = end
            try await willRun()
            try await removalUnit { db in
                for (row, isDeleted) in rows {
                    guard !isDeleted else {
                        try db.execute(sql: "DELETE FROM record_versions WHERE rowid = ?", arguments: [row])
                        continue
                    }
                    try db.execute(
                        sql: "UPDATE record_versions SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB) WHERE rowid = ?",
                        arguments: [AccountRemoval.quoted(name), AccountRemoval.quoted(AccountRemoval.placeholder), row])
                }
            }
        }
    }
}
