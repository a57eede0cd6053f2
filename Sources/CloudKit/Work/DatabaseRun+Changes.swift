// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// One page of a database's changes.
struct DatabaseChangesPage: Sendable {
    var modifications: [CKDatabase.DatabaseChange.Modification]
    var deletions: [CKDatabase.DatabaseChange.Deletion]
    var token: CKServerChangeToken
    var moreComing: Bool
}

/// One page of a zone's changes, in the order of the server.
struct ZoneChangesPage: Sendable {
    var records: [Outcome<CKRecord.ID, CKRecord>]
    var deletions: [CKDatabase.RecordZoneChange.Deletion]
    var token: CKServerChangeToken
    /// What this device sent last.
    var clientToken: Data?
    var moreComing: Bool
}

extension DatabaseRun {
    func databaseChanges(since token: CKServerChangeToken?, resultsLimit: Int?) async throws -> DatabaseChangesPage {
        let answer = try await client.databaseChanges(
            DatabaseChangesRequest(syncToken: token?.text, resultsLimit: resultsLimit))
        return DatabaseChangesPage(
            modifications: answer.zones.filter { !$0.isDeleted }.map {
                CKDatabase.DatabaseChange.Modification(zoneID: database.zoneID($0.zoneID))
            },
            deletions: answer.zones.filter(\.isDeleted).map {
                CKDatabase.DatabaseChange.Deletion(zoneID: database.zoneID($0.zoneID), reason: .init($0.deletionReason))
            }, token: CKServerChangeToken(answer.syncToken), moreComing: answer.moreComing)
    }

    /// Asks for a page of each of several zones, in one request unless they are very many.
    ///
    /// - Parameter capabilities: `clientChangeToken`, where what this device sent last is of use.
    func zoneChanges(
        _ queries: [(zoneID: CKRecordZone.ID, token: CKServerChangeToken?, resultsLimit: Int?, desiredKeys: [CKRecord.FieldKey]?)],
        asking capabilities: Set<Capability> = []
    ) async throws -> [Outcome<CKRecordZone.ID, ZoneChangesPage>] {
        try await paged(queries) { try await zoneChanges(atOnce: $0, capabilities) }
    }

    private func zoneChanges(
        atOnce queries: [(zoneID: CKRecordZone.ID, token: CKServerChangeToken?, resultsLimit: Int?, desiredKeys: [CKRecord.FieldKey]?)],
        _ capabilities: Set<Capability>
    ) async throws -> [Outcome<CKRecordZone.ID, ZoneChangesPage>] {
        let answer = try await client.zoneChanges(
            ZoneChangesRequest(
                zones: queries.map {
                    ZoneChangesQuery(
                        zoneID: $0.zoneID.wire, syncToken: $0.token?.text, resultsLimit: $0.resultsLimit,
                        desiredKeys: $0.desiredKeys)
                }), asking: capabilities)
        guard answer.zones.count == queries.count else {
            throw CKError.unreadable("the server's answer leaves out what was asked for")
        }
        var outcomes: [Outcome<CKRecordZone.ID, ZoneChangesPage>] = []
        for (query, result) in zip(queries, answer.zones) {
            switch result {
            case .failure(_, let error): outcomes.append(Outcome(id: query.zoneID, result: .failure(CKError(error))))
            case .changes(let changes):
                outcomes.append(Outcome(id: query.zoneID, result: .success(await page(changes, in: query.zoneID))))
            }
        }
        return outcomes
    }

    private func page(_ changes: ZoneChanges, in zoneID: CKRecordZone.ID) async -> ZoneChangesPage {
        var page = ZoneChangesPage(
            records: [], deletions: [], token: CKServerChangeToken(changes.syncToken),
            clientToken: changes.clientChangeToken.map { Data($0) }, moreComing: changes.moreComing)
        for record in changes.records {
            let id = CKRecord.ID(recordName: record.recordName, zoneID: zoneID)
            if record.isDeleted {
                page.deletions.append(
                    CKDatabase.RecordZoneChange.Deletion(recordID: id, recordType: record.recordType))
            } else {
                page.records.append(Outcome(id: id, result: await fetched(record, in: zoneID)))
            }
        }
        return page
    }
}
