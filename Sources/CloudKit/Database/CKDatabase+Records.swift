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
        let client = try client()
        var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        for (zoneID, ids) in grouped(ids, by: \.zoneID) {
            for page in pages(ids, of: client.limits.recordsPerResponse) {
                let answer = try await client.lookupRecords(
                    LookupRecordsRequest(
                        recordNames: page.map(\.recordName), zoneID: zoneID.wire, desiredKeys: desiredKeys))
                for (id, result) in zip(page, answer.results) {
                    results[id] = await fetched(result, in: zoneID, with: client)
                }
            }
        }
        return results
    }

    /// Saves and deletes records, of each zone in one request.
    ///
    /// - Parameters:
    ///   - recordsToSave: At most `Limits.operationsPerRequest` of a zone, deletions included.
    ///   - savePolicy: What happens where the server has another version.
    ///   - atomically: Whether the records of one zone succeed or fail together. Only custom zones can do it.
    /// - Throws: ``CKError`` with `.limitExceeded` if there are too many, and then nothing was sent; otherwise if a
    ///   request failed as a whole, and then zones sent before may have been saved.
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        let client = try client()
        let zones = grouped(
            recordsToSave.map(Change.save) + recordIDsToDelete.map(Change.delete), by: \.recordID.zoneID)
        guard zones.allSatisfy({ $0.1.count <= client.limits.operationsPerRequest }) else {
            throw CKError(
                .limitExceeded,
                "more than \(client.limits.operationsPerRequest) records of one zone: save them in smaller batches")
        }
        var saved: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        var deleted: [CKRecord.ID: Result<Void, any Error>] = [:]
        for (zoneID, changes) in zones {
            var operations: [RecordOperation] = []
            for change in changes {
                operations.append(try await operation(change, savePolicy, client))
            }
            let canBeAtomic = databaseScope != .public && zoneID.zoneName != CKRecordZone.ID.defaultZoneName
            let answer = try await client.modifyRecords(
                ModifyRecordsRequest(
                    operations: operations, zoneID: zoneID.wire, atomic: atomically && canBeAtomic),
                idempotencyKey: UUID().uuidString)
            for (change, result) in zip(changes, answer.results) {
                switch change {
                case .save(let record): saved[record.recordID] = outcome(of: record, result)
                case .delete(let id): deleted[id] = outcome(ofDeleting: result)
                }
            }
        }
        return (saved, deleted)
    }

    // MARK: Requests

    private enum Change {
        case save(CKRecord)
        case delete(CKRecord.ID)

        var recordID: CKRecord.ID {
            switch self {
            case .save(let record): record.recordID
            case .delete(let id): id
            }
        }
    }

    private func operation(
        _ change: Change, _ policy: CKModifyRecordsOperation.RecordSavePolicy, _ client: CloudDatabaseClient
    ) async throws -> RecordOperation {
        switch change {
        case .delete(let id): return RecordOperation(.forceDelete, Record(recordName: id.recordName))
        case .save(let record): return try await record.operation(policy, uploadingWith: client)
        }
    }

    /// Items by zone, the zones in the order of their first items.
    private func grouped<Item>(
        _ items: [Item], by zoneID: (Item) -> CKRecordZone.ID
    ) -> [(CKRecordZone.ID, [Item])] {
        var zones: [(CKRecordZone.ID, [Item])] = []
        var positions: [CKRecordZone.ID: Int] = [:]
        for item in items {
            let id = zoneID(item)
            if let position = positions[id] {
                zones[position].1.append(item)
            } else {
                positions[id] = zones.count
                zones.append((id, [item]))
            }
        }
        return zones
    }

    private func pages<Item>(_ items: [Item], of count: Int) -> [ArraySlice<Item>] {
        stride(from: 0, to: items.count, by: count).map { items[$0..<min($0 + count, items.count)] }
    }

    // MARK: Answers

    func fetched(
        _ result: RecordResult, in zoneID: CKRecordZone.ID, with client: CloudDatabaseClient
    ) async -> Result<CKRecord, any Error> {
        switch result {
        case .failure(_, let error, _): return .failure(CKError(error))
        case .record(let record) where record.isDeleted: return .failure(CKError(.unknownItem))
        case .record(let record): return await fetched(record, in: zoneID, with: client)
        }
    }

    func fetched(
        _ record: Record, in zoneID: CKRecordZone.ID, with client: CloudDatabaseClient
    ) async -> Result<CKRecord, any Error> {
        let record = CKRecord(record, in: zoneID, scope: databaseScope)
        do {
            try await record.fetchAssets(with: client)
            return .success(record)
        } catch {
            return .failure(error)
        }
    }

    private func outcome(of record: CKRecord, _ result: RecordResult) -> Result<CKRecord, any Error> {
        switch result {
        case .record(let saved):
            let answer = CKRecord(saved, in: record.recordID.zoneID, scope: databaseScope)
            answer.keepFiles(of: record)
            return .success(answer)
        case .failure(_, let error, let serverRecord):
            var userInfo: [String: Any] = [:]
            if CKError.Code(error) == .serverRecordChanged {
                userInfo[CKRecordChangedErrorClientRecordKey] = record
                userInfo[CKRecordChangedErrorAncestorRecordKey] = record.ancestor
                if let serverRecord {
                    userInfo[CKRecordChangedErrorServerRecordKey] = CKRecord(
                        serverRecord, in: record.recordID.zoneID, scope: databaseScope)
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
}
