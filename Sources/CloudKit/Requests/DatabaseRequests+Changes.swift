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
    /// The client token of this device's last save.
    var clientToken: Data?
    var moreComing: Bool
}

extension DatabaseRequests {
    /// Zero lets the server choose, as `resultsLimit` of the operations does; the server rejects it.
    private static func limit(_ resultsLimit: Int?) -> Int? { resultsLimit.flatMap { $0 > 0 ? $0 : nil } }

    func databaseChanges(since token: CKServerChangeToken?, resultsLimit: Int?) async throws -> DatabaseChangesPage {
        let response = try await client.databaseChanges(
            DatabaseChangesRequest(syncToken: token?.text, resultsLimit: Self.limit(resultsLimit)))
        // Apps request pages until the last one.
        if response.moreComing, response.syncToken == token?.text { throw CKError.repeatedPage }
        return DatabaseChangesPage(
            modifications: response.zones.filter { !$0.isDeleted }.map {
                CKDatabase.DatabaseChange.Modification(zoneID: database.zoneID($0.zoneID))
            },
            deletions: response.zones.filter(\.isDeleted).map {
                CKDatabase.DatabaseChange.Deletion(zoneID: database.zoneID($0.zoneID), reason: .init($0.deletionReason))
            }, token: CKServerChangeToken(response.syncToken), moreComing: response.moreComing)
    }

    /// Fetches a page of each of several zones, in one request unless the number of zones exceeds the limit.
    ///
    /// - Parameter capabilities: `clientChangeToken`, if the client token is needed.
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
        let response = try await client.zoneChanges(
            ZoneChangesRequest(
                zones: queries.map {
                    ZoneChangesQuery(
                        zoneID: $0.zoneID.wire, syncToken: $0.token?.text, resultsLimit: Self.limit($0.resultsLimit),
                        desiredKeys: $0.desiredKeys)
                }), asking: capabilities)
        guard response.zones.count == queries.count else {
            throw CKError.unreadable("the server's response lacks a requested zone")
        }
        var outcomes: [Outcome<CKRecordZone.ID, ZoneChangesPage>] = []
        for (query, result) in zip(queries, response.zones) {
            switch result {
            case .failure(_, let error): outcomes.append(Outcome(id: query.zoneID, result: .failure(CKError(error))))
            // A server may return nothing of a zone behind others. Apps request pages until the last one.
            case .changes(let changes) where queries.count == 1 && changes.moreComing && changes.syncToken == query.token?.text:
                outcomes.append(Outcome(id: query.zoneID, result: .failure(CKError.repeatedPage)))
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

extension Outcome where Value == ZoneChangesPage {
    /// The outcome for blocks that do not receive errors of single records.
    ///
    /// A failure that may pass, such as that of an asset's download, fails the zone, so that the app fetches the page again with its
    /// previous token. Otherwise the token would move past the record, which the app would never receive.
    var withoutSkippedRecords: Self {
        guard case .success(let page) = result else { return self }
        for record in page.records {
            if let error = record.result.failure as? CKError, error.mayPass { return Outcome(id: id, result: .failure(error)) }
        }
        return self
    }
}
