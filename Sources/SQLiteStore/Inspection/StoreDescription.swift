// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// The contents of a store's file, regardless of its framework and model.
package struct StoreDescription: Codable, Sendable {
    package struct File: Codable, Sendable {
        package var name: String
        package var bytes: Int64
    }

    package struct Entity: Codable, Sendable {
        package var number: Int64
        package var name: String
        package var parent: String?
        package var table: String?
        package var rows: Int64
        /// The last assigned primary key; the root's for a whole hierarchy.
        package var lastKey: Int64
    }

    package struct Table: Codable, Sendable {
        package var name: String
        package var rows: Int64
        package var columns: [Column]
    }

    package struct Column: Codable, Sendable {
        package var name: String
        package var type: String
        /// The destination entity; "unknown" if names do not reveal it. nil for a plain value.
        package var leadsTo: String?
    }

    package struct Pairs: Codable, Sendable {
        package var table: String
        package var between: [String]
        package var isOrdered: Bool
        package var pairs: Int64
    }

    package struct History: Codable, Sendable {
        package var transactions: Int64
        package var changes: Int64
        package var firstTransaction: Int64?
        package var lastTransaction: Int64?
        package var from: Date?
        package var to: Date?
        package var authors: [String]
    }

    package struct Mirroring: Codable, Sendable {
        /// `tarn`, or `apple` for the metadata tables of Apple's framework.
        package var bookkeeping: String
        package var rows: [String: Int64]
    }

    package var path: String
    package var files: [File]
    package var pageSize: Int64
    package var pages: Int64
    package var freePages: Int64
    package var journalMode: String
    package var identifier: String
    /// Version of the layout if the store was opened here; nil for a store that only Apple's framework wrote.
    package var format: Int?
    package var frameworkVersion: String?
    package var modelIdentifiers: [String]
    /// Metadata with values short enough to show.
    package var metadata: [String: String]
    /// Whether relationships come from the store's record of its model; otherwise they are guessed from names.
    package var isModelRecorded: Bool
    package var entities: [Entity]
    package var tables: [Table]
    package var joins: [Pairs]
    package var indexes: [String]
    package var triggers: [String]
    package var history: History?
    package var mirroring: Mirroring?
    package var externalFiles: Int
    package var externalBytes: Int64

    /// - Throws: ``StoreError``: `.notFound`, `.notPermitted`, `.corrupt` for a file that isn't a store.
    package init(of url: URL) throws(StoreError) {
        // Before the connection is open: to close another descriptor of the file would end the locks of this process.
        let usesLog = StoreFile.usesLog(url)
        self = try StoreFile(url).read { connection in
            try StoreDescription(url, usesLog: usesLog, connection, StoreOutline(connection))
        }
    }

    private init(_ url: URL, usesLog: Bool, _ connection: Connection, _ outline: StoreOutline) throws {
        func number(_ sql: String) throws -> Int64 { try connection.first(sql) { $0.int(0) } ?? 0 }
        let rowsMax = StoreFile.size(url.path) + StoreFile.size(url.path + "-wal")
        // A row takes at least one byte. A count of a whole table is one step for SQLite, which no budget ends.
        func count(_ table: String) throws -> Int64 { try number("SELECT COUNT(*) FROM (SELECT 1 FROM \(quoted(table)) LIMIT \(rowsMax))") }
        path = url.path
        files = ["", "-wal", "-shm", "-journal"].compactMap { suffix in
            let name = url.path + suffix
            return StoreFile.exists(name) ? File(name: url.lastPathComponent + suffix, bytes: StoreFile.size(name)) : nil
        }
        pageSize = try number("PRAGMA page_size")
        pages = try number("PRAGMA page_count")
        freePages = try number("PRAGMA freelist_count")
        // SQLite reports no log for an immutable file, which is how a store without an open connection is read.
        journalMode = usesLog ? "wal" : try connection.first("PRAGMA journal_mode") { $0.text(0) ?? "" } ?? ""
        self.identifier = outline.identifier
        let values = outline.metadata.values
        format = outline.metadata.formatVersion
        frameworkVersion = values["NSPersistenceFrameworkVersion"].map { "\($0)" }
        modelIdentifiers = (values["NSStoreModelVersionIdentifiers"] as? [Any])?.map { "\($0)" } ?? []
        metadata = values.mapValues(Self.brief)
        isModelRecorded = outline.recorded != nil

        var rows: [Int64: Int64] = [:]
        for root in outline.roots {
            guard let table = outline.table(of: root.number) else { continue }
            try connection.query("SELECT Z_ENT, COUNT(*) FROM \(quoted(table)) GROUP BY Z_ENT") { rows[$0.int(0)] = $0.int(1) }
        }
        entities = outline.modelEntities.map { entity in
            Entity(
                number: entity.number, name: entity.name, parent: outline.entities[entity.parent]?.name,
                table: outline.table(of: entity.number), rows: rows[entity.number] ?? 0,
                lastKey: outline.entities[outline.root(of: entity.number)]?.lastKey ?? 0)
        }
        tables = try outline.roots.compactMap { root in
            guard let name = outline.table(of: root.number), let columns = outline.tables[name] else { return nil }
            return Table(
                name: name, rows: try count(name),
                columns: columns.map { column in
                    let reference = outline.references.first { $0.table == name && $0.column == column.name }
                    let destination = reference.map { $0.destination.flatMap { outline.entities[$0]?.name } ?? "unknown" }
                    return Column(name: column.name, type: column.type, leadsTo: destination)
                })
        }
        joins = try outline.joins.map { join in
            Pairs(
                table: join.table, between: join.columns.map { outline.entities[$0.root]?.name ?? "unknown" },
                isOrdered: !join.orderColumns.isEmpty, pairs: try count(join.table))
        }
        (indexes, triggers) = (outline.indexes, outline.triggers)
        history = outline.tables["ATRANSACTION"] == nil ? nil : try History(connection, outline)
        mirroring = try Self.mirroring(outline, count)
        let external = ExternalFolder(of: url)
        (externalFiles, externalBytes) = (external.names.count, external.bytes)
    }

    private static func mirroring(_ outline: StoreOutline, _ count: (String) throws -> Int64) throws -> Mirroring? {
        for (prefix, name) in [("TARN_", "tarn"), ("ANSCK", "apple")] {
            let tables = outline.tables.keys.filter { $0.hasPrefix(prefix) }
            if tables.isEmpty { continue }
            return Mirroring(
                bookkeeping: name, rows: try Dictionary(uniqueKeysWithValues: tables.map { ($0, try count($0)) }))
        }
        return nil
    }

    private static func brief(_ value: Any) -> String {
        switch value {
        case let data as Data: return "\(data.count) bytes"
        case let dictionary as [String: Any]: return dictionary.keys.sorted().joined(separator: ", ")
        case let array as [Any]: return array.map { "\($0)" }.joined(separator: ", ")
        default: return "\(value)"
        }
    }
}

extension StoreDescription.History {
    fileprivate init(_ connection: Connection, _ outline: StoreOutline) throws {
        transactions = try connection.first("SELECT COUNT(*) FROM ATRANSACTION") { $0.int(0) } ?? 0
        changes = outline.tables["ACHANGE"] == nil ? 0 : try connection.first("SELECT COUNT(*) FROM ACHANGE") { $0.int(0) } ?? 0
        let range = try connection.first("SELECT MIN(Z_PK), MAX(Z_PK), MIN(ZTIMESTAMP), MAX(ZTIMESTAMP) FROM ATRANSACTION") {
            ($0.optionalInt(0), $0.optionalInt(1), $0.optionalDouble(2), $0.optionalDouble(3))
        }
        (firstTransaction, lastTransaction) = (range?.0, range?.1)
        from = range?.2.map { Date(timeIntervalSinceReferenceDate: $0) }
        to = range?.3.map { Date(timeIntervalSinceReferenceDate: $0) }
        var authors: [String] = []
        if outline.tables["ATRANSACTIONSTRING"] != nil {
            try connection.query(
                """
                SELECT DISTINCT s.ZNAME FROM ATRANSACTION t JOIN ATRANSACTIONSTRING s ON s.Z_PK = t.ZAUTHORTS ORDER BY 1
                """
            ) { row in if let name = row.text(0) { authors.append(name) } }
        }
        self.authors = authors
    }
}

/// ``identifier(_:)``, which a property of the description hides.
private func quoted(_ name: String) -> String { identifier(name) }
