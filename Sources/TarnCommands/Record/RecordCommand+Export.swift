// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService
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
                FIELD:TYPE, and a list is a line in a cell. Files of assets are not exported. 'tarn record import' and the \
                console read both forms.

                Programs for spreadsheets run what begins with =, +, - or @: in CSV such a text begins with an apostrophe, \
                which the import removes.
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
            let count = try await target.withDatabase("export", types: types) { database in
                let file = try ExportFile(path: output)
                defer { progress.end() }
                let columns = format == .csv ? try await Self.columns(of: database, type: types[0]) : []
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
            if count == 0 { try await target.checkServer(types: types) }
            Output.note("\(CountText.text(count, "record")) exported\(output.map { " to \($0)" } ?? "").")
        }

        /// Reads every record of the type.
        private static func columns(of database: RecordDatabase, type: String) async throws -> [RecordCSV.Column] {
            var columns = RecordCSV.Columns()
            try await database.forEachRecord(ofTypes: [type]) { record in
                columns.add(record)
                return true
            }
            return columns.sorted
        }
    }
}
