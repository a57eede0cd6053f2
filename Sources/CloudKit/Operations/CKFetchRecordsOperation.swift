// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Fetches records by their identifiers, with the content of their assets.
///
/// Source: Apple's documentation of `CKFetchRecordsOperation`.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The records to fetch.
    public var recordIDs: [CKRecord.ID]?
    /// The fields to fetch. `nil` fetches all fields, an empty list none.
    public var desiredKeys: [CKRecord.FieldKey]?
    var fetchesCurrentUser = false

    /// Called at the end.
    /// Called for each record with its result.
    /// Called with the progress of a record's assets, from 0 to 1.
    @preconcurrency public var perRecordProgressBlock: (@Sendable (CKRecord.ID, Double) -> Void)?
    @preconcurrency public var perRecordResultBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    @preconcurrency public var fetchRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``perRecordResultBlock``.
    @preconcurrency public var perRecordCompletionBlock: (@Sendable (CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    /// Older form of ``fetchRecordsResultBlock``, with the fetched records.
    @preconcurrency public var fetchRecordsCompletionBlock: (@Sendable ([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?

    private let fetched = Locked<[CKRecord.ID: CKRecord]>([:])

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// Creates an operation that fetches the record of the signed-in user.
    open class func fetchCurrentUserRecordOperation() -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation()
        operation.fetchesCurrentUser = true
        return operation
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let run = try run(settings)
        let errors = ItemErrors()
        var ids = recordIDs ?? []
        if fetchesCurrentUser { ids.append(CKRecord.ID(recordName: try await run.client.callerIdentity().userRecordName)) }
        try await run.fetch(ids, desiredKeys: desiredKeys) { id, part in
            guard let block = self.perRecordProgressBlock else { return }
            await self.callBlock { block(id, part) }
        } deliver: { outcomes in
            await self.callBlock { self.report(outcomes, errors) }
        }
        try errors.throwIfAny()
    }

    private func report(_ outcomes: [Outcome<CKRecord.ID, CKRecord>], _ errors: ItemErrors) {
        for outcome in outcomes {
            errors.note(outcome.id, outcome.result)
            perRecordResultBlock?(outcome.id, outcome.result)
            switch outcome.result {
            case .success(let record):
                fetched.update { $0[outcome.id] = record }
                perRecordCompletionBlock?(record, outcome.id, nil)
            case .failure(let error): perRecordCompletionBlock?(nil, outcome.id, error)
            }
        }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchRecordsResultBlock?(result)
        fetchRecordsCompletionBlock?(fetched.value, result.failure)
    }
}
