// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The records of a list as a file, as many as ``recordsMax``.
struct ExportPages {
    static let recordsMax = 10_000
    /// Bytes after which no further page is read.
    static let bytesMax = 50_000_000

    let parent: ContainerPages
    let list: RecordPages

    /// `{"records": [...]}`, as the protocol has them; the import page reads it.
    func json() async throws -> ServiceResponse {
        let query = try await query()
        var bytes = Array(#"{"records":["#.utf8)
        var count = 0
        try await each(query) { record in
            bytes += Array((count == 0 ? "\n" : ",\n").utf8) + record.encoded()
            count += 1
            return bytes.count
        }
        bytes += Array("\n]}\n".utf8)
        return file(bytes, "json", "application/json", query)
    }

    /// One line a record, with the fields of the type in alphabetical order.
    func csv() async throws -> ServiceResponse {
        let query = try await query()
        let names = query.fields.keys.sorted()
        var text = CSVText.line(["recordName"] + names.map(CSVText.guarded)) + "\r\n"
        try await each(query) { record in
            let cells = names.map { record.fields[$0]?.value.map(FieldText.cell) }
            text +=
                CSVText.line([CSVText.guarded(record.recordName)]) + cells.map { "," + ($0.map { CSVText.line([$0]) } ?? "") }.joined()
                + "\r\n"
            return text.utf8.count
        }
        return file(Array(text.utf8), "csv", "text/csv; charset=utf-8", query)
    }

    private func query() async throws -> RecordQuery { try await list.query().0 }

    /// - Parameter add: Returns the bytes of the file so far.
    private func each(_ query: RecordQuery, _ add: (Record) -> Int) async throws {
        var (count, marker): (Int, String?) = (0, nil)
        repeat {
            let batch = try await list.batch(query, from: marker, limit: 200)
            var bytes = 0
            for record in batch.records.prefix(Self.recordsMax - count) { bytes = add(record) }
            count += batch.records.count
            marker = batch.next
            if count >= Self.recordsMax || bytes >= Self.bytesMax { return }
        } while marker != nil
    }

    private func file(_ bytes: [UInt8], _ kind: String, _ type: String, _ query: RecordQuery) -> ServiceResponse {
        // Letters and digits only: the name stands in a header.
        let name = (query.type ?? "records").unicodeScalars.filter {
            $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "_"
        }
        return ServiceResponse(
            headers: [
                (HeaderNames.contentType, type),
                ("Content-Disposition", "attachment; filename=\"\(String(String.UnicodeScalarView(name))).\(kind)\""),
            ] + Page.policy + parent.visit.headers, body: .bytes(bytes), endpoint: "console")
    }
}

extension FieldText {
    /// A value in a cell of a file. ``value(cell:type:)`` reads it, but for assets and the parts that ``detail(_:)`` has.
    static func cell(_ value: FieldValue) -> String {
        switch value {
        case .bytes(let bytes): Base64.encode(bytes)
        case .list(let elements, _): CSVText.guarded(CSVText.line(elements.map { cell($0) }))
        case .int64, .double: text(value)
        default: CSVText.guarded(text(value))
        }
    }

    /// - Returns: nil for a text that is not a value of the type.
    static func value(cell text: String, type: String) -> FieldValue? {
        let plain = CSVText.unguarded(text)
        guard type.hasSuffix("_LIST") else {
            return type == "BYTES" ? Base64.decode(text).map { .bytes($0) } : value(plain, type: type)
        }
        let element = String(type.dropLast(5))
        var elements: [FieldValue] = []
        for cell in CSVText.rows(plain, rowsMax: 1)?.first ?? [] {
            guard let value = value(cell: cell ?? "", type: element) else { return nil }
            elements.append(value)
        }
        return list(elements, of: element)
    }
}
