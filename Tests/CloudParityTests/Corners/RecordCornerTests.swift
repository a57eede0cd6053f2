// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// Saves, batches and conflicts as apps write them.
@Suite struct RecordCornerTests {
    @Test func aConflictHasThreeRecordsAndIsMergedByTheApp() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("sage", in: zoneID)
        record["name"] = "Sage"
        record["height"] = 10
        _ = try await database.save(record)
        let other = try await database.record(for: record.recordID)
        other["height"] = 20
        _ = try await database.save(other)
        let mine = try await database.record(for: record.recordID)
        #expect(mine["height"] == 20)
        record["name"] = "Salvia"
        let error = try #require(await failure { try await database.save(record) })
        #expect(error.code == .serverRecordChanged)
        let server = try #require(error.serverRecord)
        #expect(server["height"] == 20)
        #expect(error.clientRecord?["name"] == "Salvia")
        #expect(error.ancestorRecord?["height"] == 10)
        #expect(error.ancestorRecord?["name"] == "Sage")
        #expect(error.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord === server)
        server["name"] = record["name"] as String?
        let saved = try await database.save(server)
        #expect(saved["name"] == "Salvia")
        #expect(saved["height"] == 20)
    }

    @Test func aBatchReportsEachRecord() async throws {
        let (database, zoneID) = try await garden()
        let old = plant("old", in: zoneID)
        _ = try await database.save(old)
        let clash = plant("old", in: zoneID)
        let (saved, deleted) = try await database.modifyRecords(
            saving: [clash, plant("new", in: zoneID)], deleting: [plant("gone", in: zoneID).recordID], atomically: false)
        #expect(throws: CKError.self) { try saved[clash.recordID]?.get() }
        #expect(try saved[plant("new", in: zoneID).recordID]?.get().recordChangeTag != nil)
        #expect(deleted.count == 1)
        let (atomic, _) = try await database.modifyRecords(saving: [clash, plant("newer", in: zoneID)], deleting: [])
        guard case .failure(let guilty)? = atomic[clash.recordID],
            case .failure(let innocent)? = atomic[plant("newer", in: zoneID).recordID]
        else {
            Issue.record("an atomic batch fails as a whole")
            return
        }
        #expect((guilty as? CKError)?.code == .serverRecordChanged)
        #expect((innocent as? CKError)?.code == .batchRequestFailed)
    }

    @Test func theOperationsErrorNamesItsItems() async throws {
        let (database, zoneID) = try await garden()
        _ = try await database.save(plant("old", in: zoneID))
        let operation = CKModifyRecordsOperation(
            recordsToSave: [plant("old", in: zoneID), plant("new", in: zoneID)], recordIDsToDelete: nil)
        let log = CallbackLog()
        operation.qualityOfService = .userInitiated
        operation.perRecordSaveBlock = { id, result in
            switch result {
            case .success: log.add("\(id.recordName) saved")
            case .failure(let error): log.add("\(id.recordName) \((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        operation.modifyRecordsResultBlock = { result in
            guard case .failure(let error as CKError) = result else { return log.add("no error") }
            log.add("\(error.code.rawValue) \(error.partialErrorsByItemID?.count ?? 0)")
        }
        await finish(operation, on: database)
        #expect(Set(log.all.dropLast()) == ["old 14", "new 22"])
        #expect(log.all.last == "2 2")
    }

    @Test func allKeysAndChangedKeysOverwrite() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("a", in: zoneID)
        record["x"] = 1
        record["y"] = 1
        _ = try await database.save(record)
        let fresh = plant("a", in: zoneID)
        fresh["y"] = 2
        let (saved, _) = try await database.modifyRecords(saving: [fresh], deleting: [], savePolicy: .allKeys)
        #expect(try saved[fresh.recordID]?.get()["y"] == 2)
        let now = try await database.record(for: record.recordID)
        #expect(now["x"] == 1)
        now["x"] = nil
        let changed = try await database.modifyRecords(saving: [now], deleting: [], savePolicy: .changedKeys)
        #expect(try changed.saveResults[now.recordID]?.get() != nil)
        let end = try await database.record(for: record.recordID)
        #expect(end["x"] as Int? == nil)
        #expect(end.allKeys() == ["y"])
    }

    @Test func dictionariesOfResultsAndMissingRecords() async throws {
        let (database, zoneID) = try await garden()
        _ = try await database.save(plant("a", in: zoneID))
        let ids = [plant("a", in: zoneID).recordID, plant("b", in: zoneID).recordID]
        let results = try await database.records(for: ids)
        #expect(results.count == 2)
        #expect(try results[ids[0]]?.get().recordType == "Plant")
        guard case .failure(let error as CKError)? = results[ids[1]] else {
            Issue.record("a missing record is a failure")
            return
        }
        #expect(error.code == .unknownItem)
        let single = await failure { try await database.record(for: ids[1]) }
        #expect(single?.code == .unknownItem)
        #expect(single?.localizedDescription.isEmpty == false)
    }

    @Test func valuesOfEveryKindComeBack() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("all", in: zoneID)
        let date = Date(timeIntervalSince1970: 1_700_000_000.125)
        record["text"] = "Grün 🌱\n\"quoted\""
        record["empty"] = ""
        record["int"] = Int.max
        record["low"] = Int64.min
        record["flag"] = true
        record["double"] = 0.1
        record["date"] = date
        record["data"] = Data([0, 1, 255])
        record["noData"] = Data()
        record["place"] = CLLocation(latitude: 47.5, longitude: -8.25)
        record["texts"] = ["a", "", "c,d"]
        record["numbers"] = [1, 2, 3]
        record["dates"] = [date, date]
        record["link"] = CKRecord.Reference(recordID: plant("other", in: zoneID).recordID, action: .none)
        record.encryptedValues["secret"] = "hidden"
        record.encryptedValues["secretDate"] = date
        _ = try await database.save(record)
        let back = try await database.record(for: record.recordID)
        #expect(back["text"] == "Grün 🌱\n\"quoted\"")
        #expect(back["empty"] as? String == "")
        #expect(back["int"] as? Int == Int.max)
        #expect(back["low"] as? Int64 == Int64.min)
        #expect(back["flag"] as? Bool == true)
        #expect(back["flag"] as? Int == 1)
        #expect(back["double"] as? Double == 0.1)
        #expect(back["date"] as? Date == date)
        #expect(back["data"] as? Data == Data([0, 1, 255]))
        #expect(back["noData"] as? Data == Data())
        #expect((back["place"] as? CLLocation)?.coordinate.longitude == -8.25)
        #expect(back["texts"] as? [String] == ["a", "", "c,d"])
        #expect(back["numbers"] as? [Int] == [1, 2, 3])
        #expect(back["dates"] as? [Date] == [date, date])
        #expect((back["link"] as? CKRecord.Reference)?.recordID.recordName == "other")
        #expect(back.encryptedValues["secret"] as? String == "hidden")
        #expect(back.encryptedValues["secretDate"] as? Date == date)
        #expect(back["secret"] as? String == nil)
        #expect(back.creationDate != nil)
        #expect(back.modificationDate != nil)
        #expect(back.creatorUserRecordID != nil)
        #expect(back.changedKeys().isEmpty)
    }

    @Test func limitsAreErrorsOfTheirKind() async throws {
        let (database, zoneID) = try await garden()
        let big = plant("big", in: zoneID)
        big["text"] = String(repeating: "x", count: 1_100_000)
        let error = try #require(await failure { try await database.save(big) })
        #expect([.limitExceeded, .invalidArguments, .serverRejectedRequest].contains(error.code))
        let missing = await failure {
            try await database.save(
                CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "x", zoneID: CKRecordZone.ID(zoneName: "None"))))
        }
        #expect(missing?.code == .zoneNotFound)
        let file = plant("file", in: zoneID)
        file["picture"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/picture.png"))
        #expect(await failure { try await database.save(file) }?.code == .assetFileNotFound)
        let mixed = CKRecord(recordType: "Plant")
        mixed["recordID"] = "x"
        #expect(await failure { try await database.save(mixed) }?.code == .invalidArguments)
    }

    @Test func deleteSelfRunsThroughReferences() async throws {
        let (database, zoneID) = try await garden()
        let bed = plant("bed", in: zoneID)
        let row = plant("row", in: zoneID)
        row["bed"] = CKRecord.Reference(record: bed, action: .deleteSelf)
        let seed = plant("seed", in: zoneID)
        seed["row"] = CKRecord.Reference(record: row, action: .deleteSelf)
        let free = plant("free", in: zoneID)
        free["row"] = CKRecord.Reference(record: row, action: .none)
        _ = try await database.modifyRecords(saving: [bed, row, seed, free], deleting: [])
        _ = try await database.deleteRecord(withID: bed.recordID)
        let left = try await database.records(for: [bed, row, seed, free].map(\.recordID))
        #expect(left.filter { (try? $0.value.get()) != nil }.map(\.key.recordName) == ["free"])
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(changes.modificationResultsByID.count == 1)
    }

    @Test func systemFieldsOfAnArchiveSave() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("a", in: zoneID)
        record["x"] = 1
        let saved = try await database.save(record)
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        saved.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let decoder = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        decoder.requiresSecureCoding = true
        let again = try #require(CKRecord(coder: decoder))
        decoder.finishDecoding()
        #expect(again.recordChangeTag == saved.recordChangeTag)
        #expect(again.allKeys() == [])
        again["x"] = 2
        #expect(try await database.save(again)["x"] == 2)
        let stale = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        let old = try #require(CKRecord(coder: stale))
        old["x"] = 3
        let conflict = await failure { try await database.save(old) }
        #expect(conflict?.code == .serverRecordChanged)
        #expect(conflict?.serverRecord?["x"] == 2)
        // The archive has no fields.
        #expect(conflict?.ancestorRecord?.recordChangeTag == saved.recordChangeTag)
        #expect(conflict?.ancestorRecord?.allKeys() == [])
    }
}
