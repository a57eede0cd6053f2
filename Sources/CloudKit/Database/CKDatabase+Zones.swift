// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await recordZones(for: [zoneID]).item(zoneID)
    }

    /// Saves a zone. One that is there already is not an error.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await modifyRecordZones(saving: [zone], deleting: []).saveResults.item(zone.zoneID)
    }

    /// Deletes a zone with all its records.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults.item(zoneID)
        return zoneID
    }

    public func allRecordZones() async throws -> [CKRecordZone] {
        try await client().listZones().zones.compactMap { result in
            guard case .zone(let zone) = result else { return nil }
            return CKRecordZone(zone, scope: databaseScope)
        }
    }

    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        let answer = try await client().lookupZones(ZonesLookupRequest(zones: ids.map(\.wire)))
        guard answer.zones.count == ids.count else {
            throw CKError.unreadable("the server answered \(answer.zones.count) of \(ids.count) lookups")
        }
        var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        for (id, result) in zip(ids, answer.zones) {
            switch result {
            case .zone(let zone): results[id] = .success(CKRecordZone(zone, scope: databaseScope))
            case .deleted: results[id] = .failure(CKError(.zoneNotFound))
            case .failure(_, let error): results[id] = .failure(CKError(error))
            }
        }
        return results
    }

    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        let operations =
            recordZonesToSave.map { ZoneOperation.create($0.zoneID.wire) }
            + recordZoneIDsToDelete.map { ZoneOperation.delete($0.wire) }
        let answer = try await client().modifyZones(ZonesModifyRequest(operations: operations))
        var saved: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        var deleted: [CKRecordZone.ID: Result<Void, any Error>] = [:]
        for (zone, result) in zip(recordZonesToSave, answer.zones) {
            switch result {
            case .zone(let server): saved[zone.zoneID] = .success(CKRecordZone(server, scope: databaseScope))
            case .deleted: saved[zone.zoneID] = .failure(CKError(.zoneNotFound))
            case .failure(_, let error): saved[zone.zoneID] = .failure(CKError(error))
            }
        }
        for (id, result) in zip(recordZoneIDsToDelete, answer.zones.dropFirst(recordZonesToSave.count)) {
            switch result {
            case .zone, .deleted: deleted[id] = .success(())
            case .failure(_, let error): deleted[id] = .failure(CKError(error))
            }
        }
        return (saved, deleted)
    }
}
