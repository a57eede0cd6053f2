// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// A change of one record.
enum RecordChange: Sendable {
    case save(CKRecord)
    case delete(CKRecord.ID)

    var recordID: CKRecord.ID {
        switch self {
        case .save(let record): record.recordID
        case .delete(let id): id
        }
    }
}

enum RecordOutcome: Sendable {
    case saved(CKRecord, Result<CKRecord, any Error>)
    case deleted(CKRecord.ID, Result<Void, any Error>)

    init(_ change: RecordChange, failed error: any Error) {
        switch change {
        case .save(let record): self = .saved(record, .failure(error))
        case .delete(let id): self = .deleted(id, .failure(error))
        }
    }
}

extension DatabaseRequests {
    // MARK: Saving and deleting

    /// Saves and deletes records, with one request for each zone.
    ///
    /// - Parameters:
    ///   - clientToken: Data that the server returns to this device with the changes of the zones.
    ///   - progress: Receives the progress of a record's assets, from 0 to 1.
    ///   - deliver: Called once for each zone, with an outcome for each of its changes.
    /// - Throws: ``CKError`` if there are too many changes; nothing was sent. Otherwise if a request failed as a whole;
    ///   zones that were delivered before may have been saved.
    func modify(
        _ changes: [RecordChange], _ policy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool,
        clientToken: Data? = nil, progress: @escaping @Sendable (CKRecord, Double) async -> Void = { _, _ in },
        deliver: @Sendable ([RecordOutcome]) async -> Void
    ) async throws {
        try checkCount(changes.count, of: "records")
        for (zoneID, changes) in grouped(changes, by: \.recordID.zoneID) {
            try checkCancellation()
            let canBeAtomic = scope != .public && zoneID.zoneName != CKRecordZone.ID.defaultZoneName
            await deliver(
                try await modify(
                    changes, in: zoneID, policy, atomically: atomically && canBeAtomic, clientToken, progress: progress))
        }
    }

    private func modify(
        _ changes: [RecordChange], in zoneID: CKRecordZone.ID, _ policy: CKModifyRecordsOperation.RecordSavePolicy,
        atomically: Bool, _ clientToken: Data?, progress: @escaping @Sendable (CKRecord, Double) async -> Void
    ) async throws -> [RecordOutcome] {
        var sent: [(change: RecordChange, edits: CKRecord.Edits)] = []
        var operations: [RecordOperation] = []
        var failed: [RecordOutcome] = []
        for change in changes {
            switch change {
            case .delete(let id):
                operations.append(RecordOperation(.forceDelete, Record(recordName: id.recordName)))
                sent.append((change, CKRecord.Edits()))
            case .save(let record):
                do {
                    let edits = record.edits
                    var operation = try await record.operation(policy, edits, uploadingWith: client, journal) { done in
                        await progress(record, done)
                    }
                    // The root may have been fetched again since the share was created, after a conflict for example.
                    if record.recordChangeTag == nil, let name = operation.record.sharing.details?.rootRecordName,
                        let root = savedRecord(named: name, in: changes)
                    {
                        operation.record.sharing.details?.rootRecordChangeTag = root.recordChangeTag
                    }
                    operations.append(operation)
                    sent.append((change, edits))
                } catch {
                    let error = CKError(transportFailure: error)
                    guard error.isOfOneRecord else { throw error }
                    failed.append(.saved(record, .failure(error)))
                }
            }
        }
        if !failed.isEmpty, atomically {
            let error = CKError(.batchRequestFailed)
            return failed + sent.map { RecordOutcome($0.change, failed: error) }
        }
        guard !operations.isEmpty else { return failed }
        do {
            var request = ModifyRecordsRequest(operations: operations, zoneID: zoneID.wire, atomic: atomically)
            request.clientChangeToken = clientToken.map { [UInt8]($0) }
            let response = try await client.modifyRecords(request, idempotencyKey: UUID().uuidString)
            var outcomes = failed
            for ((change, edits), result) in zip(sent, response.results) {
                switch change {
                case .save(let record):
                    if case .record = result { await progress(record, 1) }
                    outcomes.append(.saved(record, outcome(of: record, edits, result)))
                case .delete(let id): outcomes.append(.deleted(id, outcome(ofDeleting: result)))
                }
            }
            return outcomes
        } catch {
            guard error.isOfOneZone else { throw error }
            return failed + sent.map { RecordOutcome($0.change, failed: error) }
        }
    }

    private func savedRecord(named name: String, in changes: [RecordChange]) -> CKRecord? {
        for case .save(let record) in changes where record.recordID.recordName == name { return record }
        return nil
    }

    private func outcome(
        of record: CKRecord, _ edits: CKRecord.Edits, _ result: RecordResult
    ) -> Result<CKRecord, any Error> {
        switch result {
        case .record(let saved):
            let response = make(saved, in: record.recordID.zoneID, scope: scope)
            response.keepFiles(of: record)
            record.wasSaved(response, edits)
            return .success(response)
        case .failure(_, let error, let serverRecord):
            var userInfo: [String: Any] = [:]
            if CKError.Code(error) == .serverRecordChanged {
                userInfo[CKRecordChangedErrorClientRecordKey] = record
                userInfo[CKRecordChangedErrorAncestorRecordKey] = record.ancestor
                if let serverRecord {
                    userInfo[CKRecordChangedErrorServerRecordKey] = make(
                        serverRecord, in: record.recordID.zoneID, scope: scope)
                }
            }
            return .failure(CKError(error, userInfo: userInfo))
        }
    }

    private func outcome(ofDeleting result: RecordResult) -> Result<Void, any Error> {
        switch result {
        case .record: .success(())
        case .failure(_, let error, _): .failure(CKError(error))
        }
    }

    // MARK: Fetching

    /// Fetches records of any zones, with the content of their assets.
    ///
    /// - Parameter desiredKeys: `nil` fetches all fields, an empty list none.
    func fetch(
        _ ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?,
        progress: @escaping @Sendable (CKRecord.ID, Double) async -> Void = { _, _ in },
        deliver: @Sendable ([Outcome<CKRecord.ID, CKRecord>]) async -> Void
    ) async throws {
        for (zoneID, ids) in grouped(ids, by: \.zoneID) {
            try await inPages(ids) { page in
                var outcomes: [Outcome<CKRecord.ID, CKRecord>] = []
                do throws(CKError) {
                    let response = try await client.lookupRecords(
                        LookupRecordsRequest(recordNames: page.map(\.recordName), zoneID: zoneID.wire, desiredKeys: desiredKeys))
                    // The server limits the size of a response and omits the remaining records, which are requested
                    // again.
                    let later = response.results.dropFirst().firstIndex(where: \.isOmitted) ?? page.count
                    for (id, result) in zip(page, response.results.prefix(later)) {
                        let result = await fetched(result, in: zoneID) { await progress(id, $0) }
                        if case .success = result { await progress(id, 1) }
                        outcomes.append(Outcome(id: id, result: result))
                    }
                } catch {
                    guard error.isOfOneZone else { throw error }
                    outcomes = page.map { Outcome(id: $0, result: .failure(error)) }
                }
                await deliver(outcomes)
                return outcomes.count
            }
        }
    }

    func fetched(
        _ result: RecordResult, in zoneID: CKRecordZone.ID, progress: @escaping @Sendable (Double) async -> Void = { _ in }
    ) async -> Result<CKRecord, any Error> {
        switch result {
        case .failure(_, let error, _): return .failure(CKError(error))
        case .record(let record) where record.isDeleted: return .failure(CKError(.unknownItem))
        case .record(let record): return await fetched(record, in: zoneID, progress: progress)
        }
    }

    /// Returns the record with its assets. If an asset cannot be fetched, the result is an error instead of an
    /// incomplete record.
    func fetched(
        _ record: Record, in zoneID: CKRecordZone.ID, progress: @escaping @Sendable (Double) async -> Void = { _ in }
    ) async -> Result<CKRecord, any Error> {
        let record = make(record, in: zoneID, scope: scope)
        do {
            try await record.fetchAssets(with: client, journal, progress: progress)
            return .success(record)
        } catch {
            return .failure(error)
        }
    }
}

extension CKError {
    /// Whether a failure while preparing a record concerns that record only.
    fileprivate var isOfOneRecord: Bool {
        switch code {
        case .assetFileNotFound, .assetFileModified, .assetNotAvailable, .limitExceeded, .quotaExceeded, .invalidArguments: true
        default: false
        }
    }
}
