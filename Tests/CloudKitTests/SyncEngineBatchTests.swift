// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Testing

@Suite struct SyncEngineBatchTests {
    /// iCloud rejects larger requests: a batch that exceeds its limit would never be sent.
    @Test func aBatchKeepsToTheLimitOfEachService() async throws {
        let changes = (0..<300).map { number in
            let id = CKRecord.ID(recordName: "note \(number)", zoneID: CKRecordZone.ID(zoneName: "Notes"))
            return number < 150 ? CKSyncEngine.PendingRecordZoneChange.deleteRecord(id) : .saveRecord(id)
        }
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            CKRecord(recordType: "Note", recordID: id)
        }
        let planned = try #require(batch)
        #expect(planned.recordIDsToDelete.count == 150)
        #expect(planned.recordsToSave.count == 50)
        #expect(Limits.documentedWebServices.operationsPerRequest == 200)
    }
}
