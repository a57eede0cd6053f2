// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

@Suite struct NumberTests {
    /// Fields are integers or not by the number's class, as schemas want them.
    @Test func numbersOfFoundationKeepTheirKind() async throws {
        let transport = RecordingTransport(.ok(ModifyRecordsResponse(results: [.record(Record(recordName: "a", recordType: "T"))])))
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "a"))
        let numbers: [(String, any CKRecordValue, FieldValue)] = [
            ("five", NSNumber(value: 5), .int64(5)), ("one", NSNumber(value: 1.0), .double(1)),
            ("half", NSNumber(value: 0.5), .double(0.5)), ("yes", NSNumber(value: true), .int64(1)),
            ("large", NSNumber(value: Int64.max), .int64(.max)), ("single", NSNumber(value: Float(2)), .double(2)),
            ("int", 7, .int64(7)), ("double", 7.0, .double(7)), ("flag", false, .int64(0)), ("byte", UInt8(9), .int64(9)),
            ("list", [NSNumber(value: 1), NSNumber(value: 2)], .list([.int64(1), .int64(2)], of: .int64)),
            ("array", NSArray(array: [NSNumber(value: 1.0), NSNumber(value: 2.5)]), .list([.double(1), .double(2.5)], of: .double)),
        ]
        for (key, value, _) in numbers { record[key] = value }
        try await container(transport).privateCloudDatabase.save(record)
        let sent: ModifyRecordsRequest = try transport.body(0)
        for (key, _, expected) in numbers { #expect(sent.operations[0].record.fields[key]?.value == expected, "\(key)") }
    }
}

@Suite struct RecordTests {
    /// A server decides which fields it marks as encrypted, and must not end the process of an app that sets one of them.
    @Test(arguments: [true, false])
    func aFieldThatTheServerMarksOtherwiseIsReplaced(_ isEncrypted: Bool) {
        let wire = Record(recordName: "a", recordType: "T", fields: ["title": Field(.string("theirs"), isEncrypted: isEncrypted)])
        let record = CKRecord(wire, in: .default, scope: .private)
        if isEncrypted {
            record["title"] = "mine"
            #expect(record["title"] as? String == "mine")
            #expect(record.encryptedValues.allKeys().isEmpty)
        } else {
            record.encryptedValues["title"] = "mine"
            #expect(record.encryptedValues["title"] as? String == "mine")
            #expect(record.allKeys().isEmpty)
        }
        #expect(record.changedKeys() == ["title"])
    }

    @Test func fieldsKeepTheirValues() throws {
        let record = CKRecord(recordType: "Plant")
        record["name"] = "Sage"
        record["count"] = 3
        record["height"] = 0.25
        record["isWild"] = true
        record["planted"] = Date(timeIntervalSince1970: 1_893_456_000.123)
        record["seed"] = Data([0xFF, 0])
        record["tags"] = ["herb", "evergreen"]
        record["bed"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "bed-7"), action: .deleteSelf)
        #expect(record["name"] as? String == "Sage")
        #expect(record["count"] as? Int == 3)
        #expect(record["count"] as Int64? == 3)
        #expect(record["height"] as? Double == 0.25)
        #expect(record["isWild"] as Bool? == true)
        #expect(record["planted"] as? Date == Date(timeIntervalSince1970: 1_893_456_000.123))
        #expect(record["seed"] as? Data == Data([0xFF, 0]))
        #expect(record["tags"] as? [String] == ["herb", "evergreen"])
        #expect((record["bed"] as? CKRecord.Reference)?.recordID.recordName == "bed-7")
        #expect(record["name"] as Int? == nil)
        #expect(record["nothing"] == nil)
    }

    @Test func changedKeysAreThoseSetOrCleared() {
        let wire = Record(recordName: "p", recordType: "T", recordChangeTag: "a", fields: ["x": Field(.int64(1)), "y": Field(.int64(2))])
        let record = CKRecord(wire, in: .default, scope: .private)
        #expect(record.changedKeys().isEmpty)
        record["x"] = nil
        record["z"] = "new"
        #expect(record.changedKeys() == ["x", "z"])
        #expect(record.allKeys() == ["y", "z"])
        #expect(record.recordChangeTag == "a")
    }

    @Test func systemFieldsAreDecoded() {
        var wire = Record(recordName: "p", recordType: "T", zoneID: ZoneID(zoneName: "G", ownerRecordName: "_7a1c"))
        wire.created = RecordStamp(timestamp: 1_500, userRecordName: "_7a1c")
        wire.modified = RecordStamp(timestamp: 2_500, userRecordName: "_other")
        let record = CKRecord(wire, in: .default, scope: .private)
        #expect(record.recordID == CKRecord.ID(recordName: "p", zoneID: CKRecordZone.ID(zoneName: "G")))
        #expect(record.creationDate == Date(timeIntervalSince1970: 1.5))
        #expect(record.lastModifiedUserRecordID?.recordName == "_other")
        let shared = CKRecord(wire, in: .default, scope: .shared)
        #expect(shared.recordID.zoneID == CKRecordZone.ID(zoneName: "G", ownerName: "_7a1c"))
    }

    @Test func identifiersAreEqualByValueAndRecordsOnlyToThemselves() {
        let zone = CKRecordZone.ID(zoneName: "G")
        #expect(CKRecord.ID(recordName: "a", zoneID: zone) == CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "G")))
        #expect(CKRecord.ID(recordName: "a", zoneID: zone) != CKRecord.ID(recordName: "a"))
        #expect(Set([CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "a")]).count == 1)
        #expect(CKRecordZone.ID.default.zoneName == "_defaultZone")
        #expect(CKRecordZone.ID.default.ownerName == "__defaultOwner__")
        let id = CKRecord.ID(recordName: "a")
        #expect(CKRecord(recordType: "T", recordID: id) != CKRecord(recordType: "T", recordID: id))
    }

    @Test func identifiersAndTokensSurviveAnArchive() throws {
        let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "G", ownerName: "_o"))
        let data = try NSKeyedArchiver.archivedData(withRootObject: id, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: data) == id)
        let token = CKServerChangeToken("AQ.t")
        let stored = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: stored) == token)
    }

    @Test func anUnsupportedValueTraps() async {
        await #expect(processExitsWith: .failure) {
            CKRecord(recordType: "T")["big"] = UInt64.max
        }
    }
}
