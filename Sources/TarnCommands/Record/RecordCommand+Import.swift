// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudService
import CloudWire
import Foundation
import SystemSupport

extension RecordCommand {
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Import records from a file.",
            discussion: Help.discussion(
                """
                Reads JSON lines or CSV as 'tarn record export' writes them, or the console's exports. The whole file is checked first: if a line is invalid, the \
                errors name their lines, and nothing is written. A record that exists is replaced; it keeps its files of assets, and with CSV \
                also its parent and its fields without a column. Shares and the records of users are left out.
                """,
                examples: "tarn record import notes.jsonl --container iCloud.org.example.notes",
                "tarn record import notes.csv --type Note --container iCloud.org.example.notes",
                "tarn record import notes.jsonl --check --container iCloud.org.example.notes"))

        @Argument(help: "The file; - reads standard input.", completion: .file())
        var file: String
        @Option(help: ArgumentHelp("jsonl or csv. (default: by the file's name)", valueName: "format"))
        var format: Format?
        @Option(help: ArgumentHelp("Record type of the rows of CSV.", valueName: "type"))
        var type: String?
        @Flag(help: "Check the file, and write nothing.")
        var check = false
        @OptionGroup var target: RecordTarget
        @OptionGroup var output: OutputOptions

        private var chosenFormat: Format { format ?? (file.lowercased().hasSuffix(".csv") ? .csv : .jsonl) }

        func validate() throws {
            guard chosenFormat == .jsonl || type != nil else {
                throw ValidationError("The rows of CSV have no record type: name it with --type.")
            }
        }

        func run() async throws {
            let content = try RecordFile(file, chosenFormat, type: type)
            let records = content.records
            if check { return report(records.count, failed: 0, verb: "valid") }
            let progress = ProgressLine()
            let problems = try await target.withDatabase("import") { database in
                defer { progress.end() }
                var (problems, done) = ([String](), 0)
                for batch in RecordBatches(records, of: \.record) {
                    let imported = batch.map { ImportedRecord($0.record, columns: content.columns) }
                    let results = try await database.modify(
                        try await ImportedRecord.operations(saving: imported) { try await database.lookup($0) })
                    for (item, result) in zip(batch, results) {
                        guard case .failure(_, let error, _) = result else { continue }
                        problems.append("\(file):\(item.line): \(item.record.recordName): \(error.reason)")
                    }
                    done += batch.count
                    progress.show("Importing", done, of: records.count, "records")
                }
                return problems
            }
            for problem in problems { Output.note("Error: \(TerminalText.escaped(problem))") }
            report(records.count - problems.count, failed: problems.count, verb: "imported")
            if !problems.isEmpty { throw ExitCode.failure }
        }

        private func report(_ count: Int, failed: Int, verb: String) {
            let failures = failed == 0 ? "" : ", \(failed) refused"
            output.print("\(CountText.text(count, "record")) \(verb)\(failures)", [verb: "\(count)", "refused": "\(failed)"])
        }
    }
}

/// The records of a file with their line numbers, checked.
struct RecordFile {
    struct Item: Sendable {
        /// From 1.
        var line: Int
        var record: Record
    }

    /// Problems that are listed at most.
    private static let problemsMax = 20

    private(set) var records: [Item] = []
    /// Fields with a column; nil for JSON lines.
    private(set) var columns: Set<String>?
    private var problems: [String] = []
    private var lines: [String: Int] = [:]

    /// - Throws: CommandError with a line per problem.
    init(_ path: String, _ format: RecordCommand.Format, type: String?) throws {
        let data = try path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : NamedFile.content(of: path)
        guard let text = String(bytes: data, encoding: .utf8) else { throw CommandError("\(path) is not UTF-8.") }
        switch format {
        case .jsonl: readLines(text)
        case .csv:
            do { try readRows(text, type: type ?? "") } catch let error as CommandError { problems.append(error.description) }
        }
        guard problems.isEmpty else {
            let listed = problems.prefix(Self.problemsMax).map { "  " + TerminalText.escaped($0) }
            let rest = problems.count > Self.problemsMax ? ["  and \(problems.count - Self.problemsMax) more"] : []
            throw CommandError("\(path) is invalid, and nothing was imported:\n" + (listed + rest).joined(separator: "\n"))
        }
    }

    private mutating func readLines(_ text: String) {
        for line in ImportedRecord.lines(json: text) { add(line.record, line: line.number) }
    }

    private mutating func readRows(_ text: String, type: String) throws {
        let table = RecordCSV.table(text)
        if let line = table.openQuotation { throw CommandError("line \(line): a quotation mark has no end.") }
        guard let header = table.rows.first?.cells else { throw CommandError("line 1: the header is missing: recordName,FIELD:TYPE,…") }
        guard header.first == RecordCSV.nameHeader else { throw CommandError("line 1: the first column is recordName.") }
        let columns = try header.dropFirst().map { cell -> RecordCSV.Column in
            guard let column = RecordCSV.field(cell ?? "")?.column, column.type != .asset, RecordValueText.field(column.name[...]) != nil
            else { throw CommandError("line 1: '\(cell ?? "")' isn't a column: write FIELD:TYPE, such as title:STRING.") }
            return column
        }
        self.columns = Set(columns.map(\.name))
        for row in table.rows.dropFirst() {
            let (line, cells) = (row.line, row.cells)
            guard cells.count == header.count else {
                problems.append("line \(line): \(CountText.text(cells.count, "column")) instead of \(header.count)")
                continue
            }
            var record = Record(recordName: RecordCSV.unguarded(cells[0] ?? ""), recordType: type)
            for (column, cell) in zip(columns, cells.dropFirst()) {
                guard let cell else { continue }
                guard let value = RecordCSV.value(cell, column) else {
                    let problem = "'\(cell.prefix(40))' isn't a valid \(column.schemaType) (column \(column.name))"
                    let advice = column.type.advice
                    problems.append("line \(line): \(problem)\(advice.isEmpty ? "" : ".")\(advice)")
                    continue
                }
                record.fields[column.name] = Field(value)
            }
            do throws(WireError) {
                if let imported = try ImportedRecord(reading: record) { add(.success(imported), line: line) }
            } catch {
                add(.failure(error), line: line)
            }
        }
    }

    private mutating func add(_ imported: Result<ImportedRecord, WireError>, line: Int) {
        do throws(WireError) {
            let record = try imported.get().record
            if let first = lines[record.recordName] {
                return problems.append("line \(line): the record \(record.recordName) is in line \(first) already")
            }
            lines[record.recordName] = line
            records.append(Item(line: line, record: record))
        } catch {
            problems.append("line \(line): \(error.reason)")
        }
    }
}

/// Splits items with records into requests that the documented limits and the server's allow.
struct RecordBatches<Item>: Sequence, IteratorProtocol {
    private let recordsMax = Limits.documentedWebServices.operationsPerRequest
    private let bytesMax = Limits().requestRecordBytes

    private var rest: ArraySlice<Item>
    private let record: (Item) -> Record

    init(_ items: [Item], of record: @escaping (Item) -> Record) {
        rest = items[...]
        self.record = record
    }

    mutating func next() -> [Item]? {
        var (batch, bytes) = ([Item](), 0)
        while let item = rest.first, batch.count < recordsMax {
            bytes += record(item).encoded().count
            if !batch.isEmpty, bytes > bytesMax { break }
            batch.append(item)
            rest = rest.dropFirst()
        }
        return batch.isEmpty ? nil : batch
    }
}
