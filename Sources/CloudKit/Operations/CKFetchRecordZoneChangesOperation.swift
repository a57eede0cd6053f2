// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// Fetches the changes of zones.
///
/// For each zone the operation delivers its records and deletions, then the token after them, and at the end the zone's
/// result. If a zone failed, the final result is `.partialFailure` with the errors by zone ID.
///
/// Source: Apple's documentation of `CKFetchRecordZoneChangesOperation`.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The type of a zone's configuration.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration

    /// An earlier name of `ZoneConfiguration`.
    public typealias ZoneOptions = ZoneConfiguration

    /// The zones to fetch.
    public var recordZoneIDs: [CKRecordZone.ID]?
    /// The configuration of single zones.
    public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    /// Whether to fetch all pages.
    public var fetchAllChanges = true

    /// Called with a zone's token after each page. The data is the client token of this device's last save.
    /// Called for each deleted record, with its type.
    /// Called for each new or changed record, or with the error of a record without its assets.
    @preconcurrency public var recordWasChangedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    @preconcurrency public var recordWithIDWasDeletedBlock: (@Sendable (CKRecord.ID, CKRecord.RecordType) -> Void)?
    @preconcurrency
    public var recordZoneChangeTokensUpdatedBlock: (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
    /// Called at the end of each zone with its token, its client token and whether more pages follow, or with its
    /// error.
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
    /// Called at the end.
    @preconcurrency public var fetchRecordZoneChangesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``recordWasChangedBlock``, without errors: if it is the only one, a record that cannot be fetched now fails its zone.
    @preconcurrency public var recordChangedBlock: (@Sendable (CKRecord) -> Void)?
    /// Older form of ``recordZoneFetchResultBlock``.
    @preconcurrency
    public var recordZoneFetchCompletionBlock: (@Sendable (CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    /// Older form of ``fetchRecordZoneChangesResultBlock``.
    @preconcurrency public var fetchRecordZoneChangesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
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
        // In a fixed order, so that a resumed operation sends the same requests.
        var remainingZones =
            recordZoneIDs ?? configurationsByRecordZoneID?.keys.sorted { ($0.ownerName, $0.zoneName) < ($1.ownerName, $1.zoneName) } ?? []
        var positions = PagePositions()
        /// The position of a request for several zones. A page may have changes of only one of them.
        func position() -> String {
            remainingZones.map { id in
                let token = tokens[id] ?? configurationsByRecordZoneID?[id]?.previousServerChangeToken
                return "\(id.ownerName) \(id.zoneName) \(token?.text ?? "")"
            }.joined(separator: "\n")
        }
        while !remainingZones.isEmpty {
            try Task.checkCancellation()
            let asked = position()
            let fetchedZones = try await run.zoneChanges(
                remainingZones.map { id in
                    let configuration = configurationsByRecordZoneID?[id]
                    let limit = configuration.flatMap { $0.resultsLimit > 0 ? $0.resultsLimit : nil }
                    return (id, tokens[id] ?? configuration?.previousServerChangeToken, limit, configuration?.desiredKeys)
                }, asking: [.clientChangeToken])
            let outcomes = recordWasChangedBlock == nil ? fetchedZones.map(\.withoutSkippedRecords) : fetchedZones
            remainingZones = []
            for outcome in outcomes {
                if case .success(let page) = outcome.result {
                    tokens[outcome.id] = page.token
                    if page.moreComing, fetchAllChanges { remainingZones.append(outcome.id) }
                }
                errors.note(outcome.id, outcome.result)
            }
            if !remainingZones.isEmpty, !positions.advance(from: asked, to: position()) { throw CKError.repeatedPage }
            let unfinished = Set(remainingZones)
            await callBlock {
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
    /// Creates an operation with the zones and their options.
    @available(*, deprecated, message: "use init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init(recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
    }

    /// An earlier name of `configurationsByRecordZoneID`.
    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }
}

/// The deprecated form for one zone.
///
/// Source: Apple's documentation of `CKFetchRecordChangesOperation`, which is deprecated.
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The zone to fetch.
    public var recordZoneID: CKRecordZone.ID?
    /// The token to continue from. `nil` fetches from the start.
    public var previousServerChangeToken: CKServerChangeToken?
    /// Maximum number of records of one page. 0 leaves it to the server.
    public var resultsLimit = 0
    /// The fields to fetch. `nil` fetches all fields, an empty list none.
    public var desiredKeys: [CKRecord.FieldKey]?
    /// Whether more pages follow. Valid in the final block.
    public private(set) var moreComing = false

    /// Called at the end with the token and the client token, or with the error.
    /// Called for each deleted record.
    /// Called for each new or changed record.
    @preconcurrency public var recordChangedBlock: (@Sendable (CKRecord) -> Void)?
    @preconcurrency public var recordWithIDWasDeletedBlock: (@Sendable (CKRecord.ID) -> Void)?
    @preconcurrency
    public var fetchRecordChangesCompletionBlock: (@Sendable (CKServerChangeToken?, Data?, (any Error)?) -> Void)?

    private let tokens = Locked<(server: CKServerChangeToken?, client: Data?)>((nil, nil))

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation with its inputs.
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
        let page = try outcomes[0].withoutSkippedRecords.result.get()
        tokens.update { $0 = (page.token, page.clientToken) }
        moreComing = page.moreComing
        await callBlock {
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
