// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

extension SyncDatabase {
    /// Saves a record of each type, complete, and removes all of them.
    func initialize(_ schema: CloudSchema, makeName: () -> String) async throws {
        guard client.environment == .development else {
            throw CloudFailure(.serverRejectedRequest, "a schema is initialised in development and then deployed to production")
        }
        let zone = client.scope == .public ? ZoneID.defaultZone : ZoneID(zoneName: MirrorNames.schemaZone)
        if client.scope != .public { try await change(.create(zone)) }
        var names: [String] = []
        var failure: (any Error)?
        do {
            var operations: [RecordOperation] = []
            for type in schema.recordTypes {
                names.append(makeName())
                operations.append(RecordOperation(.create, try await sample(of: type, named: names[names.count - 1], in: zone)))
            }
            try await modify(operations, in: zone, key: makeName())
        } catch {
            failure = error
        }
        // The sample zone is deleted on every path.
        if client.scope != .public {
            try await change(.delete(zone))
        } else {
            let deletions = zip(names, schema.recordTypes).map { name, type in
                RecordOperation(.forceDelete, Record(recordName: name, recordType: type.name))
            }
            do { try await modify(deletions, in: zone, key: makeName()) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    private func sample(of type: CloudSchema.RecordType, named name: String, in zone: ZoneID) async throws -> Record {
        var record = Record(recordName: name, recordType: type.name)
        for field in type.fields {
            if let sample = field.sample {
                record.fields[field.name] = Field(sample, isEncrypted: field.isEncrypted)
            } else {
                let asset = try await client.uploadAsset(
                    .bytes([1]), recordType: type.name, recordName: name, fieldName: field.name, zoneID: zone)
                record.fields[field.name] = Field(.asset(asset))
            }
        }
        return record
    }

    private func change(_ operation: ZoneOperation) async throws {
        let answer = try await client.modifyZones(ZonesModifyRequest(operations: [operation]))
        for case .failure(_, let error) in answer.zones { throw CloudFailure(error) }
    }

    private func modify(_ operations: [RecordOperation], in zone: ZoneID, key: String) async throws {
        let limit = client.limits.operationsPerRequest
        for start in stride(from: 0, to: operations.count, by: limit) {
            let part = Array(operations[start..<min(start + limit, operations.count)])
            let answer = try await client.modifyRecords(
                ModifyRecordsRequest(operations: part, zoneID: zone, atomic: false), idempotencyKey: "\(key)-\(start)")
            for case .failure(_, let error, _) in answer.results { throw CloudFailure(error) }
        }
    }
}
