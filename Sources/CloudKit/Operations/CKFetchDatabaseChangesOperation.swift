// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Fetches the zones of a database that changed.
///
/// Store the token that ``changeTokenUpdatedBlock`` delivers after you have processed all zones delivered before it.
///
/// Source: Apple's documentation of `CKFetchDatabaseChangesOperation`.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The token to continue from. `nil` fetches from the start.
    public var previousServerChangeToken: CKServerChangeToken?
    /// Maximum number of zones of one page. 0 leaves it to the server.
    public var resultsLimit = 0
    /// Whether to fetch all pages.
    public var fetchAllChanges = true

    /// Called for each zone that was deleted because the user's encryption keys were reset.
    /// Called for each zone that was deleted with the user's data of the app.
    /// Called for each deleted zone.
    /// Called for each zone with new or changed records.
    @preconcurrency public var recordZoneWithIDChangedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency public var recordZoneWithIDWasDeletedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency public var recordZoneWithIDWasPurgedBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    @preconcurrency
    public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: (@Sendable (CKRecordZone.ID) -> Void)?
    /// Called at the end with the token and whether more pages follow, or with the error.
    /// Called with a token after each page.
    @preconcurrency public var changeTokenUpdatedBlock: (@Sendable (CKServerChangeToken) -> Void)?
    @preconcurrency
    public var fetchDatabaseChangesResultBlock:
        (@Sendable (Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    /// Older form of ``fetchDatabaseChangesResultBlock``.
    @preconcurrency
    public var fetchDatabaseChangesCompletionBlock: (@Sendable (CKServerChangeToken?, Bool, (any Error)?) -> Void)?

    private let reached = Locked<(token: CKServerChangeToken?, moreComing: Bool)>((nil, false))

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let run = try run(settings)
        var token = previousServerChangeToken
        var isLast = false
        var positions = PagePositions()
        while !isLast {
            try Task.checkCancellation()
            let page = try await run.databaseChanges(since: token, resultsLimit: resultsLimit > 0 ? resultsLimit : nil)
            isLast = !page.moreComing || !fetchAllChanges
            if !isLast, !positions.advance(from: token?.text, to: page.token.text) { throw CKError.repeatedPage }
            token = page.token
            reached.update { $0 = (page.token, page.moreComing) }
            await callBlock { self.report(page) }
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
