// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    /// Fetches one zone.
    ///
    /// - Throws: ``CKError`` with `.zoneNotFound` if it does not exist, or why the request failed.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await recordZones(for: [zoneID]).item(zoneID)
    }

    /// Saves a zone. Saving an existing one is not an error.
    ///
    /// - Throws: ``CKError``, such as `.permissionFailure` or `.badDatabase`.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await modifyRecordZones(saving: [zone], deleting: []).saveResults.item(zone.zoneID)
    }

    /// Deletes a zone with all its records.
    ///
    /// - Throws: ``CKError``, such as `.zoneNotFound` or `.permissionFailure`.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults.item(zoneID)
        return zoneID
    }

    /// Fetches all zones of this database.
    ///
    /// - Throws: ``CKError`` if a request failed.
    public func allRecordZones() async throws -> [CKRecordZone] { try await DatabaseRequests(self).allZones() }

    /// Fetches zones by their identifiers.
    ///
    /// - Returns: A result for each identifier, `.zoneNotFound` for a missing zone.
    /// - Throws: ``CKError`` if the request failed as a whole.
    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await DatabaseRequests(self).fetchZones(ids).byID()
    }

    /// Saves and deletes zones in one request.
    ///
    /// - Returns: A result for each zone.
    /// - Throws: ``CKError`` if the request failed as a whole.
    @discardableResult
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        let outcomes = try await DatabaseRequests(self).modifyZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
        return (outcomes.saved.byID(), outcomes.deleted.byID())
    }
}
