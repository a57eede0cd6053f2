// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService
import Foundation
import ManagedModel
import SQLiteStore
import SystemSupport

extension StoreCommand {
    /// `tarn store export FILE`: all objects of a store without its model.
    struct Export: ParsableCommand {
        enum Format: String, ExpressibleByArgument, CaseIterable { case jsonl, csv }

        static let configuration = CommandConfiguration(
            abstract: "Export the objects of a store without its model.",
            discussion: Help.discussion(
                """
                Writes one consistent state of the store, while an app has it open or not: JSON, one object in a line, to \
                standard output; with --to a file for each entity. CSV is for one entity, or needs --to. An object has its \
                attributes and its relationships, to-many ones in their order, as 'Entity/p7'. Dates are ISO 8601 in UTC, decimal numbers \
                are texts, binary data is base64, and large values that are files of their own are included. The store is not changed.

                Programs for spreadsheets run what begins with =, +, - or @: values of a store are written as they are.
                """, examples: "tarn store export Notes.sqlite > notes.jsonl", "tarn store export Notes.sqlite --format csv --to notes"))

        @Argument(help: "The store's file, such as Model.sqlite.")
        var file: String

        @Option(help: ArgumentHelp("A folder for one file per entity; it is created if it doesn't exist.", valueName: "folder"))
        var to: String?

        @Option(help: "jsonl or csv.")
        var format = Format.jsonl

        @Option(
            name: .customLong("entity"),
            help: ArgumentHelp("Only this entity, without its subentities; may be given several times.", valueName: "name"))
        var entities: [String] = []

        func validate() throws {
            if format == .csv, to == nil, entities.count != 1 {
                throw ValidationError("CSV has the columns of one entity: give --entity, or --to for a file of each.")
            }
        }

        func run() throws {
            try CommandError.translating(file: file) {
                let contents = try StoreContents(of: URL(fileURLWithPath: file), options: .inspection)
                let chosen = try entities.map(contents.entity)
                ModelOfStore.notes(contents.derived).forEach(Output.note)
                let counts = try contents.read { reader in
                    try (chosen.isEmpty ? contents.model.entities : chosen).map { entity in
                        (entity.name, try export(entity, contents.model, reader))
                    }
                }
                if to != nil {
                    for (name, count) in counts { Output.note("\(TerminalText.escaped(name))\t\(CountText.text(count, "object"))") }
                }
            }
        }

        private func export(_ entity: ResolvedEntity, _ model: ResolvedModel, _ reader: StoreReader) throws -> Int {
            let output =
                try to.map { try ExportFile(folder: URL(fileURLWithPath: $0), name: "\(entity.name).\(format.rawValue)") } ?? ExportFile()
            var count = 0
            if format == .csv { try output.line(CSVText.header(entity)) }
            try reader.forEachRow(of: entity.index) { row in
                let row = try StoreRow(row, model, readingMembers: reader)
                try output.line(format == .csv ? CSVText.line(row) : row.json)
                count += 1
            }
            try output.close()
            return count
        }
    }
}

/// A line of CSV for each object.
///
/// Source: RFC 4180.
enum CSVText {
    static func header(_ entity: ResolvedEntity) -> String {
        (["_id"] + (stored(entity).map { entity.slots[$0].name } + entity.toMany.map(\.name)).map(RecordCSV.cell)).joined(separator: ",")
    }

    static func line(_ row: StoreRow) -> String {
        let slots = stored(row.entity).map { row.plain(row.row.values[$0]).map(RecordCSV.cell) ?? "" }
        let members = (row.members ?? []).map { keys in RecordCSV.cell(keys.map(row.text(of:)).joined(separator: " ")) }
        return ([row.id] + slots + members).joined(separator: ",")
    }

    private static func stored(_ entity: ResolvedEntity) -> [Int] { entity.slots.indices.filter { !entity.slots[$0].isTransient } }
}

/// A file of an export that only its owner can read, or standard output.
///
/// The file gets its name at the end: until then, and after an interruption, it is `NAME.partial`.
final class ExportFile {
    private let handle: FileHandle
    private let path: String
    private let advice: String
    /// The file until it is complete; nil for standard output.
    private let partial: String?
    private var buffer = Data()

    init() {
        handle = .standardOutput
        path = "standard output"
        advice = ""
        partial = nil
    }

    /// - Throws: ``CommandError`` for a file that is there, or cannot be made.
    convenience init(folder: URL, name: String) throws {
        // Values of users, as in the store, which is for its owner alone.
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try self.init(folder.appendingPathComponent(name).path, advice: "choose an empty folder with --to")
    }

    /// - Parameter path: A new file; nil for standard output.
    convenience init(path: String?) throws {
        if let path { try self.init(path, advice: "choose another with --output") } else { self.init() }
    }

    private init(_ path: String, advice: String) throws {
        let partial = path + ".partial"
        if access(path, F_OK) == 0 { throw Self.failure(path, EEXIST, advice) }
        // Left by an interrupted export.
        unlink(partial)
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, errno, advice) }
        self.path = path
        self.advice = advice
        self.partial = partial
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    deinit {
        if let partial { unlink(partial) }
    }

    private static func failure(_ path: String, _ code: Int32, _ advice: String) -> CommandError {
        CommandError("'\(path)' cannot be made (\(String(cString: strerror(code)))): \(advice).")
    }

    func line(_ text: String) throws {
        buffer += Data(text.utf8)
        buffer.append(10)
        if buffer.count >= 1 << 20 { try flush() }
    }

    /// Ends the file, and gives it its name.
    func close() throws {
        try flush()
        guard let partial else { return }
        try handle.close()
        // A link does not replace a file of the name. Some file systems have none.
        if link(partial, path) == 0 { return }
        let code = errno
        guard code != EEXIST, rename(partial, path) == 0 else { throw Self.failure(path, code, advice) }
    }

    private func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        if partial == nil, Output.sink != nil { return Output.text(String(decoding: buffer, as: UTF8.self)) }
        do { try handle.write(contentsOf: buffer) } catch {
            throw CommandError("'\(path)' cannot be written: make room, or choose another place.")
        }
    }
}
