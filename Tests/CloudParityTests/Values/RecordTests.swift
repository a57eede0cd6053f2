// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

@Suite struct RecordTests {
    @Test func aNewRecordHasNoSystemFields() {
        let record = CKRecord(recordType: "Plant")
        #expect(record.recordType == "Plant")
        #expect(UUID(uuidString: record.recordID.recordName) != nil)
        #expect(record.recordID.zoneID == .default)
        #expect(record.recordChangeTag == nil)
        #expect(record.creationDate == nil)
        #expect(record.modificationDate == nil)
        #expect(record.creatorUserRecordID == nil)
        #expect(record.lastModifiedUserRecordID == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.changedKeys().isEmpty)
    }

    @Test func valuesAreReadInTheirTypes() throws {
        let record = CKRecord(recordType: "Plant")
        let date = Date(timeIntervalSince1970: 1_700_000_000.5)
        let other = CKRecord.ID(recordName: "bed")
        record["text"] = "Sage"
        record["number"] = 42
        record["small"] = Int32(7)
        record["real"] = 1.5
        record["flag"] = true
        record["date"] = date
        record["data"] = Data([1, 2, 3])
        record["bed"] = CKRecord.Reference(recordID: other, action: .deleteSelf)
        record["place"] = CLLocation(latitude: 48.1, longitude: 11.5)
        record["texts"] = ["a", "b"]
        record["numbers"] = [1, 2, 3]
        record["dates"] = [date]
        #expect(record["text"] as? String == "Sage")
        #expect(record["number"] as? Int == 42)
        #expect(record["number"] as? Int64 == 42)
        #expect(record["small"] as? Int == 7)
        #expect(record["real"] as? Double == 1.5)
        #expect(record["flag"] as? Bool == true)
        #expect(record["date"] as? Date == date)
        #expect(record["data"] as? Data == Data([1, 2, 3]))
        #expect((record["bed"] as? CKRecord.Reference)?.recordID == other)
        #expect((record["bed"] as? CKRecord.Reference)?.action == .deleteSelf)
        #expect((record["place"] as? CLLocation)?.coordinate.latitude == 48.1)
        #expect(record["texts"] as? [String] == ["a", "b"])
        #expect(record["numbers"] as? [Int] == [1, 2, 3])
        #expect(record["dates"] as? [Date] == [date])
        #expect(record["none"] == nil)
    }

    @Test func valuesCanBeReadInARequestedType() {
        let record = CKRecord(recordType: "Plant")
        record["number"] = 3
        record["text"] = "x"
        let whole: Int? = record["number"]
        let small: Int16? = record["number"]
        let unsigned: UInt? = record["number"]
        let real: Double? = record["number"]
        let wrong: Date? = record["number"]
        let text: String? = record["text"]
        #expect(whole == 3)
        #expect(small == 3)
        #expect(unsigned == 3)
        #expect(real == 3)
        #expect(wrong == nil)
        #expect(text == "x")
    }

    @Test func foundationsClassesAreAcceptedToo() {
        let record = CKRecord(recordType: "Plant")
        record["text"] = NSString(string: "a")
        record["number"] = NSNumber(value: 5)
        record["date"] = NSDate(timeIntervalSince1970: 10)
        record["data"] = NSData(data: Data([9]))
        record["list"] = NSArray(array: ["x", "y"])
        #expect(record["text"] as? String == "a")
        #expect(record["number"] as? Int == 5)
        #expect(record["date"] as? Date == Date(timeIntervalSince1970: 10))
        #expect(record["data"] as? Data == Data([9]))
        #expect(record["list"] as? [String] == ["x", "y"])
    }

    /// The server stores milliseconds, and an app compares the field with the date of its own object.
    @Test func aDateIsReadAsItWasSetUntilItIsSaved() async throws {
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)
        let (database, zoneID) = try await garden()
        let record = plant("sage", in: zoneID)
        record["planted"] = date
        record["watered"] = [date, Date(timeIntervalSinceReferenceDate: 1.000_1)]
        record.encryptedValues["secret"] = date
        #expect(record["planted"] as? Date == date)
        #expect(record["watered"] as? [Date] == [date, Date(timeIntervalSinceReferenceDate: 1.000_1)])
        #expect(record.encryptedValues["secret"] as? Date == date)
        let restored = try #require(try archived(record))
        #expect(restored["planted"] as? Date == date)
        let saved = try await database.save(record)
        let milliseconds = try #require(saved["planted"] as? Date).timeIntervalSinceReferenceDate * 1000
        #expect(abs(milliseconds - 700_000_000_123) < 0.01)
        #expect((record["planted"] as? Date) == (saved["planted"] as? Date))
        record["planted"] = "in spring"
        #expect(record["planted"] as? String == "in spring")
    }

    @Test func keysAndChangedKeysAreListed() {
        let record = CKRecord(recordType: "Plant")
        record["b"] = 1
        record["a"] = "x"
        #expect(Set(record.allKeys()) == ["a", "b"])
        #expect(Set(record.changedKeys()) == ["a", "b"])
        record["a"] = nil
        #expect(record.allKeys() == ["b"])
        #expect(Set(record.changedKeys()) == ["a", "b"])
        record.setObject("y" as any CKRecordValue, forKey: "c")
        #expect(record.object(forKey: "c") as? String == "y")
        record.setValue(7, forKey: "d")
        #expect(record.value(forKey: "d") as? Int == 7)
        record.setValue(nil, forKey: "d")
        #expect(record.value(forKey: "d") == nil)
    }

    @Test func wordsOfTextsAreTokens() {
        let record = CKRecord(recordType: "Plant")
        record["a"] = "green  sage"
        record["b"] = 3
        #expect(Set(record.allTokens()) == ["green", "sage"])
    }

    @Test func encryptedValuesAreSeparate() {
        let record = CKRecord(recordType: "Plant")
        record["plain"] = "a"
        record.encryptedValues["secret"] = "b"
        record.encryptedValues["number"] = 4
        #expect(record.encryptedValues["secret"] as? String == "b")
        let number: Int? = record.encryptedValues["number"]
        #expect(number == 4)
        #expect(record["secret"] == nil)
        #expect(record.allKeys() == ["plain"])
        #expect(Set(record.encryptedValues.allKeys()) == ["secret", "number"])
        record.encryptedValues["secret"] = nil
        #expect(record.encryptedValues.allKeys() == ["number"])
    }

    @Test func aCopyIsIndependent() throws {
        let record = CKRecord(recordType: "Plant")
        record["a"] = 1
        let copy = try #require(record.copy() as? CKRecord)
        copy["a"] = 2
        #expect(record["a"] == 1)
        #expect(copy.recordID == record.recordID)
        #expect(copy !== record)
    }

    @Test func fieldsAreSetThroughTheProtocolToo() throws {
        let record = CKRecord(recordType: "Plant")
        for values in [record as any CKRecordKeyValueSetting, record.encryptedValues as any CKRecordKeyValueSetting] {
            values["a"] = 1
            values.setObject("x", forKey: "b")
            #expect(values["a"] as? Int == 1)
            #expect(values.object(forKey: "b") as? String == "x")
            #expect(values.allKeys().sorted() == ["a", "b"])
            #expect(values.changedKeys().sorted() == ["a", "b"])
            values.setObject(nil, forKey: "a")
            values["b"] = nil
            #expect(values.allKeys().isEmpty)
            #expect(values.changedKeys().sorted() == ["a", "b"])
        }
    }

    @Test func fieldsCanBeIterated() {
        let record = CKRecord(recordType: "Plant")
        record["a"] = 1
        record["b"] = "x"
        var keys: [String] = []
        for (key, _) in record { keys.append(key) }
        #expect(keys.sorted() == ["a", "b"])
    }

    @Test func emptyArraysAreStored() {
        let record = CKRecord(recordType: "Plant")
        record["list"] = [String]()
        #expect(record.allKeys() == ["list"])
        #expect((record["list"] as? [String])?.isEmpty == true)
    }
}

@Suite struct IdentifierTests {
    @Test func identifiersAreEqualByValue() {
        let zone = CKRecordZone.ID(zoneName: "Z", ownerName: "o")
        #expect(zone == CKRecordZone.ID(zoneName: "Z", ownerName: "o"))
        #expect(zone != CKRecordZone.ID(zoneName: "Z", ownerName: "p"))
        #expect(CKRecordZone.ID(zoneName: "Z").ownerName == CKCurrentUserDefaultName)
        let id = CKRecord.ID(recordName: "a", zoneID: zone)
        #expect(id == CKRecord.ID(recordName: "a", zoneID: zone))
        #expect(id.hash == CKRecord.ID(recordName: "a", zoneID: zone).hash)
        #expect(id != CKRecord.ID(recordName: "b", zoneID: zone))
        #expect(id != CKRecord.ID(recordName: "a"))
        #expect([id: 1][CKRecord.ID(recordName: "a", zoneID: zone)] == 1)
        #expect(CKRecord.ID(recordName: "a").zoneID == CKRecordZone.default().zoneID)
        #expect(CKRecordZone.default().zoneID.zoneName == CKRecordZone.ID.defaultZoneName)
        #expect(CKRecordZone(zoneName: "Z").zoneID.zoneName == "Z")
    }

    @Test func referencesAreEqualByValue() {
        let record = CKRecord(recordType: "Plant")
        let reference = CKRecord.Reference(record: record, action: .none)
        #expect(reference == CKRecord.Reference(recordID: record.recordID, action: .none))
        #expect(reference != CKRecord.Reference(recordID: record.recordID, action: .deleteSelf))
        #expect(reference.recordID == record.recordID)
    }

    @Test func identifiersAreRoundTrippedByArchives() throws {
        let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "o"))
        #expect(try archived(id) == id)
        #expect(try archived(id.zoneID) == id.zoneID)
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        #expect(try archived(reference) == reference)
        let place = CLLocation(latitude: 1, longitude: 2)
        #expect(try archived(place)?.coordinate.longitude == 2)
    }

    @Test func distancesAreThoseOfTheEarth() {
        let munich = CLLocation(latitude: 48.137, longitude: 11.575)
        let berlin = CLLocation(latitude: 52.520, longitude: 13.405)
        #expect(abs(munich.distance(from: berlin) - 504_000) < 3000)
        #expect(munich.distance(from: munich) == 0)
    }
}

@Suite struct ArchiveTests {
    @Test func systemFieldsAreEnoughToSaveAChange() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("sage", in: zoneID)
        record["count"] = 1
        record["name"] = "Sage"
        let saved = try await database.save(record)
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        saved.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let decoder = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        decoder.requiresSecureCoding = true
        let restored = try #require(CKRecord(coder: decoder))
        decoder.finishDecoding()
        #expect(restored.recordID == saved.recordID)
        #expect(restored.recordType == "Plant")
        #expect(restored.recordChangeTag == saved.recordChangeTag)
        #expect(restored.creationDate == saved.creationDate)
        #expect(restored.modificationDate == saved.modificationDate)
        #expect(restored.allKeys().isEmpty)
        #expect(restored.changedKeys().isEmpty)
        restored["count"] = 2
        try await database.save(restored)
        let fetched = try await database.record(for: saved.recordID)
        #expect(fetched["count"] == 2)
        #expect(fetched["name"] == "Sage")
    }

    @Test func wholeRecordsAreRoundTrippedByArchives() throws {
        let record = CKRecord(recordType: "Plant")
        record["text"] = "x"
        record["list"] = [1, 2]
        record["gone"] = nil
        record.encryptedValues["secret"] = "y"
        let restored = try #require(try archived(record))
        #expect(restored.recordID == record.recordID)
        #expect(restored["text"] == "x")
        #expect(restored["list"] as? [Int] == [1, 2])
        #expect(restored.encryptedValues["secret"] == "y")
        #expect(Set(restored.changedKeys()) == ["text", "list", "gone", "secret"])
    }

    @Test func changeTokensAreRoundTrippedByArchives() async throws {
        let (database, zoneID) = try await garden()
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let token = try #require(try archived(changes.changeToken))
        #expect(token == changes.changeToken)
        let repeated = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        #expect(repeated.modificationResultsByID.isEmpty)
        #expect(!repeated.moreComing)
    }

    @Test func zonesSharesAndAssetsAreRoundTrippedByArchives() throws {
        let zone = CKRecordZone(zoneName: "Garden")
        #expect(try archived(zone)?.zoneID == zone.zoneID)
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readOnly
        share[CKShare.SystemFieldKey.title] = "Ours"
        let restored = try #require(try archived(share))
        #expect(restored.publicPermission == .readOnly)
        #expect(restored[CKShare.SystemFieldKey.title] as? String == "Ours")
        #expect(restored.participants.count == 1)
        #expect(restored.owner.role == .owner)
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/photo"))
        #expect(try archived(asset)?.fileURL?.path == "/tmp/photo")
        let record = CKRecord(recordType: "Plant")
        record["photo"] = asset
        record["photos"] = [asset, asset]
        let copy = try #require(try archived(record))
        #expect((copy["photo"] as? CKAsset)?.fileURL?.path == "/tmp/photo")
        #expect((copy["photos"] as? [CKAsset])?.count == 2)
    }

    @Test func archivesWithoutContentAreRejected() throws {
        func empty() throws -> NSKeyedUnarchiver {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            archiver.finishEncoding()
            let coder = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
            coder.decodingFailurePolicy = .setErrorAndReturn
            return coder
        }
        #expect(CKRecord(coder: try empty()) == nil)
        #expect(CKServerChangeToken(coder: try empty()) == nil)
        #expect(CKRecordZone(coder: try empty()) == nil)
        #expect(CKQuery(coder: try empty()) == nil)
        #expect(CKQueryOperation.Cursor(coder: try empty()) == nil)
        #expect(CKRecord.Reference(coder: try empty()) == nil)
        #expect(CKDatabaseSubscription(coder: try empty()) == nil)
    }
}
