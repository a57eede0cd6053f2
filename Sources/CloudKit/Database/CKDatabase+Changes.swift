// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    /// A zone that changed, or is gone.
    public enum DatabaseChange {
        public struct Modification: Hashable, Sendable {
            public let zoneID: CKRecordZone.ID
        }

        public struct Deletion: Hashable, Sendable {
            public enum Reason: Hashable, Sendable {
                case deleted
                case purged
                case encryptedDataReset
            }

            public let zoneID: CKRecordZone.ID
            public let reason: Reason
        }
    }

    /// A record that changed, or is gone.
    public enum RecordZoneChange {
        public struct Modification: Sendable {
            public let record: CKRecord
        }

        public struct Deletion: Hashable, Sendable {
            public let recordID: CKRecord.ID
            /// Empty where the server does not tell it.
            public let recordType: CKRecord.RecordType
        }
    }

    /// Asks which zones changed.
    ///
    /// - Parameter token: That of the last answer; nil starts from the beginning.
    /// - Returns: The zones, and a token to be kept. With `moreComing`, ask again at once.
    /// - Throws: ``CKError`` with `.changeTokenExpired`: start again with nil.
    public func databaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let answer = try await client().databaseChanges(
            DatabaseChangesRequest(syncToken: token?.text, resultsLimit: resultsLimit))
        let changed = answer.zones.filter { !$0.isDeleted }.map { DatabaseChange.Modification(zoneID: zoneID($0.zoneID)) }
        let deleted = answer.zones.filter(\.isDeleted).map {
            DatabaseChange.Deletion(zoneID: zoneID($0.zoneID), reason: .deleted)
        }
        return (changed, deleted, CKServerChangeToken(answer.syncToken), answer.moreComing)
    }

    /// Asks what changed in a zone, and fetches the content of assets.
    ///
    /// - Parameters:
    ///   - token: That of the last answer about this zone; nil starts from the beginning.
    ///   - desiredKeys: Nil wants all fields, an empty list none.
    /// - Returns: Each record once, as it is now, and a token to be kept. With `moreComing`, ask again at once.
    /// - Throws: ``CKError`` with `.changeTokenExpired` (start again with nil) or `.zoneNotFound`.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since token: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let client = try client()
        let query = ZoneChangesQuery(
            zoneID: zoneID.wire, syncToken: token?.text, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [query]))
        let changes: ZoneChanges
        switch answer.zones.first {
        case .changes(let found): changes = found
        case .failure(_, let error): throw CKError(error)
        case nil: throw CKError.unreadable("the server's answer leaves out what was asked for")
        }
        var modified: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        var deletions: [RecordZoneChange.Deletion] = []
        for record in changes.records {
            let id = CKRecord.ID(recordName: record.recordName, zoneID: zoneID)
            if record.isDeleted {
                deletions.append(RecordZoneChange.Deletion(recordID: id, recordType: record.recordType))
            } else {
                modified[id] = await fetched(record, in: zoneID, with: client)
                    .map { RecordZoneChange.Modification(record: $0) }
            }
        }
        return (modified, deletions, CKServerChangeToken(changes.syncToken), changes.moreComing)
    }
}
