// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudWire
import Foundation
import SystemSupport

extension RecordCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable { case jsonl, csv }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Export the records of a zone.",
            discussion: Help.discussion(
                """
                JSON lines have one record per line, as the protocol has it. CSV has one record type: its columns are recordName and \
                FIELD:TYPE, and lists are not in it. Files of assets are not exported. 'tarn record import' reads both forms.

                Programs for spreadsheets run what begins with =, +, - or @: values are written as they are.
                """,
                examples: "tarn record export --container iCloud.org.example.notes > notes.jsonl",
                "tarn record export --type Note --format csv --output notes.csv --container iCloud.org.example.notes"))

        @Option(name: .customLong("type"), help: ArgumentHelp("Only this record type; may be repeated. (default: all)", valueName: "type"))
        var types: [String] = []
        @Option(help: "jsonl or csv.")
        var format = Format.jsonl
        @Option(help: ArgumentHelp("New file; standard output if left out.", valueName: "path"))
        var output: String?
        @OptionGroup var target: RecordTarget

        func validate() throws {
            guard format == .jsonl || types.count == 1 else {
                throw ValidationError("CSV has the columns of one record type: name it with --type.")
            }
        }

        func run() async throws {
            let progress = ProgressLine()
            let count = try await target.withDatabase("export", type: types.first) { database in
                let file = try ExportFile(path: output)
                defer { progress.end() }
                let columns = format == .csv ? try await RecordCSV.columns(of: database, type: types[0]) : []
                if format == .csv { try file.line(RecordCSV.header(columns)) }
                var count = 0
                try await database.forEachRecord(ofTypes: types.isEmpty ? nil : types) { record in
                    try file.line(format == .csv ? RecordCSV.line(record, columns) : RecordList.json(record))
                    count += 1
                    progress.show("Exporting", count, of: nil, "records")
                    return true
                }
                try file.close()
                return count
            }
            if count == 0 { try await target.checkServer(type: types.first) }
            Output.note("\(CountText.text(count, "record")) exported\(output.map { " to \($0)" } ?? "").")
        }
    }
}

/// Records of one type as CSV, with the types of fields in the header.
///
/// Source: RFC 4180.
enum RecordCSV {
    struct Column: Hashable {
        var name: String
        var type: FieldType
    }

    static let nameHeader = "recordName"

    /// The fields of all records of the type. Reads every record.
    static func columns(of database: RecordDatabase, type: String) async throws -> [Column] {
        var types: [String: FieldType] = [:]
        try await database.forEachRecord(ofTypes: [type]) { record in
            for (name, field) in record.fields {
                guard let type = field.value?.type, type != .asset else { continue }
                types[name] = type
            }
            return true
        }
        return types.sorted { $0.key < $1.key }.map { Column(name: $0.key, type: $0.value) }
    }

    static func header(_ columns: [Column]) -> String {
        ([nameHeader] + columns.map { "\($0.name):\($0.type.rawValue)" }).map(CSVField.value).joined(separator: ",")
    }

    static func line(_ record: Record, _ columns: [Column]) -> String {
        let cells = columns.map { column -> String in
            guard let value = record.fields[column.name]?.value, value.type == column.type else { return "" }
            let text = RecordValueText.text(value, isComplete: true)
            return CSVField.value(text)
        }
        return ([CSVField.quoted(record.recordName)] + cells).joined(separator: ",")
    }

    /// A cell; nil for an empty one without quotation marks.
    typealias Cell = String?

    /// Splits a text into rows, with the number of the line where each begins.
    ///
    /// - Throws: CommandError with the line of a quotation without an end.
    static func rows(_ text: String) throws -> [(line: Int, cells: [Cell])] {
        var rows: [(line: Int, cells: [Cell])] = []
        var (cells, cell, isQuoted, wasQuoted) = ([Cell](), [UInt8](), false, false)
        var (line, start) = (1, 1)
        func finishCell() {
            cells.append(cell.isEmpty && !wasQuoted ? nil : String(decoding: cell, as: UTF8.self))
            (cell, wasQuoted) = ([], false)
        }
        func finishRow() {
            finishCell()
            if cells != [nil] { rows.append((start, cells)) }
            cells = []
        }
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 10 { line += 1 }
            if isQuoted {
                if byte != UInt8(ascii: "\"") {
                    cell.append(byte)
                } else if index < bytes.count, bytes[index] == byte {
                    cell.append(byte)
                    index += 1
                } else {
                    isQuoted = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\"") where cell.isEmpty: (isQuoted, wasQuoted) = (true, true)
            case UInt8(ascii: ","): finishCell()
            case 13 where index < bytes.count && bytes[index] == 10: break
            case 10:
                finishRow()
                start = line
            default: cell.append(byte)
            }
        }
        guard !isQuoted else { throw CommandError("line \(start): a quotation mark has no end.") }
        if !cell.isEmpty || !cells.isEmpty || wasQuoted { finishRow() }
        return rows
    }
}
