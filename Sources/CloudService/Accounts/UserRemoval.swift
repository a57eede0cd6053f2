// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The result of an account's removal.
package struct RemovalReport: Hashable, Sendable {
    /// Custom zones of the person's private databases.
    package var zones = 0
    /// Shares of others that no longer name the person.
    package var shares = 0
    package var publicRecordsDeleted = 0
    /// Records of others' databases, and kept public ones, that no longer name the person.
    package var recordsAnonymized = 0

    package init() {}
}

/// Removal of accounts with their data.
package struct UserRemoval: ServiceSubject {
    let core: ServiceCore
    let announcements: Announcements
    let revocations: Revocations
    let snapshots: SnapshotService

    /// Removes an account with all its data. Units of work are brief, and a removal that was interrupted is resumed by the same call.
    ///
    /// ```
    /// begin        credentials end, in-flight requests can't write        ─ from here on there is no way back
    /// zones        participants see the person's shared zones as deleted
    /// mentions     others' shares without the person; public records are deleted or lose their creator's name
    /// rows, files  everything else, a few rows at a time
    /// end          names, databases and the account itself
    /// ```
    ///
    /// Devices of others learn of it as of any change. What remains, and for how long: deletions of shared zones in the participants' lists,
    /// until deletions are forgotten, and the audit log's lines, until their retention ends.
    ///
    /// - Parameter willRun: Called before each unit of work; an error interrupts the removal.
    /// - Throws: `StorageFailure` with `.unknownName`.
    @discardableResult
    package func run(
        named name: String, publicRecords: AccountRemoval.PublicRecords, storage removals: any RemovalStorage,
        willRun: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> RemovalReport {
        var report = RemovalReport()
        try await willRun()
        let removal = try await removals.beginRemoval(ofUser: name, publicRecords: publicRecords)
        await revocations.endRevokedListeners()
        for partition in removal.partitions.sorted(by: { $0.key < $1.key }).map(\.value) where partition.scope == .private {
            report.zones += try await closeZones(of: partition, willRun)
        }
        for name in removal.userRecordNames.values.sorted() {
            try await forget(name, inShares: false, removal, removals, &report, willRun)
        }
        for address in [removal.emailAddress, removal.phoneNumber].compactMap({ $0 }) {
            try await forget(address, inShares: true, removal, removals, &report, willRun)
        }
        // Updates for participants name the zones of the person, and are rows of the person's databases.
        try await willRun()
        try await announcements.deliverPending()
        try await removals.removeRows(of: removal, willRun)
        await snapshots.removeStale()
        try await willRun()
        try await removals.endRemoval(removal)
        return report
    }

    private func closeZones(of partition: Partition, _ willRun: @Sendable () async throws -> Void) async throws -> Int {
        let names = try await storage.read(partition) { try $0.zones().filter { !$0.isDefault }.map(\.name) }
        let (engine, call) = (engine, operatorCall(partition))
        for name in names {
            try await willRun()
            let outcome = try await storage.write(partition) { try engine.zones.close(name, in: $0, call) }
            await announcements.tell([], outcome.news, call)
        }
        return names.count
    }

    /// Removes one name or address of the person from the records of others.
    private func forget(
        _ text: String, inShares: Bool, _ removal: AccountRemoval, _ removals: any RemovalStorage, _ report: inout RemovalReport,
        _ willRun: @Sendable () async throws -> Void
    ) async throws {
        var last: RecordMention?
        while true {
            let page = try await removals.mentions(of: text, inShares: inShares, after: last, removal)
            guard let end = page.last else { return }
            last = end
            for mention in page where mention.record.recordType == ShareDetails.recordType && !mention.record.isDeleted {
                try await willRun()
                if try await leave(mention, removal) { report.shares += 1 }
            }
            let created = page.filter { mention in
                guard mention.partition.scope == .public, !mention.record.isDeleted, mention.record.recordName != text else { return false }
                return removal.publicRecords == .remove && mention.record.created?.userRecordName == text
            }
            for start in stride(from: 0, to: created.count, by: Self.deletionsPerUnit) {
                try await willRun()
                try await delete(Array(created[start..<min(start + Self.deletionsPerUnit, created.count)]))
            }
            report.publicRecordsDeleted += created.count
            for mention in page where mention.partition.scope == .public && mention.record.recordName == text {
                try await willRun()
                try await deleteUserRecord(mention, removals)
            }
            guard !inShares else { continue }
            try await willRun()
            try await removals.anonymize(page, removal)
            report.recordsAnonymized += page.count
        }
    }

    private static let deletionsPerUnit = 8

    private func operatorCall(_ partition: Partition) -> Call {
        let name = partition.scope == .public ? AccountRemoval.placeholder : partition.owner
        return core.call(partition, Caller(userRecordName: name, deviceID: "", kind: .operator), baseURL: "")
    }

    private func leave(_ mention: RecordMention, _ removal: AccountRemoval) async throws -> Bool {
        guard let zoneName = mention.zoneName else { return false }
        let (engine, call) = (engine, operatorCall(mention.partition))
        let person = removal.person(inContainer: mention.partition.containerIdentifier)
        let name = mention.record.recordName
        let outcome = try await storage.write(mention.partition) {
            try engine.personRemovals.remove(person, fromShare: name, inZone: zoneName, in: $0, call)
        }
        await announcements.tell(outcome.notifications, outcome.news, call)
        return outcome.response
    }

    /// Deletes public records. A record that another one must refer to, by a `VALIDATE` reference, stays without its values.
    private func delete(_ mentions: [RecordMention]) async throws {
        for (partition, mentions) in Dictionary(grouping: mentions, by: \.partition) {
            let records = mentions.map { Record(recordName: $0.record.recordName, recordType: $0.record.recordType) }
            let results = try await modify(records, .forceDelete, in: partition)
            let required = zip(records, results).filter { _, result in
                guard case .failure(_, let error, _) = result else { return false }
                return error.code == .validatingReferenceError
            }
            for (record, _) in required { _ = try await modify([record], .forceReplace, in: partition) }
        }
    }

    /// Every account has a record in each public database, which can't be deleted as others can.
    private func deleteUserRecord(_ mention: RecordMention, _ removals: any RemovalStorage) async throws {
        let record = Record(recordName: mention.record.recordName, recordType: mention.record.recordType)
        if !mention.record.isDeleted { _ = try await modify([record], .forceReplace, in: mention.partition) }
        try await removals.purge(mention)
    }

    private func modify(_ records: [Record], _ kind: RecordOperation.Kind, in partition: Partition) async throws -> [RecordResult] {
        let request = ModifyRecordsRequest(
            operations: records.map { RecordOperation(kind, $0) }, zoneID: ZoneID(zoneName: ZoneID.defaultZoneName), atomic: false)
        let (engine, call) = (engine, operatorCall(partition))
        let outcome = try await storage.write(partition) { try engine.records.modify(request, in: $0, call) }
        await announcements.tell(outcome.notifications + announcements.evaluate(outcome.rounds), outcome.news, call)
        if outcome.changesPublicDatabase { announcements.tellEverybody(call) }
        return outcome.response.results
    }
}
