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

                init(_ reason: ZoneDeletionReason) {
                    switch reason {
                    case .deleted: self = .deleted
                    case .purged: self = .purged
                    case .encryptedDataReset: self = .encryptedDataReset
                    }
                }
            }

            public let zoneID: CKRecordZone.ID
            public let reason: Reason

            @available(*, deprecated, message: "use reason")
            public var purged: Bool { reason == .purged }
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
        let page = try await DatabaseRun(self).databaseChanges(since: token, resultsLimit: resultsLimit)
        return (page.modifications, page.deletions, page.token, page.moreComing)
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
        let run = try DatabaseRun(self)
        let outcomes = try await run.zoneChanges([(zoneID, token, resultsLimit, desiredKeys)])
        let page = try outcomes[0].result.get()
        var modified: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        for record in page.records {
            modified[record.id] = record.result.map { RecordZoneChange.Modification(record: $0) }
        }
        return (modified, page.deletions, page.token, page.moreComing)
    }
}
