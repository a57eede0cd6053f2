// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Asks which zones of a database changed.
///
/// The token that ``changeTokenUpdatedBlock`` gives is to be kept once all zones told before it were dealt with.
///
/// Source: Apple's documentation of `CKFetchDatabaseChangesOperation`.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// Nil starts from the beginning.
    public var previousServerChangeToken: CKServerChangeToken?
    /// Zones of one page at most; 0 leaves it to the server.
    public var resultsLimit = 0
    /// Whether to go on until there are no more pages.
    public var fetchAllChanges = true

    @preconcurrency public var recordZoneWithIDChangedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency public var recordZoneWithIDWasDeletedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency public var recordZoneWithIDWasPurgedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency
    public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency public var changeTokenUpdatedBlock: (@Sendable (CKServerChangeToken) -> Void)?
    @preconcurrency
    public var fetchDatabaseChangesResultBlock:
        (@Sendable (Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    /// Older form of ``fetchDatabaseChangesResultBlock``.
    @preconcurrency
    public var fetchDatabaseChangesCompletionBlock: (@Sendable (CKServerChangeToken?, Bool, (any Error)?) -> Void)?

    private let reached = Locked<(token: CKServerChangeToken?, moreComing: Bool)>((nil, false))

    public override init() { super.init() }

    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let run = try run(settings)
        var token = previousServerChangeToken
        var isLast = false
        while !isLast {
            try Task.checkCancellation()
            let page = try await run.databaseChanges(since: token, resultsLimit: resultsLimit > 0 ? resultsLimit : nil)
            token = page.token
            isLast = !page.moreComing || !fetchAllChanges
            reached.update { $0 = (page.token, page.moreComing) }
            await tell { self.report(page) }
        }
    }

    private func report(_ page: DatabaseChangesPage) {
        for change in page.modifications { recordZoneWithIDChangedBlock?(change.zoneID) }
        for deletion in page.deletions {
            switch deletion.reason {
            case .purged where recordZoneWithIDWasPurgedBlock != nil: recordZoneWithIDWasPurgedBlock?(deletion.zoneID)
            case .encryptedDataReset where recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock != nil:
                recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock?(deletion.zoneID)
            case .deleted, .purged, .encryptedDataReset: recordZoneWithIDWasDeletedBlock?(deletion.zoneID)
            }
        }
        changeTokenUpdatedBlock?(page.token)
    }

    override func conclude(_ result: Result<Void, any Error>) {
        let (token, moreComing) = reached.value
        let outcome = result.flatMap {
            token.map { .success((serverChangeToken: $0, moreComing: moreComing)) } ?? .failure(CKError(.internalError))
        }
        fetchDatabaseChangesResultBlock?(outcome)
        fetchDatabaseChangesCompletionBlock?(token, moreComing, result.failure)
    }
}
