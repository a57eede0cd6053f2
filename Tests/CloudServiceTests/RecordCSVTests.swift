// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import TestBasics
import Testing

/// The CSV of `tarn record` and of the console.
@Suite struct RecordCSVTests {
    private static func record(_ name: String, _ fields: [String: FieldValue]) -> Record {
        Record(recordName: name, recordType: "Note", fields: fields.mapValues { Field($0) })
    }

    private static func columns(_ records: [Record]) -> [RecordCSV.Column] {
        var columns = RecordCSV.Columns()
        for record in records { columns.add(record) }
        return columns.sorted
    }

    @Test func quotationsAreRead() {
        let table = RecordCSV.table("a,\"b\"\"c\",\r\n\n\"two\nlines\",\"\",x")
        #expect(table.rows.map(\.line) == [1, 3])
        #expect(table.rows.map(\.cells) == [["a", "b\"c", nil], ["two\nlines", "", "x"]])
        #expect(table.openQuotation == nil)
        #expect(RecordCSV.table("a\n\"b").openQuotation == 2)
    }

    /// Spaces belong to a cell of a file (RFC 4180), and not to a list that someone types.
    @Test func spacesAreKeptUnlessTheyAreSkipped() {
        #expect(RecordCSV.table("a, b , \"c\"").rows.map(\.cells) == [["a", " b ", " \"c\""]])
        #expect(RecordCSV.table("a, \"b, c\" ,d", skipsSpaces: true).rows.map(\.cells) == [["a", "b, c", "d"]])
    }

    @Test(arguments: [("\u{FEFF}a\nb", 2), ("a\rb", 2), ("a\r\nb\r\n", 2)]) func lineEndsOfOtherProgramsAreRead(_ text: String, _ rows: Int)
    {
        let table = RecordCSV.table(text)
        #expect(table.rows.map(\.cells) == [["a"], ["b"]])
        #expect(table.rows.last?.line == rows)
    }

    @Test func aTextWithMoreRowsIsCut() {
        #expect(RecordCSV.table("a\nb\nc", rowsMax: 2).isCut)
        #expect(!RecordCSV.table("a\nb\n\n", rowsMax: 2).isCut)
    }

    @Test func theHeaderHasTypes() {
        let file = FieldValue.asset(AssetValue(fileChecksum: "aa", size: 3))
        let records = [
            Self.record("a", ["title": .string(""), "tags": .list([.string("x, y"), .string("")], of: .string), "file": file]),
            Self.record("b", ["done": .timestamp(1_893_553_445_678), "place": .location(RecordLocation(latitude: 1.5, longitude: -2))]),
        ]
        let columns = Self.columns(records)
        #expect(RecordCSV.header(columns) == "recordName,done:TIMESTAMP,place:LOCATION,tags:STRING_LIST,title:STRING")
        #expect(RecordCSV.line(records[0], columns) == "a,,,\"\"\"x, y\"\",\"\"\"\"\",\"\"")
        #expect(RecordCSV.line(records[1], columns) == #"b,2030-01-02T03:04:05.678Z,"1.5,-2.0",,"#)
    }

    /// A field of the type NUMBER has whole numbers and others, in any order.
    @Test func wholeNumbersAreInAColumnOfOthers() {
        let whole = Self.record("a", ["n": .int64(2), "ns": .list([.int64(1), .int64(2)], of: .int64)])
        let other = Self.record("b", ["n": .double(2.5), "ns": .list([.double(0.5)], of: .double)])
        for records in [[whole, other], [other, whole]] {
            let columns = Self.columns(records)
            #expect(RecordCSV.header(columns) == "recordName,n:DOUBLE,ns:DOUBLE_LIST")
            #expect(RecordCSV.line(whole, columns) == "a,2,\"1,2\"")
            #expect(RecordCSV.line(other, columns) == "b,2.5,0.5")
        }
    }

    /// Apps store empty lists without a type. An import would remove a field without a value.
    @Test func anEmptyListHasTheTypeOfItsColumn() {
        let full = Self.record("a", ["n": .int64(1), "tags": .list([.string("x")], of: .string)])
        let empty = Self.record("b", ["n": .list([], of: nil), "tags": .list([], of: nil)])
        let columns = Self.columns([full, empty])
        #expect(RecordCSV.header(columns) == "recordName,n:INT64,tags:STRING_LIST")
        #expect(RecordCSV.line(empty, columns) == "b,,\"\"")
        #expect(RecordCSV.value("", RecordCSV.Column("tags", .string, isList: true)) == .list([], of: .string))
    }

    @Test(arguments: ["=1+1", "+1", "-x", "@a", "\t", "\rx"]) func programsForSpreadsheetsRunNoText(_ text: String) {
        let record = Self.record("n", ["text": .string(text)])
        let line = RecordCSV.line(record, Self.columns([record]))
        #expect(RecordCSV.table(line).rows.first?.cells[1]?.hasPrefix("'") == true)
    }

    @Test(
        arguments: [
            ("2030-01-02T03:04:05Z", 1_893_553_445_000), ("2030-01-02T05:04:05+02:00", 1_893_553_445_000),
            ("2030-01-02 01:34:05.5-0130", 1_893_553_445_500), ("2030-01-02", 1_893_542_400_000), ("-1", -1),
        ] as [(String, Int64)])
    func timesAreReadWithTheirZones(_ text: String, _ milliseconds: Int64) {
        #expect(RecordCSV.value(text, RecordCSV.Column("at", .timestamp)) == .timestamp(milliseconds))
    }

    /// Every value is read as it was written, to the byte.
    @Test(arguments: SeedPart.of(0..<400)) func recordsRoundTrip(_ seed: Int) throws {
        var random = SeededNumbers(seed: UInt64(seed))
        let records = (0..<3).map { Self.random("r\($0)", &random) }
        let columns = Self.columns(records)
        let end = Bool.random(using: &random) ? "\r\n" : "\n"
        let text = ([RecordCSV.header(columns)] + records.map { RecordCSV.line($0, columns) }).joined(separator: end) + end
        let rows = RecordCSV.table(text).rows
        #expect(rows.count == 4)
        let header = try #require(rows.first).cells
        #expect(header.dropFirst().compactMap { $0.flatMap { RecordCSV.field($0)?.column } } == columns)
        for (record, row) in zip(records, rows.dropFirst()) {
            #expect(RecordCSV.unguarded(row.cells[0] ?? "") == record.recordName)
            for (column, cell) in zip(columns, row.cells.dropFirst()) {
                #expect(cell.flatMap { RecordCSV.value($0, column) } == record.fields[column.name]?.value, "\(text)")
            }
        }
    }

    private static func random(_ name: String, _ random: inout SeededNumbers) -> Record {
        let parts = [
            "a", "\"", ",", "\r\n", "\n", "\r", "'", "=", "+", "-", "@", "\t", " ", "é", "e\u{301}", "\u{301}", "\u{FEFF}", ";", "😀",
        ]
        func text(_ random: inout SeededNumbers) -> String {
            let count = Int.random(in: 0...6, using: &random)
            return (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined()
        }
        var fields: [String: FieldValue] = [:]
        if Bool.random(using: &random) { fields["text"] = .string(text(&random)) }
        if Bool.random(using: &random) {
            let count = Int.random(in: 0...3, using: &random)
            fields["texts"] = .list((0..<count).map { _ in .string(text(&random)) }, of: .string)
        }
        if Bool.random(using: &random) { fields["number"] = .int64(Int64.random(in: .min ... .max, using: &random)) }
        if Bool.random(using: &random) { fields["fraction"] = .double(Double.random(in: -1e9...1e9, using: &random)) }
        if Bool.random(using: &random) {
            fields["time"] = .timestamp(Int64.random(in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &random))
        }
        if Bool.random(using: &random) { fields["bytes"] = .bytes([UInt8.random(in: 0...255, using: &random), 0]) }
        if Bool.random(using: &random) { fields["reference"] = .reference(RecordReference(recordName: "x" + text(&random))) }
        if Bool.random(using: &random) {
            let (latitude, longitude) = (Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random))
            fields["places"] = .list([.location(RecordLocation(latitude: latitude, longitude: longitude))], of: .location)
        }
        return record(name + text(&random), fields)
    }
}
