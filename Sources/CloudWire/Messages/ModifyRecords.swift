// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An operation on one record.
///
/// Source: *CloudKit Web Services Reference*, "Modifying Records", "Record Operation Dictionary".
package struct RecordOperation: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case create
        /// Writes the given fields if the change tag equals the server's.
        case update
        /// Writes the given fields regardless of the change tag, and creates the record if it does not exist.
        case forceUpdate
        /// As `update`, and clears all other fields.
        case replace
        case forceReplace
        case delete
        case forceDelete
    }

    package var kind: Kind
    /// Deletions use the name only and, unless forced, the change tag.
    package var record: Record
    /// The fields to return. `nil` uses those of the request, an empty list means none.
    package var desiredKeys: [String]?

    package init(_ kind: Kind, _ record: Record, desiredKeys: [String]? = nil) {
        self.kind = kind
        self.record = record
        self.desiredKeys = desiredKeys
    }
}

/// Body of `POST {database}/records/modify`: operations on one zone, in order, at most one for each record.
package struct ModifyRecordsRequest: Hashable, Sendable {
    package var operations: [RecordOperation]
    package var zoneID: ZoneID
    /// Whether all operations fail together. Custom zones only; elsewhere operations are independent.
    package var atomic: Bool
    /// The fields to return. `nil` means all fields, an empty list none.
    package var desiredKeys: [String]?
    /// Whether the response has numbers of fields as strings.
    package var numbersAsStrings = false
    /// Data that the server returns to this device with the zone's changes once this is saved. `nil` keeps the previous
    /// data. Tarn's addition.
    package var clientChangeToken: [UInt8]?
    /// The group that the server executes together with this request. `nil` for a request of its own. Tarn's addition.
    package var saveGroup: SaveGroup?
    /// A change token of the zone. The request is for the history that issued it: a server that was restored from a backup since rejects
    /// the request with `.conflict`, so that a request that arrives late isn't executed a second time. Tarn's addition.
    package var historyToken: String?

    package init(
        operations: [RecordOperation], zoneID: ZoneID = .defaultZone, atomic: Bool = true, desiredKeys: [String]? = nil
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.desiredKeys = desiredKeys
    }
}

/// The result of an operation on one record.
package enum RecordResult: Hashable, Sendable {
    /// The record as the server has it now. A deleted one has `isDeleted` and no fields.
    case record(Record)
    /// With `.conflict` and `.exists`, `serverRecord` is the record as the server has it, so that the client can merge
    /// without another request. Tarn's addition, which other clients ignore.
    case failure(recordName: String, WireError, serverRecord: Record?)

    package var recordName: String {
        switch self {
        case .record(let record): record.recordName
        case .failure(let recordName, _, _): recordName
        }
    }
}

/// One result for each operation, in order.
///
/// If an atomic request failed, every result is a failure: the failed operation with its own code, the others with
/// `.atomicError`.
package struct ModifyRecordsResponse: Hashable, Sendable {
    package var results: [RecordResult]
    /// The present token of the zone's change feed, if the address has `getCurrentSyncToken=true`, or the request asks for
    /// ``Capability/lostHistory`` and there is no ``nextSyncToken``. With a rejected group the one from before the group.
    package var syncToken: String?
    /// The token after the request, if the request has the token before it and no other change lies in between.
    package var nextSyncToken: String?
    /// The state of the request's group. `nil` for a request of its own, and from a server without groups.
    package var saveGroup: SaveGroupState?

    package init(results: [RecordResult], syncToken: String? = nil, nextSyncToken: String? = nil) {
        self.results = results
        self.syncToken = syncToken
        self.nextSyncToken = nextSyncToken
    }
}
