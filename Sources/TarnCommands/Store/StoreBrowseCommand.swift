// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import SQLiteStore
import SystemSupport

extension StoreCommand {
    /// `tarn store browse FILE [ENTITY [KEY]]`: rows of a store without its model.
    struct Browse: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show objects of a store without its model.",
            discussion: Help.discussion(
                """
                Without ENTITY, entities and how many rows each has. With ENTITY, a table of its objects and those of its \
                subentities; with KEY, one object and its relationships. The model is derived as 'tarn store model' does. The store \
                is not changed, and an app may have it open.
                """,
                examples: #"tarn store browse Model.sqlite Car --where "maker == 'FIAT' AND owner.name != nil" --sort -numberPlate"#,
                "tarn store browse Model.sqlite Car 7"))

        @Argument(help: "The store's file, such as Model.sqlite.")
        var file: String

        @Argument(help: "An entity's name.")
        var entity: String?

        @Argument(help: "An object's primary key, with or without a p before it.")
        var key: String?

        @Option(name: .customLong("where"), help: ArgumentHelp("A predicate in Apple's format.", valueName: "format"))
        var condition: String?

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("Key paths with commas between them; a minus before one for descending order.", valueName: "keys"))
        var sort: String?

        @Option(help: "How many objects to show.")
        var limit = 20

        @Option(help: "How many objects to leave out first.")
        var offset = 0

        @Flag(help: "Print one JSON object for each object instead of text.")
        var json = false

        func validate() throws {
            if limit < 0 || offset < 0 { throw ValidationError("--limit and --offset are not negative.") }
            if entity == nil, condition != nil || sort != nil { throw ValidationError("--where and --sort need an entity.") }
        }

        func run() throws {
            try CommandError.translating(file: file) {
                let contents = try StoreContents(of: URL(fileURLWithPath: file), options: .inspection)
                guard let entity else { return try list(contents) }
                if let key { return try show(key, of: entity, contents) }
                let query = try contents.query(contents.entity(entity).name, where: condition, sort: sort, limit: limit, offset: offset)
                try contents.read { reader in
                    let rows = try reader.fetch(query).map { try StoreRow($0, contents.model, readingMembers: json ? reader : nil) }
                    if json { return rows.forEach { Output.line($0.json) } }
                    Output.line(StoreTable.text(rows))
                    if rows.count == limit { Output.note("There may be more: give --offset \(offset + limit), or --limit.") }
                }
            }
        }

        private func list(_ contents: StoreContents) throws {
            let counts = try contents.read { reader in
                try contents.model.entities.map { entity in
                    var query = try contents.query(entity.name)
                    query.includesSubentities = false
                    // With a limit, SQLite counts row by row and ends even in a damaged file.
                    query.limit = Int.max
                    return try reader.count(query)
                }
            }
            for (entity, count) in zip(contents.model.entities, counts) {
                if json {
                    Output.line(#"{"entity":\#(JSONText.string(entity.name)),"rows":\#(count)}"#)
                } else {
                    let parent = entity.declaration.superentity.map { " : \($0)" } ?? ""
                    Output.line("\(TerminalText.escaped(entity.name + parent))\t\(CountText.text(count, "row"))")
                }
            }
            if !json { ModelOfStore.notes(contents.derived).forEach(Output.note) }
        }

        private func show(_ text: String, of entity: String, _ contents: StoreContents) throws {
            let index = try contents.entity(entity).index
            guard let number = Int64(text.hasPrefix("p") ? text.dropFirst() : text[...]) else {
                throw CommandError("'\(text)' isn't a key: give a number, such as 7 or p7.")
            }
            try contents.read { reader in
                guard let found = try reader.row(RowKey(store: 1, entity: index, primaryKey: number)) else {
                    throw CommandError("\(entity) has no object with the key \(number).")
                }
                let row = try StoreRow(found, contents.model, readingMembers: reader)
                Output.line(json ? row.json : StoreTable.text(row))
            }
        }
    }
}

/// Rows as text for a terminal.
enum StoreTable {
    /// Characters of the widest column.
    static let widthMax = 32

    static func text(_ rows: [StoreRow]) -> String {
        // Subentities have properties of their own.
        let names = Set(rows.flatMap { $0.slots.map(\.name) }).sorted()
        let cells =
            [["_id"] + names]
            + rows.map { row in
                let values = Dictionary(keepingFirst: row.slots.map { ($0.name, cell(row, $0.value)) })
                return [row.id] + names.map { values[$0] ?? "" }
            }
        let lines = cells.map { $0.map { cut(TerminalText.escaped($0)) } }
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            let padded = zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return padded.joined(separator: "  ").trimmingSuffix { $0 == " " }
        }.joined(separator: "\n")
    }

    /// One object: a line for each property.
    static func text(_ row: StoreRow) -> String {
        var lines = [("_id", row.id)] + row.slots.map { ($0.name, cell(row, $0.value)) }
        for (relationship, keys) in zip(row.entity.toMany, row.members ?? []) {
            let shown = keys.prefix(100).map(row.text(of:)).joined(separator: ", ")
            lines.append((relationship.name, keys.count > 100 ? "\(shown) and \(keys.count - 100) more" : shown))
        }
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { name, value in
            TerminalText.escaped(name) + String(repeating: " ", count: width - name.count) + "  " + TerminalText.escaped(value)
        }.joined(separator: "\n")
    }

    private static func cell(_ row: StoreRow, _ value: StoredValue) -> String {
        if case .data(let data) = value { return CountText.text(data.count, "byte") }
        return row.plain(value) ?? "nil"
    }

    private static func cut(_ text: String) -> String { text.count > widthMax ? text.prefix(widthMax - 1) + "…" : text }
}

extension String {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, predicate(last) { text.removeLast() }
        return String(text)
    }
}

extension SQLiteStore.Options {
    /// For stores that are looked at; only `now()` in predicates asks for the time.
    static var inspection: SQLiteStore.Options {
        SQLiteStore.Options(clock: { Date.now.timeIntervalSinceReferenceDate }, makeIdentifier: { UUID() })
    }
}
