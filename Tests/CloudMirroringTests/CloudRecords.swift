// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation

extension InProcessCloud {
    /// Everybody's records of a type, as the server keeps them.
    func records(ofType type: String) async throws -> [Record] {
        try await databases(of: Device.containerIdentifier).flatMap(\.zones).flatMap(\.records).filter { $0.recordType == type }
    }
}

extension InProcessTransport {
    /// Deletes a record of the mirrored zone, and nothing that belongs to it, as another client may.
    func forceDelete(_ name: String, ofType type: String) async throws {
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: self)
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(
                operations: [RecordOperation(.forceDelete, Record(recordName: name, recordType: type))],
                zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")),
            idempotencyKey: UUID().uuidString)
    }
}
