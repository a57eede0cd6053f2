// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// More items than one response can contain.
@Suite struct ManyTests {
    @Test func largeRecordsAreFetchedWhole() async throws {
        let (database, zoneID) = try await garden()
        let records = (0..<60).map { number -> CKRecord in
            let record = plant("\(number)", in: zoneID)
            record["note"] = String(repeating: "x", count: 100_000)
            return record
        }
        for start in stride(from: 0, to: 60, by: 15) {
            _ = try await database.modifyRecords(saving: Array(records[start..<start + 15]), deleting: [])
        }
        let ids = records.map(\.recordID) + [CKRecord.ID(recordName: "gone", zoneID: zoneID)]
        let fetched = try await database.records(for: ids)
        #expect(fetched.count == 61)
        for record in records { #expect((try fetched[record.recordID]?.get()["note"] as? String)?.count == 100_000) }
        #expect(throws: CKError.self) { try fetched[ids[60]]?.get() }
        let log = CallbackLog()
        let operation = CKFetchRecordsOperation(recordIDs: ids)
        operation.perRecordResultBlock = { id, result in log.add((try? result.get()) == nil ? "no \(id.recordName)" : "one") }
        await finish(operation, on: database)
        #expect(log.all.filter { $0 == "one" }.count == 60)
        #expect(log.all.filter { $0 != "one" } == ["no gone"])
    }

    @Test func changesOfManyZonesAreFetched() async throws {
        let database = try await testContainer().privateCloudDatabase
        let zones = (0..<250).map { CKRecordZone(zoneName: "Garden \($0)") }
        _ = try await database.modifyRecordZones(saving: zones, deleting: [])
        let first = plant("a", in: zones[0].zoneID), last = plant("z", in: zones[249].zoneID)
        _ = try await database.modifyRecords(saving: [first, last], deleting: [])
        #expect(try await database.recordZones(for: zones.map(\.zoneID)).values.filter { (try? $0.get()) != nil }.count == 250)
        let fetched = ReceivedValues<CKRecord.ID>(), done = CallbackLog()
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: zones.map(\.zoneID), configurationsByRecordZoneID: nil)
        operation.recordWasChangedBlock = { id, _ in fetched.add(id) }
        operation.recordZoneFetchResultBlock = { id, result in if (try? result.get()) != nil { done.add(id.zoneName) } }
        operation.fetchRecordZoneChangesResultBlock = { result in if (try? result.get()) != nil { done.add("all") } }
        await finish(operation, on: database)
        #expect(fetched.all == [first.recordID, last.recordID])
        #expect(done.all.count == 251)
        #expect(done.all.last == "all")
        let links = (0..<201).compactMap { URL(string: "https://example.org/share/none-\($0)") }
        #expect(try await testContainer().shareMetadatas(for: links).count == 201)
    }
}
