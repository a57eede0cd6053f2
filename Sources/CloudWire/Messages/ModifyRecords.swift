// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One thing to do to one record.
///
/// Source: *CloudKit Web Services Reference*, "Modifying Records", "Record Operation Dictionary".
package struct RecordOperation: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case create
        /// Writes the given fields if the tag is still the server's.
        case update
        /// Writes the given fields whatever the tag; creates if there is no such record.
        case forceUpdate
        /// Like `update`, and fields that are not given are cleared.
        case replace
        case forceReplace
        case delete
        case forceDelete
    }

    package var kind: Kind
    /// For deletions only the name and, unless forced, the tag count.
    package var record: Record
    /// Fields wanted in the answer; nil leaves it to the request, an empty list wants none.
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
    /// All or nothing. Only custom zones can do it; elsewhere operations stand alone.
    package var atomic: Bool
    /// Fields wanted in the answer; nil wants all, an empty list none.
    package var desiredKeys: [String]?
    /// Whether the answer has numbers of fields as strings.
    package var numbersAsStrings = false
    /// What the device wants to be told with the zone's changes, once this is saved; nil leaves it as it is. Tarn's addition.
    package var clientChangeToken: [UInt8]?
    /// The group that the server executes together with this request; nil for a request of its own. Tarn's addition.
    package var saveGroup: SaveGroup?

    package init(
        operations: [RecordOperation], zoneID: ZoneID = .defaultZone, atomic: Bool = true, desiredKeys: [String]? = nil
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.desiredKeys = desiredKeys
    }
}

/// What became of one record.
package enum RecordResult: Hashable, Sendable {
    /// As the server has it now; a deleted one has `isDeleted` and no fields.
    case record(Record)
    /// `serverRecord` comes with `.conflict` and `.exists`: the record as the server has it, so that the caller can
    /// merge without asking again. It is Tarn's addition, which other clients ignore.
    case failure(recordName: String, WireError, serverRecord: Record?)

    package var recordName: String {
        switch self {
        case .record(let record): record.recordName
        case .failure(let recordName, _, _): recordName
        }
    }
}

/// One result for each operation, in the order of the operations.
///
/// If an atomic request failed, every result is a failure: the culprit's with its own code, the others `.atomicError`.
package struct ModifyRecordsResponse: Hashable, Sendable {
    package var results: [RecordResult]
    /// Present point of the zone's history, for who asked for it in the address: `getCurrentSyncToken=true`.
    package var syncToken: String?
    /// For who said up to where they know the zone: the point after the request, if nothing else changed since.
    package var nextSyncToken: String?
    /// What became of the request's group; nil for a request of its own, and from a server that doesn't know groups.
    package var saveGroup: SaveGroupState?

    package init(results: [RecordResult], syncToken: String? = nil, nextSyncToken: String? = nil) {
        self.results = results
        self.syncToken = syncToken
        self.nextSyncToken = nextSyncToken
    }
}
