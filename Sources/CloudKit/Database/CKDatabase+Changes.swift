// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKDatabase {
    /// A changed or deleted zone.
    public enum DatabaseChange {
        /// A zone with new or changed records.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
        }

        /// A deleted zone.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone was deleted.
            public enum Reason: Hashable, Sendable {
                /// An app deleted the zone.
                case deleted
                /// The user deleted the data of the app.
                case purged
                /// The user's encryption keys were reset. Send the zone's records again.
                case encryptedDataReset

                init(_ reason: ZoneDeletionReason) {
                    switch reason {
                    case .deleted: self = .deleted
                    case .purged: self = .purged
                    case .encryptedDataReset: self = .encryptedDataReset
                    }
                }
            }

            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why the zone was deleted.
            public let reason: Reason

            /// Whether the user deleted the app's data.
            @available(*, deprecated, message: "use reason")
            public var purged: Bool { reason == .purged }
        }
    }

    /// A changed or deleted record.
    public enum RecordZoneChange {
        /// A new or changed record.
        public struct Modification: Sendable {
            /// The record as the server has it.
            public let record: CKRecord
        }

        /// A deleted record.
        public struct Deletion: Hashable, Sendable {
            /// The record.
            public let recordID: CKRecord.ID
            /// The type of the record. Empty if the server does not state it.
            public let recordType: CKRecord.RecordType
        }
    }

    /// Fetches the zones that changed.
    ///
    /// - Parameters:
    ///   - token: The token of the last call. `nil` fetches from the start.
    ///   - resultsLimit: Maximum number of zones. `nil` leaves it to the server.
    /// - Returns: The zones, and a token to store. If `moreComing` is true, call again with it.
    /// - Throws: ``CKError`` with `.changeTokenExpired`: start again with `nil`.
    public func databaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let page = try await DatabaseRequests(self).databaseChanges(since: token, resultsLimit: resultsLimit)
        return (page.modifications, page.deletions, page.token, page.moreComing)
    }

    /// Fetches the changes of a zone, with the content of assets.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - token: The token of the last call for this zone. `nil` fetches from the start.
    ///   - desiredKeys: `nil` fetches all fields, an empty list none.
    ///   - resultsLimit: Maximum number of changes. `nil` leaves it to the server.
    /// - Returns: Each changed record once, in its present version, and a token to store. If `moreComing` is true, call
    ///   again with it.
    /// - Throws: ``CKError`` with `.changeTokenExpired` (start again with `nil`) or `.zoneNotFound`.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since token: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let run = try DatabaseRequests(self)
        let outcomes = try await run.zoneChanges([(zoneID, token, resultsLimit, desiredKeys)])
        let page = try outcomes[0].result.get()
        var modified: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        for record in page.records {
            modified[record.id] = record.result.map { RecordZoneChange.Modification(record: $0) }
        }
        return (modified, page.deletions, page.token, page.moreComing)
    }
}
