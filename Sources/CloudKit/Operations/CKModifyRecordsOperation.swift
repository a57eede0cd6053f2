// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Saves and deletes records.
///
/// For each record: its progress while assets are sent, then its own result. If any item failed, the final result is
/// `.partialFailure` with the errors by record ID; a failed atomic zone gives `.batchRequestFailed` for the items that
/// had no fault of their own.
///
/// Source: Apple's documentation of `CKModifyRecordsOperation`.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    public enum RecordSavePolicy: Int, Sendable {
        /// Changed fields are sent; a record that is another on the server by now is refused with
        /// `.serverRecordChanged`.
        case ifServerRecordUnchanged = 0
        /// Changed fields are sent and win, whatever the server has.
        case changedKeys = 1
        /// All fields are sent and win; fields that only the server has stay.
        case allKeys = 2
    }

    public var recordsToSave: [CKRecord]?
    public var recordIDsToDelete: [CKRecord.ID]?
    public var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
    /// Whether the records of one custom zone succeed or fail together.
    public var isAtomic = true
    /// Up to 1024 bytes of this device's own, which the server keeps for each zone once something is saved there, and tells
    /// this device with the zone's changes: what it fetched has what it saved.
    public var clientChangeTokenData: Data?

    /// From 0 to 1; the last call of a saved record says 1.
    @preconcurrency public var perRecordProgressBlock: (@Sendable (CKRecord, Double) -> Void)?
    @preconcurrency public var perRecordSaveBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    @preconcurrency public var perRecordDeleteBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    @preconcurrency public var modifyRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perRecordSaveBlock``.
    @preconcurrency public var perRecordCompletionBlock: (@Sendable (CKRecord, (any Error)?) -> Void)?
    /// Older form of ``modifyRecordsResultBlock``, with what was saved and deleted.
    @preconcurrency
    public var modifyRecordsCompletionBlock: (@Sendable ([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

    private let done = Locked<(saved: [CKRecord], deleted: [CKRecord.ID])>(([], []))

    public override init() { super.init() }

    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let changes = (recordsToSave ?? []).map(RecordChange.save) + (recordIDsToDelete ?? []).map(RecordChange.delete)
        let errors = ItemErrors()
        try await run(settings).modify(
            changes, savePolicy, atomically: isAtomic, clientToken: clientChangeTokenData
        ) { record, part in
            guard let block = self.perRecordProgressBlock else { return }
            await self.tell { block(record, part) }
        } told: { outcomes in
            await self.tell { self.report(outcomes, errors) }
        }
        try errors.throwIfAny()
    }

    private func report(_ outcomes: [RecordOutcome], _ errors: ItemErrors) {
        for outcome in outcomes {
            switch outcome {
            case .saved(let record, let result):
                errors.note(record.recordID, result)
                perRecordSaveBlock?(record.recordID, result)
                switch result {
                case .success(let saved):
                    done.update { $0.saved.append(saved) }
                    perRecordCompletionBlock?(saved, nil)
                case .failure(let error): perRecordCompletionBlock?(record, error)
                }
            case .deleted(let id, let result):
                errors.note(id, result)
                perRecordDeleteBlock?(id, result)
                if case .success = result { done.update { $0.deleted.append(id) } }
            }
        }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        modifyRecordsResultBlock?(result)
        let (saved, deleted) = done.value
        modifyRecordsCompletionBlock?(saved, deleted, result.failure)
    }
}

extension Result {
    /// The error, if it is one.
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
