// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire

/// The units of work of a removal. Whole tables are scanned in ranges of their primary keys, so that no transaction is long.
extension PostgresServerStore {
    /// Rows that one unit of work deletes or changes at most.
    static let removalRowsMax = 200
    /// Rows that one statement scans.
    private static let rangeRows = 1000

    /// Deletes rows of a person's own database.
    func remove(_ table: PersonalTable, part: Int64, _ willRun: @Sendable () async throws -> Void) async throws {
        let key = table.keyText()
        let sql = "DELETE FROM \(table.name) WHERE part = $1 AND (\(key)) IN (SELECT \(key) FROM \(table.name) WHERE part = $1 LIMIT $2)"
        while true {
            try await willRun()
            let count = try await writing { try $0.query(sql, [part, Self.removalRowsMax]).count }
            if count < Self.removalRowsMax { return }
        }
    }

    /// Deletes rows that name a person in databases of others.
    func remove(_ table: PersonalTable, user: String, _ willRun: @Sendable () async throws -> Void) async throws {
        try await run([("DELETE FROM \(table.name) t WHERE t.user_name = $1", [user])], onRangesOf: table, willRun)
    }

    /// Runs statements on a whole table, one transaction for each range of its rows.
    ///
    /// - Parameter statements: With the alias `t` for the table; the condition of the range follows them.
    private func run(
        _ statements: [(sql: String, values: PostgresValues)], onRangesOf table: PersonalTable,
        _ willRun: @Sendable () async throws -> Void
    ) async throws {
        var start: [PostgresValue]?
        repeat {
            try await willRun()
            let last = start
            start = try await writing { connection in
                let end = try table.end(of: Self.rangeRows, after: last, connection)
                for (sql, values) in statements {
                    let condition = PostgresRange(table: table, start: last, end: end).condition(
                        first: values.values.count + 1, alias: "t.")
                    try connection.send("\(sql) AND \(condition.sql)", values + condition.values)
                }
                return end
            }
        } while start != nil
    }

    // MARK: Names in data of others

    package func mentions(
        of text: String, inShares: Bool, after last: RecordMention?, _ removal: AccountRemoval
    ) async throws -> [RecordMention] {
        let table = try await reading { try PersonalTable.named("records", $0) }
        let own = PostgresValues.texts(removal.partitions.keys.sorted().map(String.init))
        let sought: PostgresValues =
            inShares
            ? [AccountRemoval.quoted(ShareDetails.recordType), AccountRemoval.quoted(text.lowercased())]
            : [text, AccountRemoval.quoted(text)]
        var start = last.map { [.integer($0.part), .integer($0.zone), .text($0.record.recordName)] as [PostgresValue] }
        while true {
            let after = start
            let (mentions, end) = try await reading { connection in
                let end = try table.end(of: Self.rangeRows, after: after, connection)
                let condition = PostgresRange(table: table, start: after, end: end).condition(first: 4, alias: "t.")
                let sql = RecordRows.mentions(inShares: inShares, range: condition.sql, limit: Self.removalRowsMax)
                return (try connection.query(sql, sought + own + condition.values).rows.map(RecordRows.mention), end)
            }
            guard mentions.isEmpty, let end else { return mentions }
            start = end
        }
    }

    package func purge(_ mention: RecordMention) async throws {
        let name = mention.record.recordName
        try await writeUnit(mention.partition) { unit in
            if let stored = try unit.records(named: [name], in: mention.zone)[name], !stored.record.isDeleted {
                let removed = try unit.indexes(ofType: stored.record.recordType).compactMap {
                    $0.change(of: name, from: stored.record, to: nil)
                }
                try unit.apply(removed, in: mention.zone)
                let bytes = Int64(-RecordSize.bytes(of: stored.record))
                // The usage of a deleted zone is subtracted already.
                if try unit.zones().contains(where: { $0.key == mention.zone }) {
                    try unit.addUsage(StoredBytes(records: bytes))
                    try unit.run(ZoneRows.addRecordBytes, [unit.part, mention.zone, bytes], changing: .zones)
                }
            }
            try unit.run(RecordRows.delete, [unit.part, mention.zone, name], changing: .records)
        }
    }

    package func anonymize(_ mentions: [RecordMention], _ removal: AccountRemoval) async throws {
        for (partition, mentions) in Dictionary(grouping: mentions, by: \.partition) {
            guard let name = removal.userRecordNames[partition.containerIdentifier] else { continue }
            try await writeUnit(partition) { unit in
                for mention in mentions { try Self.anonymize(mention.record.recordName, in: mention.zone, of: unit, name) }
            }
        }
    }

    private static func anonymize(_ recordName: String, in zone: Int64, of unit: PostgresUnit, _ name: String) throws {
        guard let old = try unit.records(named: [recordName], in: zone)[recordName]?.record else { return }
        try unit.run(
            RecordRows.replaceText,
            [unit.part, zone, recordName, AccountRemoval.quoted(name), AccountRemoval.quoted(AccountRemoval.placeholder)],
            changing: .records)
        guard !old.isDeleted, let new = try unit.records(named: [recordName], in: zone)[recordName]?.record else { return }
        try unit.apply(try unit.indexes(ofType: old.recordType).compactMap { $0.change(of: recordName, from: old, to: new) }, in: zone)
        // References to the record of the person, which is deleted, refer to nothing.
        try unit.run(SharingRows.copyReferences, [unit.part, zone, name, AccountRemoval.placeholder], changing: .references)
        try unit.run(SharingRows.deleteReferences, [unit.part, zone, name], changing: .references)
    }

    /// Removes a record name from roles, subscriptions, earlier versions, the log of changes, and rows that expire within a day.
    func forgetName(
        _ name: String, _ removal: AccountRemoval, _ tables: [PersonalTable], _ willRun: @Sendable () async throws -> Void
    ) async throws {
        try await willRun()
        try await writing { try $0.send(AccessRows.removeMember, [name]) }
        let replaced: PostgresValues = [AccountRemoval.quoted(name), AccountRemoval.quoted(AccountRemoval.placeholder)]
        let versions: PostgresValues = [
            name, AccountRemoval.quoted(name), AccountRemoval.quoted(ShareDetails.recordType), removal.publicRecords == .remove,
        ]
        for table in tables {
            let statements: [(sql: String, values: PostgresValues)] =
                switch table.name {
                case "subscriptions": [(SubscriptionRows.replaceText, replaced)]
                case "change_log": [(ChangeLogRows.replaceAuthor, [name, AccountRemoval.placeholder])]
                case "record_versions": [(RecordRows.deleteVersions, versions), (RecordRows.replaceTextOfVersions, replaced)]
                default: []
                }
            if !statements.isEmpty { try await run(statements, onRangesOf: table, willRun) }
        }
        try await forgetAnswers(containing: name, tables, willRun)
    }

    /// Removes an address from versions of shares, and from rows that expire within a day.
    func forgetAddress(_ address: String, _ tables: [PersonalTable], _ willRun: @Sendable () async throws -> Void) async throws {
        try await forgetAnswers(containing: address, tables, willRun)
        let values: PostgresValues = [AccountRemoval.quoted(ShareDetails.recordType), AccountRemoval.quoted(address.lowercased())]
        for table in tables where table.name == "record_versions" {
            try await run([(RecordRows.deleteShareVersions, values)], onRangesOf: table, willRun)
        }
    }

    private func forgetAnswers(
        containing text: String, _ tables: [PersonalTable], _ willRun: @Sendable () async throws -> Void
    ) async throws {
        for table in tables {
            switch table.name {
            case "answers": try await run([(AnswerRows.deleteAnswers, [text, text.lowercased()])], onRangesOf: table, willRun)
            case "staged_requests": try await run([(AnswerRows.deleteStaged, [text.lowercased()])], onRangesOf: table, willRun)
            default: break
            }
        }
    }
}
