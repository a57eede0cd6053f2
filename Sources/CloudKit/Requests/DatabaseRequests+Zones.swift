// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension DatabaseRequests {
    func allZones() async throws -> [CKRecordZone] {
        try await client.listZones().zones.compactMap { result in
            guard case .zone(let zone) = result else { return nil }
            return CKRecordZone(zone, scope: scope)
        }
    }

    func fetchZones(_ ids: [CKRecordZone.ID]) async throws -> [Outcome<CKRecordZone.ID, CKRecordZone>] {
        try await paged(ids) { ids in
            let response = try await client.lookupZones(ZonesLookupRequest(zones: ids.map(\.wire)))
            guard response.zones.count == ids.count else {
                throw CKError.unreadable("the server returned \(response.zones.count) results for \(ids.count) lookups")
            }
            return zip(ids, response.zones).map { id, result in Outcome(id: id, result: zone(result)) }
        }
    }

    func modifyZones(
        saving zones: [CKRecordZone], deleting ids: [CKRecordZone.ID]
    ) async throws -> (
        saved: [Outcome<CKRecordZone.ID, CKRecordZone>], deleted: [Outcome<CKRecordZone.ID, Void>]
    ) {
        try checkCount(zones.count + ids.count, of: "zones")
        guard !zones.isEmpty || !ids.isEmpty else { return ([], []) }
        let operations = zones.map { ZoneOperation.create($0.zoneID.wire) } + ids.map { ZoneOperation.delete($0.wire) }
        let response = try await client.modifyZones(ZonesModifyRequest(operations: operations))
        let saved = zip(zones, response.zones).map { Outcome(id: $0.zoneID, result: zone($1)) }
        let deleted = zip(ids, response.zones.dropFirst(zones.count)).map { id, result -> Outcome<CKRecordZone.ID, Void> in
            switch result {
            case .zone, .deleted: Outcome(id: id, result: .success(()))
            case .failure(_, let error): Outcome(id: id, result: .failure(CKError(error)))
            }
        }
        return (saved, deleted)
    }

    private func zone(_ result: ZoneResult) -> Result<CKRecordZone, any Error> {
        switch result {
        case .zone(let zone): .success(CKRecordZone(zone, scope: scope))
        case .deleted: .failure(CKError(.zoneNotFound))
        case .failure(_, let error): .failure(CKError(error))
        }
    }
}
