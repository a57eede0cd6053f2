// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService
import CloudWire
import Foundation

/// `tarn record`: records of a database, in a data folder or on a server.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Query, change, export and import records.",
        discussion: """
            Commands work on a data folder or database, also while servers run, or with --server and an operator's key on a server. \
            An operator reaches public databases and, on a server, the operator's own private ones. Each command is in the audit log.
            """,
        subcommands: [Query.self, Get.self, Put.self, Delete.self, Export.self, Import.self])
}

extension RecordCommand {
    struct Query: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List records of a type.",
            discussion: Help.discussion(
                """
                Without --where and --sort no index is needed, and records come in the order of their last changes.

                A condition has the form FIELD OPERATOR VALUE. Operators: ==, !=, <, <=, >, >=, beginswith, in, contains (a list has the \
                element), matches (a text has all words), near (LATITUDE,LONGITUDE,METRES). Values are numbers, ISO 8601 times, @NAME for \
                a reference, or texts; FIELD:TYPE says it where that is not clear. System fields: recordName, createdTimestamp, \
                modifiedTimestamp, createdUserRecordName, modifiedUserRecordName.
                """,
                examples: "tarn record query Note --container iCloud.org.example.notes",
                "tarn record query Note --container iCloud.org.example.notes --where 'stars >= 3' --where \"tag in (red, blue)\" --sort -modifiedTimestamp",
                "tarn record query Note --container iCloud.org.example.notes --database private --user mia --zone Notes --json"))

        @Argument(help: "Record type.")
        var type: String
        @Option(
            name: .customLong("where"),
            help: ArgumentHelp("A condition, such as \"title == Milk\"; may be repeated, and all have to hold.", valueName: "condition"))
        var conditions: [String] = []
        @Option(
            parsing: .unconditionalSingleValue,
            help: ArgumentHelp("A field; a minus before it for descending order; may be repeated.", valueName: "field"))
        var sort: [RecordSort] = []
        @Option(help: ArgumentHelp("Number of records.", valueName: "count"))
        var limit = 50
        @Option(help: ArgumentHelp("Fields to show, with commas between them. (default: all)", valueName: "names"))
        var fields: String?
        @OptionGroup var target: RecordTarget
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is a number from 1 to 1000000.") }
            for text in conditions where RecordFilter(argument: text) == nil {
                throw ValidationError("'\(text)' isn't a condition. \(RecordFilter.form)")
            }
        }

        func run() async throws {
            let filters = conditions.compactMap { RecordFilter(argument: $0)?.filter }
            let query = CloudWire.Query(recordType: type, filters: filters, sorts: sort.map(\.sort))
            let names = fields.map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
            let named = (names ?? []) + Self.fields(of: query)
            var records: [Record] = []
            var hasMore = false
            try await target.withDatabase("query", types: [type], fields: named) { database in
                if filters.isEmpty, sort.isEmpty {
                    return try await database.forEachRecord(ofTypes: [type]) { record in
                        guard records.count < limit else {
                            hasMore = true
                            return false
                        }
                        records.append(record)
                        return true
                    }
                }
                var marker: String?
                var positions = PagePositions()
                repeat {
                    let page = try await database.query(query, limit: limit - records.count, marker: marker, fields: names)
                    for case .record(let record) in page.results where records.count < limit { records.append(record) }
                    if let next = page.continuationMarker, !positions.advance(from: marker, to: next) { throw CommandError.repeatedPage }
                    marker = page.continuationMarker
                } while marker != nil && records.count < limit
                hasMore = marker != nil
            }
            if records.isEmpty { try await target.checkServer(types: [type]) }
            RecordList.print(records, fields: names, output, ifEmpty: "No records of type \(type) in \(target.place).")
            if hasMore { Output.note("There are more: raise --limit, or use 'tarn record export'.") }
        }

        /// Fields that the conditions and the order of a query name, without system fields.
        private static func fields(of query: CloudWire.Query) -> [String] {
            (query.filters.map(\.key) + query.sorts.map(\.key)).compactMap { key in
                if case .field(let name) = key, !name.hasPrefix("___") { name } else { nil }
            }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show records by name.",
            discussion: Help.discussion(
                "With --json each record is printed as the protocol has it.",
                examples: "tarn record get note-1 --container iCloud.org.example.notes"))

        @Argument(help: "Record names.")
        var names: [String]
        @OptionGroup var target: RecordTarget
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let results = try await target.withDatabase("get") { try await $0.lookup(names) }
            if !results.contains(where: { if case .record = $0 { true } else { false } }) { try await target.checkServer() }
            var missing = 0
            for result in results {
                switch result {
                case .record(let record): output.json ? Output.line(RecordList.json(record)) : Output.line(RecordList.details(record))
                case .failure(let name, let error, _):
                    missing += 1
                    let reason =
                        error.code == .notFound ? "The record \(name) does not exist in \(target.place)." : "\(name): \(error.reason)."
                    Output.note("Error: \(TerminalText.escaped(reason))")
                }
            }
            if missing > 0 { throw ExitCode.failure }
        }
    }

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a record, or change fields of one.",
            discussion: Help.discussion(
                """
                Fields that are not named stay as they are; FIELD= without a value removes one. A record that another client changes at the \
                same time is not overwritten: the command fails, and can be repeated. A new record needs --type.
                """,
                examples: "tarn record put note-1 title='Buy milk' stars=3 --type Note --container iCloud.org.example.notes",
                "tarn record put note-1 list=@shopping due:timestamp=2030-01-02T03:04:05Z --container iCloud.org.example.notes"))

        @Argument(help: "Record name.")
        var name: String
        @Argument(help: ArgumentHelp("Fields, as NAME=VALUE or NAME:TYPE=VALUE.", valueName: "field"))
        var assignments: [String]
        @Option(help: ArgumentHelp("Record type of a new record.", valueName: "type"))
        var type: String?
        @OptionGroup var target: RecordTarget
        @OptionGroup var output: OutputOptions

        func validate() throws {
            for text in assignments where Self.assignment(text) == nil {
                let parts = text.split(separator: "=", maxSplits: 1)
                if parts.count == 2, let (name, type) = RecordValueText.field(parts[0]), let type {
                    throw ValidationError(
                        "'\(parts[1])' isn't a valid \(type.rawValue.lowercased()) for '\(name)'.\(type.advice)")
                }
                throw ValidationError(
                    "'\(text)' isn't a field: write NAME=VALUE or NAME:TYPE=VALUE, such as title='Buy milk' or stars:double=3. "
                        + "Types are \(RecordValueText.typesText).")
            }
            var names: Set<String> = []
            for (name, _) in assignments.compactMap(Self.assignment) where !names.insert(name).inserted {
                throw ValidationError("The field '\(name)' has two values: name each field once.")
            }
        }

        static func assignment(_ text: String) -> (name: String, field: Field)? {
            guard let sign = text.firstIndex(of: "="), let (name, type) = RecordValueText.field(text[..<sign]) else { return nil }
            let value = String(text[text.index(after: sign)...])
            if value.isEmpty { return (name, Field(nil)) }
            return RecordValueText.value(value, type).map { (name, Field($0)) }
        }

        func run() async throws {
            let fields = Dictionary(uniqueKeysWithValues: assignments.compactMap(Self.assignment).map { ($0.name, $0.field) })
            let saved = try await target.withDatabase("put", types: type.map { [$0] } ?? []) { database in
                var record = Record(recordName: name, recordType: type ?? "", fields: fields)
                var kind = RecordOperation.Kind.create
                switch try await database.lookup([name]).first {
                case .record(let present)?:
                    guard type == nil || type == present.recordType else {
                        throw CommandError(
                            "The record \(name) has the type \(present.recordType), not \(type ?? ""): leave --type out, or choose another name."
                        )
                    }
                    (kind, record.recordType, record.recordChangeTag) = (.update, present.recordType, present.recordChangeTag)
                case .failure(_, let error, _)? where error.code != .notFound: throw error
                case .failure?, nil:
                    guard type != nil else {
                        throw CommandError("The record \(name) does not exist in \(target.place): name the type of a new one with --type.")
                    }
                    record.fields = fields.filter { $0.value.value != nil }
                }
                switch try await database.modify([RecordOperation(kind, record)]).first {
                case .record(let saved)?: return (saved, kind == .create)
                case .failure(_, let error, _)? where error.code == .conflict || error.code == .exists:
                    throw CommandError("Another client changed the record \(name) at the same time: repeat the command.")
                case .failure(_, let error, _)?: throw error
                case nil: throw CommandError("The server returned no result for \(name).")
                }
            }
            output.print(
                TerminalText.escaped("\(name): \(saved.1 ? "created" : "changed")"),
                [
                    "recordName": JSONText.string(name), "created": "\(saved.1)",
                    "recordChangeTag": JSONText.string(saved.0.recordChangeTag ?? ""),
                ])
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete records by name.",
            discussion: Help.discussion(
                "Records that depend on them by references with the action DELETE_SELF are deleted with them.",
                examples: "tarn record delete note-1 note-2 --yes --container iCloud.org.example.notes"))

        @Argument(help: "Record names.")
        var names: [String]
        @Flag(help: "Confirm the deletion.")
        var yes = false
        @OptionGroup var target: RecordTarget
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard yes else { throw ValidationError("This deletes records from the server and from all devices: confirm it with --yes.") }
        }

        func run() async throws {
            let operations = names.map { RecordOperation(.forceDelete, Record(recordName: $0)) }
            let results = try await target.withDatabase("delete") { try await $0.modify(operations) }
            var failures = 0
            for result in results {
                guard case .failure(let name, let error, _) = result else {
                    output.print(
                        TerminalText.escaped("\(result.recordName): deleted"),
                        ["recordName": JSONText.string(result.recordName), "deleted": "true"])
                    continue
                }
                failures += 1
                let reason = error.code == .notFound ? "The record \(name) does not exist in \(target.place)." : "\(name): \(error.reason)."
                Output.note("Error: \(TerminalText.escaped(reason))")
            }
            if failures > 0 { throw ExitCode.failure }
        }
    }
}

/// Records as tables and as JSON.
enum RecordList {
    static func json(_ record: Record) -> String { String(decoding: record.encoded(), as: UTF8.self) }

    /// - Parameter fields: Columns besides name and time; nil for all fields that occur.
    static func print(_ records: [Record], fields: [String]?, _ output: OutputOptions, ifEmpty: String) {
        if output.json {
            for var record in records {
                if let fields { record.fields = record.fields.filter { fields.contains($0.key) } }
                Output.line(json(record))
            }
            return
        }
        if records.isEmpty { return Output.note(ifEmpty) }
        let names = fields ?? Set(records.flatMap(\.fields.keys)).sorted()
        var table = Table(
            columns: [Table.Column("NAME", "name"), Table.Column("MODIFIED", "modified")] + names.map { Table.Column($0, $0) })
        for record in records {
            table.add(
                [.text(record.recordName), Table.Cell(time: record.modified?.timestamp)] + names.map { cell(record.fields[$0]?.value) })
        }
        Output.line(table.text(.output))
    }

    /// Characters of the widest field.
    private static let widthMax = 40

    private static func cell(_ value: FieldValue?) -> Table.Cell {
        guard let value else { return .none }
        if case .int64(let number) = value { return .number(number) }
        let text = RecordValueText.text(value)
        return .text(text.count > widthMax ? text.prefix(widthMax - 1) + "…" : text)
    }

    /// One line per property.
    static func details(_ record: Record) -> String {
        var lines: [(String, String)] = [("recordName", record.recordName), ("recordType", record.recordType)]
        for (name, stamp) in [("created", record.created), ("modified", record.modified)] {
            if let stamp { lines.append((name, "\(TimeText.utc(stamp.timestamp)) by \(stamp.userRecordName)")) }
        }
        if let tag = record.recordChangeTag { lines.append(("recordChangeTag", tag)) }
        if let parent = record.sharing.parent { lines.append(("parent", parent)) }
        lines += record.fields.sorted { $0.key < $1.key }.map { ($0.key, RecordValueText.text($0.value.value)) }
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { name, value in
            TerminalText.escaped(name) + String(repeating: " ", count: width - name.count) + "  " + TerminalText.escaped(value)
        }.joined(separator: "\n")
    }
}
