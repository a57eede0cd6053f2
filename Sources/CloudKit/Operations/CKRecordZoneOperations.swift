// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Fetches zones by their identifiers, or all zones of a database.
///
/// Source: Apple's documentation of `CKFetchRecordZonesOperation`.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The zones to fetch. `nil` fetches all zones.
    public var recordZoneIDs: [CKRecordZone.ID]?

    /// Called for each zone with its result.
    @preconcurrency
    public var perRecordZoneResultBlock: (@Sendable (CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Called at the end.
    @preconcurrency public var fetchRecordZonesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``fetchRecordZonesResultBlock``, with the fetched zones.
    @preconcurrency
    public var fetchRecordZonesCompletionBlock: (@Sendable ([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?

    private let fetched = Locked<[CKRecordZone.ID: CKRecordZone]>([:])

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
    }

    /// Creates an operation that fetches all zones.
    open class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation { CKFetchRecordZonesOperation() }

    override func carryOut(_ settings: OperationSettings) async throws {
        let run = try run(settings)
        let errors = ItemErrors()
        let outcomes: [Outcome<CKRecordZone.ID, CKRecordZone>]
        if let recordZoneIDs {
            outcomes = try await run.fetchZones(recordZoneIDs)
        } else {
            outcomes = try await run.allZones().map { Outcome(id: $0.zoneID, result: .success($0)) }
        }
        await callBlock {
            for outcome in outcomes {
                errors.note(outcome.id, outcome.result)
                if case .success(let zone) = outcome.result { self.fetched.update { $0[outcome.id] = zone } }
                self.perRecordZoneResultBlock?(outcome.id, outcome.result)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchRecordZonesResultBlock?(result)
        fetchRecordZonesCompletionBlock?(fetched.value, result.failure)
    }
}

/// Saves and deletes zones.
///
/// Source: Apple's documentation of `CKModifyRecordZonesOperation`.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The zones to save.
    public var recordZonesToSave: [CKRecordZone]?
    /// The zones to delete.
    public var recordZoneIDsToDelete: [CKRecordZone.ID]?

    /// Called for each zone to save with its result.
    @preconcurrency
    public var perRecordZoneSaveBlock: (@Sendable (CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Called at the end.
    /// Called for each zone to delete with its result.
    @preconcurrency public var perRecordZoneDeleteBlock: (@Sendable (CKRecordZone.ID, Result<Void, any Error>) -> Void)?
    @preconcurrency public var modifyRecordZonesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``modifyRecordZonesResultBlock``, with the saved and deleted zones.
    @preconcurrency
    public var modifyRecordZonesCompletionBlock: (@Sendable ([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

    private let done = Locked<(saved: [CKRecordZone], deleted: [CKRecordZone.ID])>(([], []))

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let errors = ItemErrors()
        let outcomes = try await run(settings).modifyZones(
            saving: recordZonesToSave ?? [], deleting: recordZoneIDsToDelete ?? [])
        await callBlock {
            for outcome in outcomes.saved {
                errors.note(outcome.id, outcome.result)
                if case .success(let zone) = outcome.result { self.done.update { $0.saved.append(zone) } }
                self.perRecordZoneSaveBlock?(outcome.id, outcome.result)
            }
            for outcome in outcomes.deleted {
                errors.note(outcome.id, outcome.result)
                if case .success = outcome.result { self.done.update { $0.deleted.append(outcome.id) } }
                self.perRecordZoneDeleteBlock?(outcome.id, outcome.result)
            }
        }
        try errors.throwIfAny()
    }

    override func conclude(_ result: Result<Void, any Error>) {
        modifyRecordZonesResultBlock?(result)
        let (saved, deleted) = done.value
        modifyRecordZonesCompletionBlock?(saved, deleted, result.failure)
    }
}
