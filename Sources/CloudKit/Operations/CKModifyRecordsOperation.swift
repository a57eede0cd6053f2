// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Saves and deletes records.
///
/// The operation delivers the progress of each record's assets, then the record's result. If any item failed, the final
/// result is `.partialFailure` with the errors by record ID. In an atomic zone with a failure, the other items have
/// `.batchRequestFailed`.
///
/// Source: Apple's documentation of `CKModifyRecordsOperation`.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// How to treat records that changed on the server.
    public enum RecordSavePolicy: Int, Sendable {
        /// Sends changed fields. Fails with `.serverRecordChanged` if the record changed on the server since it was
        /// fetched.
        case ifServerRecordUnchanged = 0
        /// Sends changed fields, and overwrites those of the server.
        case changedKeys = 1
        /// Sends all fields, and overwrites those of the server. Fields that only the server has stay.
        case allKeys = 2
    }

    /// The records to save.
    public var recordsToSave: [CKRecord]?
    /// The records to delete.
    public var recordIDsToDelete: [CKRecord.ID]?
    /// How to treat records that changed on the server.
    public var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
    /// Whether the records of one custom zone succeed or fail together.
    public var isAtomic = true
    /// Up to 1024 bytes of the device's own. The server stores them for each zone in which a record was saved, and
    /// returns them to this device with the zone's changes, so that the device knows which of its saves a fetch
    /// includes.
    public var clientChangeTokenData: Data?

    /// Called with the progress of a record's assets, from 0 to 1. The last call of a saved record has 1.
    @preconcurrency public var perRecordProgressBlock: (@Sendable (CKRecord, Double) -> Void)?
    @preconcurrency public var perRecordSaveBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    @preconcurrency public var perRecordDeleteBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    @preconcurrency public var modifyRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perRecordSaveBlock``.
    @preconcurrency public var perRecordCompletionBlock: (@Sendable (CKRecord, (any Error)?) -> Void)?
    /// Older form of ``modifyRecordsResultBlock``, with the saved and deleted records.
    @preconcurrency
    public var modifyRecordsCompletionBlock: (@Sendable ([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

    private let done = Locked<(saved: [CKRecord], deleted: [CKRecord.ID])>(([], []))

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
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
            await self.callBlock { block(record, part) }
        } deliver: { outcomes in
            await self.callBlock { self.report(outcomes, errors) }
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
