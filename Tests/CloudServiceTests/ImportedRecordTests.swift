// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Testing

@Suite struct ImportedRecordTests {
    private static let file = FieldValue.asset(AssetValue(fileChecksum: "aa", size: 3))

    private static func record(_ fields: [String: FieldValue]) -> Record {
        Record(recordName: "n", recordType: "Note", fields: fields.mapValues { Field($0) })
    }

    private static func place(_ latitude: Double, altitude: Double?) -> FieldValue {
        var location = RecordLocation(latitude: latitude, longitude: 2)
        location.altitude = altitude
        return .location(location)
    }

    @Test func aNewRecordIsSavedAsTheFileHasIt() {
        let record = Self.record(["title": .string("Milk")])
        #expect(ImportedRecord(record).operation(over: nil) == RecordOperation(.forceReplace, record))
    }

    @Test func aRecordOfJSONRemovesAllFieldsButAssets() {
        var stored = Self.record(["title": .string("a"), "old": .int64(1), "file": Self.file, "files": .list([Self.file], of: .asset)])
        stored.sharing.parent = "p"
        let operation = ImportedRecord(Self.record(["title": .string("b")])).operation(over: stored)
        #expect(operation.kind == .forceUpdate)
        #expect(operation.record.fields == ["title": Field(.string("b")), "old": Field(nil)])
        #expect(operation.record.sharing.parent == "")
    }

    @Test func aRowOfCSVChangesFieldsWithAColumn() {
        let zone = ZoneID(zoneName: "Lists")
        let (x, y) = (RecordReference(recordName: "x"), RecordReference(recordName: "y"))
        let reference = FieldValue.reference(RecordReference(recordName: "x", zoneID: zone, action: .validate))
        var stored = Self.record([
            "title": .string("a"), "cleared": .int64(1), "tags": .list([.string("t")], of: .string), "list": reference,
            "place": Self.place(1, altitude: 3), "lists": .list([reference], of: .reference), "file": Self.file,
        ])
        stored.sharing.parent = "p"
        let row = Self.record([
            "title": .string("b"), "list": .reference(y), "place": Self.place(4, altitude: nil),
            "lists": .list([.reference(x), .reference(y)], of: .reference),
        ])
        let columns: Set<String> = ["recordName", "title", "cleared", "list", "place", "lists", "file"]
        let operation = ImportedRecord(row, columns: columns).operation(over: stored)
        let expected: [String: Field] = [
            "title": Field(.string("b")), "cleared": Field(nil),
            "list": Field(.reference(RecordReference(recordName: "y", zoneID: zone, action: .validate))),
            "place": Field(Self.place(4, altitude: 3)), "lists": Field(.list([reference, .reference(y)], of: .reference)),
        ]
        #expect(operation.record.fields == expected)
        #expect(operation.record.sharing.parent == nil)
    }

    /// A response that is full has an error for each of the other names.
    @Test func recordsOfAFullResponseAreLookedUpAgain() async throws {
        var requests: [[String]] = []
        let records = ["a", "b", "new"].map { ImportedRecord(Record(recordName: $0, recordType: "Note")) }
        let operations = try await ImportedRecord.operations(saving: records) { names in
            requests.append(names)
            return names.enumerated().map { index, name -> RecordResult in
                if name == "new" { return .failure(recordName: name, WireError(.notFound, "record not found"), serverRecord: nil) }
                guard index == 0 else {
                    return .failure(recordName: name, WireError(.badRequest, "too large", nativeCode: .limitExceeded), serverRecord: nil)
                }
                return .record(Record(recordName: name, recordType: "Note"))
            }
        }
        #expect(requests == [["a", "b", "new"], ["b"]])
        #expect(operations.map(\.kind) == [.forceUpdate, .forceUpdate, .forceReplace])
    }

    private static let note = #"{"recordName":"n","recordType":"Note","fields":{"title":{"type":"STRING","value":"Milk"}}}"#

    /// Lines may end with CR LF, and the last one need not end. Editors of some systems write a byte order mark.
    @Test(arguments: [
        ("\(Self.note)\n", 1), ("\r\n\(Self.note)\r\n", 2), ("{\"records\":[\n\(Self.note)\n]}\n", 2), ("\u{FEFF}\(Self.note)\n", 1),
        ("\u{FEFF}{\"records\":[\n\(Self.note)\n]}\n", 2),
    ])
    func linesAndExportsOfJSONHaveTheSameRecords(_ text: String, _ number: Int) throws {
        #expect(ImportedRecord.isJSON(text))
        let lines = ImportedRecord.lines(json: text)
        #expect(lines.map(\.number) == [number])
        let record = try #require(lines.first).record.get().record
        #expect(record == Self.record(["title": .string("Milk")]))
    }

    @Test func anExportWithoutRecordsHasNoLines() { #expect(ImportedRecord.lines(json: "{\"records\":[\n]}\n").isEmpty) }

    @Test(arguments: ["cloudkit.share", "Users"]) func recordsOfOneServerAreLeftOut(_ type: String) {
        #expect(ImportedRecord.lines(json: Self.note.replacing("Note", with: type)).isEmpty)
    }

    @Test(arguments: [
        (Self.note.replacing("\"n\"", with: "\"_n\""), "_n: the name of a new record does not begin with an underscore"),
        (Self.note.replacing("Note", with: ""), "the record has no recordType"), ("{}", "the record has no recordName"),
        (#"{"records":[{"recordName":"n","serverErrorCode":"NOT_FOUND","reason":"no"}]}"#, "the file has an error in place of a record"),
    ])
    func problemsOfRecordsAreNamed(_ text: String, _ problem: String) throws {
        let line = try #require(ImportedRecord.lines(json: text).first)
        #expect(throws: WireError(.badRequest, problem)) { try line.record.get() }
    }

    @Test func stampsVersionsAndAssetsOfAFileAreLeftOut() throws {
        var stored = Self.record(["title": .string("Milk"), "file": Self.file])
        (stored.recordChangeTag, stored.sharing.parent) = ("1", "p")
        var expected = Self.record(["title": .string("Milk")])
        expected.sharing.parent = "p"
        let imported = try ImportedRecord(reading: stored)
        #expect(imported?.record == expected)
    }
}
