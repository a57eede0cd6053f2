// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite
import ManagedModel
import PredicateKit
import SQLiteStore
import Synchronization

/// Authors, their books and the books' tags: one-to-many, many-to-many, a subentity, and every kind of attribute.
enum Library {
    static func model(_ change: (inout Model) -> Void = { _ in }) throws -> ResolvedModel {
        var author = Entity(
            name: "Author",
            attributes: [Attribute(name: "name", type: .string), Attribute(name: "born", type: .date)],
            relationships: [Relationship(name: "books", destination: "Book", inverse: "author", isToMany: true)])
        author.indexes = [FetchIndex(name: "byName", elements: [.init(property: "name")])]
        var title = Attribute(name: "title", type: .string)
        title.preservesValueInHistoryOnDeletion = true
        var pages = Attribute(name: "pages", type: .integer32)
        pages.preservesValueInHistoryOnDeletion = true
        let book = Entity(
            name: "Book",
            attributes: [
                title, pages, Attribute(name: "published", type: .date), Attribute(name: "isOpen", type: .boolean),
                Attribute(name: "weight", type: .double), Attribute(name: "price", type: .decimal),
                Attribute(name: "page", type: .uri), Attribute(name: "cover", type: .binaryData),
                Attribute(name: "number", type: .uuid),
            ],
            relationships: [
                Relationship(name: "author", destination: "Author", inverse: "books"),
                Relationship(name: "tags", destination: "Tag", inverse: "books", isToMany: true),
            ])
        let comic = Entity(
            name: "Comic", superentity: "Book", attributes: [Attribute(name: "artist", type: .string)])
        let tag = Entity(
            name: "Tag", attributes: [Attribute(name: "label", type: .string)],
            relationships: [Relationship(name: "books", destination: "Book", inverse: "tags", isToMany: true)])
        var model = Model(entities: [tag, comic, book, author])
        change(&model)
        return try ResolvedModel(model)
    }

    static func options(at seconds: Double = 1000) -> SQLiteStore.Options {
        let identifier = UUID(uuid: (0xAB, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01))
        return SQLiteStore.Options(clock: { seconds }, makeIdentifier: { identifier })
    }

    /// The options for a version of the model: stores of another version are migrated.
    static func options(version: UInt8) -> SQLiteStore.Options {
        var options = options()
        options.versionHashes = ["all": Data([version])]
        return options
    }

    static func store(
        _ url: URL? = nil, model: ResolvedModel? = nil, options: SQLiteStore.Options = options()
    ) throws -> SQLiteStore {
        try SQLiteStore(url: url, model: try model ?? Self.model(), number: 7, options: options)
    }

    /// Runs statements on a file with a plain SQLite connection.
    static func execute(_ sql: String, on url: URL) throws {
        var database: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        guard sqlite3_open_v2(url.path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK,
            sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK
        else { throw StoreError(.other, "a statement of a test failed", detail: String(cString: sqlite3_errmsg(database))) }
    }

    /// Reads rows with a plain SQLite connection; columns are separated by bars.
    static func rows(_ sql: String, on url: URL) throws -> [String] {
        var database: OpaquePointer?
        var statement: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        guard sqlite3_open_v2(url.path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK
        else { throw StoreError(.other, "a query of a test failed", detail: String(cString: sqlite3_errmsg(database))) }
        defer { sqlite3_finalize(statement) }
        var rows: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            rows.append(
                (0..<sqlite3_column_count(statement)).map { sqlite3_column_text(statement, $0).map { String(cString: $0) } ?? "NULL" }
                    .joined(separator: "|"))
        }
        return rows
    }

    /// Makes a file look like another framework's: without Tarn's record of its model.
    static func forgetModel(_ url: URL) throws {
        let list = try PropertyListSerialization.data(fromPropertyList: ["NSStoreType": "SQLite"], format: .binary, options: 0)
        let hex = list.map { String(format: "%02x", $0) }.joined()
        try execute("UPDATE Z_METADATA SET Z_PLIST = x'\(hex)'; DROP TABLE TARNSTORE_MODEL; DROP TABLE IF EXISTS Z_MODELCACHE", on: url)
    }

    /// A temporary folder that is deleted when the test ends.
    static func withFolder<T>(_ body: (URL) throws -> T) throws -> T {
        let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }
}

extension ResolvedModel {
    func index(_ name: String) -> Int { entity(named: name)?.index ?? -1 }

    func toMany(_ entity: String, _ name: String) -> Int {
        guard case .toMany(let index)? = self.entity(named: entity)?.location(of: name) else { return -1 }
        return index
    }

    /// Values of a new row by name; others have their defaults.
    func values(_ entity: String, _ named: [String: StoredValue]) -> ContiguousArray<StoredValue> {
        guard let resolved = self.entity(named: entity) else { return [] }
        var values = resolved.defaultValues
        for (name, value) in named {
            if case .slot(let slot)? = resolved.location(of: name) { values[slot] = value }
        }
        return values
    }

    func slot(_ entity: String, _ name: String) -> Int {
        guard case .slot(let slot)? = self.entity(named: entity)?.location(of: name) else { return -1 }
        return slot
    }
}

extension SQLiteStore {
    /// Inserts one row and returns its key.
    @discardableResult
    func insert(_ model: ResolvedModel, _ entity: String, _ named: [String: StoredValue]) throws -> RowKey {
        try write { writer in
            let key = try writer.allocateKeys(for: model.index(entity), count: 1)[0]
            var changes = StoreChanges()
            changes.inserts = [Row(key: key, version: 1, values: model.values(entity, named))]
            try writer.apply(changes)
            return key
        }
    }

    func lines(_ sql: String) throws -> [String] {
        var lines: [String] = []
        try read { reader in
            try reader.query(sql) { row in
                lines.append((0..<row.count).map { row.text($0) ?? "NULL" }.joined(separator: "|"))
            }
        }
        return lines
    }
}
