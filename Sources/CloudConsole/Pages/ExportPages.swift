// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Counts the records and bytes of an export up to a maximum, and whether records are missing.
struct ExportMeter {
    static let recordsMax = 10_000
    /// Bytes after which no further page is read.
    static let bytesMax = 50_000_000

    private var records = 0
    /// Whether the list has records that the export lacks.
    private(set) var isCut = false

    /// - Parameter count: Records of the next page.
    /// - Returns: How many of them belong to the export.
    mutating func take(_ count: Int) -> Int {
        let taken = min(count, Self.recordsMax - records)
        if taken < count { isCut = true }
        records += taken
        return taken
    }

    /// Returns `true` if another page is read.
    ///
    /// - Parameters:
    ///   - bytes: Size of the file, or of its records, so far.
    ///   - hasMore: Whether the list has another page.
    mutating func goesOn(bytes: Int, hasMore: Bool) -> Bool {
        guard hasMore, records < Self.recordsMax, bytes < Self.bytesMax else {
            if hasMore { isCut = true }
            return false
        }
        return true
    }
}

/// The records of a list as a file, as many as ``ExportMeter`` allows. The header ``cutHeader`` marks a file that lacks some.
struct ExportPages {
    static let cutHeader = "X-Tarn-Export"

    let parent: ContainerPages
    let list: RecordPages

    /// `{"records": [...]}`, as the protocol has them; the import page reads it.
    func json() async throws -> ServiceResponse {
        let query = try await query()
        var bytes = Array(#"{"records":["#.utf8)
        var count = 0
        let isCut = try await each(query) { record in
            bytes += Array((count == 0 ? "\n" : ",\n").utf8) + record.encoded()
            count += 1
            return bytes.count
        }
        bytes += Array("\n]}\n".utf8)
        return file(bytes, "json", "application/json", query, isCut: isCut)
    }

    /// The header, and a line a record.
    ///
    /// The header names the fields of all records, so the list is read twice: memory has the file, and no records but those of a page. Both
    /// readings measure records alike, and end at the same one. A value that a record gets between them in a new field is left out.
    func csv() async throws -> ServiceResponse {
        let query = try await query()
        var (columns, size) = (RecordCSV.Columns(), 0)
        _ = try await each(query) { record in
            columns.add(record)
            size += RecordSize.bytes(of: record)
            return size
        }
        let sorted = columns.sorted
        var bytes = Array((RecordCSV.header(sorted) + "\r\n").utf8)
        size = 0
        let isCut = try await each(query) { record in
            bytes += (RecordCSV.line(record, sorted) + "\r\n").utf8
            size += RecordSize.bytes(of: record)
            return size
        }
        return file(bytes, "csv", "text/csv; charset=utf-8", query, isCut: isCut)
    }

    private func query() async throws -> RecordQuery { try await list.query().0 }

    /// - Parameter add: Returns the bytes of the file, or of its records, so far.
    /// - Returns: Whether the list has more records.
    private func each(_ query: RecordQuery, _ add: (Record) -> Int) async throws -> Bool {
        var (meter, bytes, marker): (ExportMeter, Int, String?) = (ExportMeter(), 0, nil)
        var examined = 0
        repeat {
            guard examined < list.parent.pages.console.scanBounds.recordsPerCount else { return true }
            let batch = try await list.batch(query, from: marker, limit: 200)
            for record in batch.records.prefix(meter.take(batch.records.count)) { bytes = add(record) }
            examined += batch.examined
            marker = batch.next
        } while meter.goesOn(bytes: bytes, hasMore: marker != nil)
        return meter.isCut
    }

    private func file(_ bytes: [UInt8], _ kind: String, _ type: String, _ query: RecordQuery, isCut: Bool) -> ServiceResponse {
        // Letters and digits only: the name stands in a header.
        let name = (query.type ?? "records").unicodeScalars.filter {
            $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "_"
        }
        var headers: [(name: String, value: String)] = [
            (HeaderNames.contentType, type),
            ("Content-Disposition", "attachment; filename=\"\(String(String.UnicodeScalarView(name))).\(kind)\""),
        ]
        if isCut { headers.append((Self.cutHeader, "truncated")) }
        return ServiceResponse(headers: headers + Page.policy + parent.visit.headers, body: .bytes(bytes), endpoint: "console")
    }
}

extension FieldText {
    /// - Returns: nil for a text that is not a value of the type.
    static func value(cell text: String, type: String) -> FieldValue? {
        if let column = RecordCSV.Column("", schemaType: type) { return RecordCSV.value(text, column) }
        let plain = RecordCSV.unguarded(text)
        guard type.hasSuffix("_LIST") else { return value(plain, type: type) }
        let element = String(type.dropLast(5))
        guard let elements = RecordCSV.elements(plain, { value(cell: $0, type: element) }) else { return nil }
        return list(elements, of: element)
    }
}
