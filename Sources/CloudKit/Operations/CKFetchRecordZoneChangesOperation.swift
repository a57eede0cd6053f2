// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// Asks what changed in zones.
///
/// For each zone: its records and deletions, then the token that was reached; at the end of the zone its result. If a
/// zone failed, the final result is `.partialFailure` with the errors by zone ID.
///
/// Source: Apple's documentation of `CKFetchRecordZoneChangesOperation`.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration

    /// Older name.
    public typealias ZoneOptions = ZoneConfiguration

    public var recordZoneIDs: [CKRecordZone.ID]?
    public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    /// Whether to go on until there are no more pages.
    public var fetchAllChanges = true

    @preconcurrency public var recordWasChangedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    @preconcurrency public var recordWithIDWasDeletedBlock: (@Sendable (CKRecord.ID, CKRecord.RecordType) -> Void)?
    @preconcurrency
    public var recordZoneChangeTokensUpdatedBlock: (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
    @preconcurrency
    public var recordZoneFetchResultBlock:
        (
            @Sendable (
                CKRecordZone.ID,
                Result<
                    (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error
                >
            ) -> Void
        )?
    @preconcurrency public var fetchRecordZoneChangesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``recordWasChangedBlock``, without errors.
    @preconcurrency public var recordChangedBlock: (@Sendable (CKRecord) -> Void)?
    /// Older form of ``recordZoneFetchResultBlock``.
    @preconcurrency
    public var recordZoneFetchCompletionBlock:
        (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    /// Older form of ``fetchRecordZoneChangesResultBlock``.
    @preconcurrency public var fetchRecordZoneChangesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil, configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let run = try run(settings)
        let errors = ItemErrors()
        var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
        // Always in the same order, so that an operation that is carried out once more asks the same.
        var rest =
            recordZoneIDs ?? configurationsByRecordZoneID?.keys.sorted { ($0.ownerName, $0.zoneName) < ($1.ownerName, $1.zoneName) } ?? []
        while !rest.isEmpty {
            try Task.checkCancellation()
            let outcomes = try await run.zoneChanges(
                rest.map { id in
                    let configuration = configurationsByRecordZoneID?[id]
                    let limit = configuration.flatMap { $0.resultsLimit > 0 ? $0.resultsLimit : nil }
                    return (id, tokens[id] ?? configuration?.previousServerChangeToken, limit, configuration?.desiredKeys)
                }, asking: [.clientChangeToken])
            rest = []
            for outcome in outcomes {
                if case .success(let page) = outcome.result {
                    tokens[outcome.id] = page.token
                    if page.moreComing, fetchAllChanges { rest.append(outcome.id) }
                }
                errors.note(outcome.id, outcome.result)
            }
            let unfinished = Set(rest)
            await tell {
                for outcome in outcomes { self.report(outcome, isLast: !unfinished.contains(outcome.id)) }
            }
        }
        try errors.throwIfAny()
    }

    private func report(_ outcome: Outcome<CKRecordZone.ID, ZoneChangesPage>, isLast: Bool) {
        switch outcome.result {
        case .failure(let error):
            recordZoneFetchResultBlock?(outcome.id, .failure(error))
            recordZoneFetchCompletionBlock?(outcome.id, nil, nil, false, error)
        case .success(let page):
            for record in page.records {
                recordWasChangedBlock?(record.id, record.result)
                if case .success(let record) = record.result { recordChangedBlock?(record) }
            }
            for deletion in page.deletions { recordWithIDWasDeletedBlock?(deletion.recordID, deletion.recordType) }
            guard isLast else {
                recordZoneChangeTokensUpdatedBlock?(outcome.id, page.token, page.clientToken)
                return
            }
            recordZoneFetchResultBlock?(
                outcome.id,
                .success(
                    (serverChangeToken: page.token, clientChangeTokenData: page.clientToken, moreComing: page.moreComing)))
            recordZoneFetchCompletionBlock?(outcome.id, page.token, page.clientToken, page.moreComing, nil)
        }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        fetchRecordZoneChangesResultBlock?(result)
        fetchRecordZoneChangesCompletionBlock?(result.failure)
    }
}

extension CKFetchRecordZoneChangesOperation {
    @available(*, deprecated, message: "use init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init(recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
    }

    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }
}

/// The old form for one zone.
///
/// Source: Apple's documentation of `CKFetchRecordChangesOperation`, which is deprecated.
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    public var recordZoneID: CKRecordZone.ID?
    public var previousServerChangeToken: CKServerChangeToken?
    /// Records of one page at most; 0 leaves it to the server.
    public var resultsLimit = 0
    public var desiredKeys: [CKRecord.FieldKey]?
    /// Whether another operation with the new token brings more; known in the final block.
    public private(set) var moreComing = false

    @preconcurrency public var recordChangedBlock: (@Sendable (CKRecord) -> Void)?
    @preconcurrency public var recordWithIDWasDeletedBlock: (@Sendable (CKRecord.ID) -> Void)?
    @preconcurrency
    public var fetchRecordChangesCompletionBlock: (@Sendable (CKServerChangeToken?, Data?, (any Error)?) -> Void)?

    private let tokens = Locked<(server: CKServerChangeToken?, client: Data?)>((nil, nil))

    public override init() { super.init() }

    public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let zoneID = recordZoneID ?? .default
        let limit = resultsLimit > 0 ? resultsLimit : nil
        let outcomes = try await run(settings).zoneChanges(
            [(zoneID, previousServerChangeToken, limit, desiredKeys)], asking: [.clientChangeToken])
        let page = try outcomes[0].result.get()
        tokens.update { $0 = (page.token, page.clientToken) }
        moreComing = page.moreComing
        await tell {
            for record in page.records {
                if case .success(let record) = record.result { self.recordChangedBlock?(record) }
            }
            for deletion in page.deletions { self.recordWithIDWasDeletedBlock?(deletion.recordID) }
        }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        let tokens = tokens.value
        fetchRecordChangesCompletionBlock?(tokens.server, tokens.client, result.failure)
    }
}
