// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension CKDatabase {
    /// Fetches one record, with the content of its assets.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await records(for: [recordID]).item(recordID)
    }

    /// Saves one record, if the server still has it as it was fetched.
    ///
    /// - Returns: The record as the server has it now.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        try await modifyRecords(saving: [record], deleting: []).saveResults.item(record.recordID)
    }

    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await modifyRecords(saving: [], deleting: [recordID]).deleteResults.item(recordID)
        return recordID
    }

    /// Fetches records of any zones.
    ///
    /// - Parameter desiredKeys: Nil wants all fields, an empty list none.
    public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        let results = Collected<CKRecord.ID, CKRecord>()
        try await DatabaseRun(self).fetch(ids, desiredKeys: desiredKeys) { results.take($0) }
        return results.byID
    }

    /// Saves and deletes records, of each zone in one request.
    ///
    /// - Parameters:
    ///   - recordsToSave: At most 400 together with the deletions.
    ///   - savePolicy: What happens where the server has another version.
    ///   - atomically: Whether the records of one zone succeed or fail together. Only custom zones can do it.
    /// - Throws: ``CKError`` with `.limitExceeded` if there are too many, and then nothing was sent; otherwise if a
    ///   request failed as a whole, and then zones sent before may have been saved.
    @discardableResult
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        let saved = Collected<CKRecord.ID, CKRecord>()
        let deleted = Collected<CKRecord.ID, Void>()
        try await DatabaseRun(self).modify(
            recordsToSave.map(RecordChange.save) + recordIDsToDelete.map(RecordChange.delete), savePolicy,
            atomically: atomically
        ) { outcomes in
            for outcome in outcomes {
                switch outcome {
                case .saved(let record, let result): saved.take([Outcome(id: record.recordID, result: result)])
                case .deleted(let id, let result): deleted.take([Outcome(id: id, result: result)])
                }
            }
        }
        return (saved.byID, deleted.byID)
    }
}

/// Gathers outcomes into a dictionary.
final class Collected<ID: Hashable & Sendable, Value: Sendable>: Sendable {
    private let results = Locked<[ID: Result<Value, any Error>]>([:])

    func take(_ outcomes: [Outcome<ID, Value>]) {
        results.update { results in for outcome in outcomes { results[outcome.id] = outcome.result } }
    }

    var byID: [ID: Result<Value, any Error>] { results.value }
}

extension Sequence {
    func byID<ID: Hashable, Value>() -> [ID: Result<Value, any Error>] where Element == Outcome<ID, Value> {
        Dictionary(map { ($0.id, $0.result) }, uniquingKeysWith: { _, last in last })
    }
}
