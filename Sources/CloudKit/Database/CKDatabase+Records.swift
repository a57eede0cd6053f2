// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension CKDatabase {
    /// Fetches one record, with the content of its assets.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if the record does not exist, or why the request failed.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await records(for: [recordID]).item(recordID)
    }

    /// Saves one record, if the server still has the version that was fetched.
    ///
    /// - Returns: The record as the server has it now.
    /// - Throws: ``CKError`` with `.serverRecordChanged` if another client changed the record, or why the request
    ///   failed. After `.serverResponseLost` the record may have been saved.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        try await modifyRecords(saving: [record], deleting: []).saveResults.item(record.recordID)
    }

    /// Deletes one record.
    ///
    /// - Returns: The identifier of the record.
    /// - Throws: ``CKError``, such as `.permissionFailure` or `.referenceViolation`. After `.serverResponseLost` the
    ///   record may have been deleted.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await modifyRecords(saving: [], deleting: [recordID]).deleteResults.item(recordID)
        return recordID
    }

    /// Fetches records of any zones, with the content of their assets.
    ///
    /// - Parameters:
    ///   - ids: The records to fetch.
    ///   - desiredKeys: `nil` fetches all fields, an empty list none.
    /// - Returns: A result for each identifier, `.unknownItem` for a missing record.
    /// - Throws: ``CKError`` if a request failed as a whole.
    public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        let results = Collected<CKRecord.ID, CKRecord>()
        try await DatabaseRequests(self).fetch(ids, desiredKeys: desiredKeys) { results.collect($0) }
        return results.byID
    }

    /// Saves and deletes records, with one request for each zone.
    ///
    /// - Parameters:
    ///   - recordsToSave: The records to save, at most 400 together with the deletions.
    ///   - recordIDsToDelete: The records to delete.
    ///   - savePolicy: How to treat records that changed on the server.
    ///   - atomically: Whether the records of one zone succeed or fail together. Custom zones only.
    /// - Throws: ``CKError`` with `.limitExceeded` if there are too many; nothing was sent. Otherwise if a request
    ///   failed as a whole; zones of earlier requests may have been saved.
    @discardableResult
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        let saved = Collected<CKRecord.ID, CKRecord>()
        let deleted = Collected<CKRecord.ID, Void>()
        try await DatabaseRequests(self).modify(
            recordsToSave.map(RecordChange.save) + recordIDsToDelete.map(RecordChange.delete), savePolicy,
            atomically: atomically
        ) { outcomes in
            for outcome in outcomes {
                switch outcome {
                case .saved(let record, let result): saved.collect([Outcome(id: record.recordID, result: result)])
                case .deleted(let id, let result): deleted.collect([Outcome(id: id, result: result)])
                }
            }
        }
        return (saved.byID, deleted.byID)
    }
}

/// Collects outcomes in a dictionary.
final class Collected<ID: Hashable & Sendable, Value: Sendable>: Sendable {
    private let results = Locked<[ID: Result<Value, any Error>]>([:])

    func collect(_ outcomes: [Outcome<ID, Value>]) {
        results.update { results in for outcome in outcomes { results[outcome.id] = outcome.result } }
    }

    var byID: [ID: Result<Value, any Error>] { results.value }
}

extension Sequence {
    func byID<ID: Hashable, Value>() -> [ID: Result<Value, any Error>] where Element == Outcome<ID, Value> {
        Dictionary(map { ($0.id, $0.result) }, uniquingKeysWith: { _, last in last })
    }
}
