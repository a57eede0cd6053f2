// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A violated invariant of a store.
package struct StoreViolation: Codable, Hashable, Sendable {
    package enum Rule: String, Codable, Sendable, CaseIterable {
        case fileDamaged, tableMissing, columnMissing, indexMissing, entityListBroken
        case rowOfUnknownEntity, keyNotGivenOut, versionMissing
        case referenceDangling, referenceOfWrongEntity, referencesDisagree
        case pairDangling, orderMissing, orderRepeated
        case changeWithoutTransaction, historyNumberNotGivenOut, changeUnreadable, transactionTextMissing, historyDisagrees
        case externalFileMissing, externalFileUnused
    }

    package var rule: Rule
    package var table: String
    /// Primary key of the row; nil for a violation without a single row.
    package var key: Int64?
    /// The violation, without stored values.
    package var message: String
}

/// Checks the invariants of a store, without its model and without changing anything.
///
/// Invariants:
/// - the file is sound, and every table of the entity list and of the recorded model exists
/// - every row is of an entity that its table holds, with a version, and a key that was assigned
/// - every reference leads to a row, of the entity recorded with it; both sides of a one-to-one match
/// - every join record of a many-to-many relationship joins two rows, and ordered members have distinct positions
/// - history belongs to transactions, names entities, and matches the existing rows
/// - every file of a large value exists, and a row names it
///
/// Slow: it reads every table.
package struct StoreCheck {
    package private(set) var violations: [StoreViolation] = []
    /// Number of violations by rule, including unlisted ones.
    package private(set) var counts: [StoreViolation.Rule: Int] = [:]
    /// The largest number of listed violations per rule; more are only counted.
    package static let listedMax = 100

    private let connection: Connection
    private let outline: StoreOutline
    private let external: ExternalFolder

    /// - Returns: The finished check.
    /// - Throws: ``StoreError``: `.notFound`, `.notPermitted`, `.corrupt` for a file that isn't a store or is too damaged
    ///   to read.
    package static func run(on url: URL) throws(StoreError) -> StoreCheck {
        let file = try StoreFile(url)
        return try file.read { connection in
            var check = StoreCheck(connection, try StoreOutline(connection), ExternalFolder(of: url))
            try check.file()
            // Further checks would be meaningless then.
            if !check.violations.isEmpty { return check }
            try check.entities()
            try check.rows()
            try check.relationships()
            try check.pairs()
            try check.history()
            try check.externalFiles()
            return check
        }
    }

    private init(_ connection: Connection, _ outline: StoreOutline, _ external: ExternalFolder) {
        self.connection = connection
        self.outline = outline
        self.external = external
    }

    private mutating func report(_ rule: StoreViolation.Rule, _ table: String, _ key: Int64? = nil, _ message: String) {
        counts[rule, default: 0] += 1
        if counts[rule, default: 0] <= Self.listedMax {
            violations.append(StoreViolation(rule: rule, table: table, key: key, message: message))
        }
    }

    /// Records a violation for each row of a statement; its first column is the key.
    private mutating func each(
        _ rule: StoreViolation.Rule, _ table: String, _ sql: String, _ message: (SQLRow) -> String
    ) throws {
        var rows: [(Int64?, String)] = []
        try connection.query(sql) { rows.append(($0.optionalInt(0), message($0))) }
        for (key, message) in rows { report(rule, table, key, message) }
    }

    // MARK: The file and the entity list

    private mutating func file() throws {
        var messages: [String] = []
        do {
            try connection.query("PRAGMA integrity_check") { row in
                if let text = row.text(0), text != "ok" { messages.append(text) }
            }
        } catch let error as StoreError where error.code == .corrupt {
            messages.append(error.detail)
        }
        for text in messages { report(.fileDamaged, "", nil, text) }
    }

    private mutating func entities() throws {
        for index in (outline.recorded?.indexes ?? [:]).keys.sorted() where !outline.indexes.contains(index) {
            report(.indexMissing, "", nil, "the index \(index) is missing")
        }
        for entity in outline.modelEntities {
            if entity.parent != 0, outline.entities[entity.parent] == nil {
                report(.entityListBroken, "Z_PRIMARYKEY", entity.number, "the parent of \(entity.name) is not in the list")
            }
            if outline.root(of: entity.number) == entity.number, outline.table(of: entity.number) == nil {
                report(.tableMissing, "Z" + entity.name.uppercased(), nil, "the table of \(entity.name) is missing")
            }
        }
        for (name, entity) in (outline.recorded?.entities ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let listed = outline.entity(named: name) else {
                report(.entityListBroken, "Z_PRIMARYKEY", entity.number, "\(name) is recorded but not in the list")
                continue
            }
            for (property, record) in entity.properties.sorted(by: { $0.key < $1.key }) where record.kind == .toManyByTable {
                guard let join = record.table else { continue }
                guard let columns = outline.tables[join] else {
                    report(.tableMissing, join, nil, "the table of \(name).\(property) is missing")
                    continue
                }
                let present = Set(columns.map { $0.name.uppercased() })
                for column in [record.column, record.otherColumn, record.orderColumn].compactMap(\.self)
                where !present.contains(column.uppercased()) {
                    report(.columnMissing, join, nil, "the column \(column) of \(name).\(property) is missing")
                }
            }
            guard let table = outline.table(of: listed.number) else { continue }
            let present = Set((outline.tables[table] ?? []).map { $0.name.uppercased() })
            for (property, record) in entity.properties.sorted(by: { $0.key < $1.key })
            where [.attribute, .toOne].contains(record.kind) {
                for column in [record.column, record.entityColumn, record.orderColumn].compactMap(\.self)
                where !present.contains(column.uppercased()) {
                    report(.columnMissing, table, nil, "the column \(column) of \(name).\(property) is missing")
                }
            }
        }
    }

    // MARK: Rows

    private mutating func rows() throws {
        for root in outline.roots {
            guard let name = outline.table(of: root.number) else { continue }
            let table = identifier(name)
            let numbers = outline.numbers(inTableOf: root.number).map { String($0) }.joined(separator: ", ")
            try each(.rowOfUnknownEntity, name, "SELECT Z_PK FROM \(table) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers))") { _ in
                "the row's entity is not stored in its table"
            }
            try each(.keyNotGivenOut, name, "SELECT Z_PK FROM \(table) WHERE Z_PK > \(root.lastKey) OR Z_PK < 1") { _ in
                "the key was not given out; the last one was \(root.lastKey)"
            }
            try each(.versionMissing, name, "SELECT Z_PK FROM \(table) WHERE Z_OPT IS NULL OR Z_OPT < 1") { _ in
                "the row has no version"
            }
        }
    }

    private func has(_ table: String, _ column: String) -> Bool {
        outline.tables[table]?.contains { $0.name.uppercased() == column.uppercased() } ?? false
    }

    private mutating func relationships() throws {
        for reference in outline.references where has(reference.table, reference.column) {
            let (table, column) = (identifier(reference.table), identifier(reference.column))
            if let far = reference.destination.flatMap({ outline.table(of: $0) }) {
                try each(
                    .referenceDangling, reference.table,
                    """
                    SELECT r.Z_PK FROM \(table) r LEFT JOIN \(identifier(far)) d ON d.Z_PK = r.\(column) \
                    WHERE r.\(column) IS NOT NULL AND d.Z_PK IS NULL
                    """
                ) { _ in "\(reference.column) leads to no row of \(far)" }
                if let entity = reference.entityColumn, has(reference.table, entity) {
                    try each(
                        .referenceOfWrongEntity, reference.table,
                        """
                        SELECT r.Z_PK FROM \(table) r JOIN \(identifier(far)) d ON d.Z_PK = r.\(column) \
                        WHERE r.\(identifier(entity)) IS NOT d.Z_ENT
                        """
                    ) { _ in "\(entity) is not the entity of the row that \(reference.column) leads to" }
                }
            }
            guard let order = reference.orderColumn, has(reference.table, order) else { continue }
            try each(
                .orderMissing, reference.table,
                "SELECT Z_PK FROM \(table) WHERE \(column) IS NOT NULL AND \(identifier(order)) IS NULL"
            ) { _ in "the row has no place in the order of its owner" }
            try each(
                .orderRepeated, reference.table,
                """
                SELECT MAX(Z_PK) FROM \(table) WHERE \(column) IS NOT NULL AND \(identifier(order)) IS NOT NULL \
                GROUP BY \(column), \(identifier(order)) HAVING COUNT(*) > 1
                """
            ) { _ in "another row has the same place in the order of its owner" }
        }
        try oneToOne()
    }

    /// Both sides of a one-to-one relationship reference each other. Only the recorded model pairs their columns.
    private mutating func oneToOne() throws {
        guard let recorded = outline.recorded else { return }
        for (name, entity) in recorded.entities.sorted(by: { $0.key < $1.key }) {
            for (property, record) in entity.properties.sorted(by: { $0.key < $1.key }) where record.kind == .toOne {
                guard let destination = record.destination, let inverseName = record.inverse,
                    let inverse = recorded.entities[destination]?.properties[inverseName], inverse.kind == .toOne,
                    let column = record.column, let back = inverse.column,
                    let table = outline.entity(named: name).flatMap({ outline.table(of: $0.number) }),
                    let far = outline.entity(named: destination).flatMap({ outline.table(of: $0.number) }),
                    has(table, column), has(far, back)
                else { continue }
                try each(
                    .referencesDisagree, table,
                    """
                    SELECT r.Z_PK FROM \(identifier(table)) r JOIN \(identifier(far)) d ON d.Z_PK = r.\(identifier(column)) \
                    WHERE d.\(identifier(back)) IS NOT r.Z_PK
                    """
                ) { _ in "\(name).\(property) leads to a row, and \(inverseName) does not lead back" }
            }
        }
    }

    private mutating func pairs() throws {
        for join in outline.joins where outline.tables[join.table] != nil {
            let table = identifier(join.table)
            for (column, root) in join.columns where has(join.table, column) {
                guard let far = outline.table(of: root) else { continue }
                try each(
                    .pairDangling, join.table,
                    """
                    SELECT j.\(identifier(column)) FROM \(table) j LEFT JOIN \(identifier(far)) d \
                    ON d.Z_PK = j.\(identifier(column)) WHERE d.Z_PK IS NULL
                    """
                ) { _ in "\(column) leads to no row of \(far)" }
            }
            for order in join.orderColumns where has(join.table, order) {
                try each(
                    .orderMissing, join.table,
                    "SELECT \(identifier(join.columns[0].name)) FROM \(table) WHERE \(identifier(order)) IS NULL"
                ) { _ in "\(order) holds no place for a pair" }
            }
        }
    }

    // MARK: History

    private mutating func history() throws {
        let tables = ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"].filter { outline.tables[$0] != nil }
        if tables.isEmpty { return }
        guard tables.count == 3 else {
            return report(
                .tableMissing, "ATRANSACTION", nil, "only some tables of the history are there: \(tables.joined(separator: ", "))")
        }
        try each(
            .changeWithoutTransaction, "ACHANGE",
            "SELECT Z_PK FROM ACHANGE WHERE ZTRANSACTIONID IS NULL OR ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)"
        ) { _ in "the change belongs to no transaction" }
        for (table, number) in [
            ("ATRANSACTION", HistoryEntity.transaction), ("ACHANGE", HistoryEntity.change), ("ATRANSACTIONSTRING", HistoryEntity.string),
        ] {
            let last = outline.entities[number]?.lastKey ?? 0
            try each(.historyNumberNotGivenOut, table, "SELECT Z_PK FROM \(table) WHERE Z_PK > \(last)") { _ in
                "the number was not given out; the last one was \(last)"
            }
        }
        let entityNumbers = outline.entities.keys.sorted().map { String($0) }.joined(separator: ", ")
        try each(
            .changeUnreadable, "ACHANGE",
            "SELECT Z_PK FROM ACHANGE WHERE ZCHANGETYPE IS NULL OR ZCHANGETYPE NOT IN (0, 1, 2) OR ZENTITY NOT IN (\(entityNumbers))"
        ) { _ in "the change is of an unknown kind or entity" }
        for column in ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"] where has("ATRANSACTION", column) {
            try each(
                .transactionTextMissing, "ATRANSACTION",
                """
                SELECT t.Z_PK FROM ATRANSACTION t LEFT JOIN ATRANSACTIONSTRING s ON s.Z_PK = t.\(column) \
                WHERE t.\(column) IS NOT NULL AND s.Z_PK IS NULL
                """
            ) { _ in "\(column) leads to no text" }
        }
        try lastChanges()
    }

    /// The last change of a row in history must match the row's existence.
    private mutating func lastChanges() throws {
        for root in outline.roots {
            guard let name = outline.table(of: root.number) else { continue }
            let numbers = outline.numbers(inTableOf: root.number).map { String($0) }.joined(separator: ", ")
            try each(
                .historyDisagrees, name,
                """
                SELECT c.ZENTITYPK, c.ZCHANGETYPE FROM ACHANGE c \
                JOIN (SELECT MAX(Z_PK) last FROM ACHANGE WHERE ZENTITY IN (\(numbers)) GROUP BY ZENTITYPK) m ON m.last = c.Z_PK \
                LEFT JOIN \(identifier(name)) d ON d.Z_PK = c.ZENTITYPK \
                WHERE (c.ZCHANGETYPE = 2) <> (d.Z_PK IS NULL)
                """
            ) { $0.int(1) == 2 ? "history says that the row was deleted" : "history does not say that the row was deleted" }
        }
    }

    // MARK: External files

    private mutating func externalFiles() throws {
        var unnamed = Set(external.names)
        let present = unnamed
        for root in outline.roots {
            guard let name = outline.table(of: root.number), let columns = outline.tables[name] else { continue }
            for column in columns where column.type.uppercased() == "BLOB" {
                let quotedColumn = identifier(column.name)
                var missing: [Int64] = []
                // A tag, a UUID's text, a zero: other values of this length do not match by chance.
                try connection.query(
                    """
                    SELECT Z_PK, \(quotedColumn) FROM \(identifier(name)) \
                    WHERE typeof(\(quotedColumn)) = 'blob' AND length(\(quotedColumn)) = \(ExternalValue.referenceSize)
                    """
                ) { row in
                    guard case .file(let file)? = row.blob(1).map(ExternalValue.init) else { return }
                    unnamed.remove(file)
                    if !present.contains(file) { missing.append(row.int(0)) }
                }
                for key in missing {
                    report(.externalFileMissing, name, key, "the file that holds the value of \(column.name) is missing")
                }
            }
        }
        for file in unnamed.sorted() { report(.externalFileUnused, "", nil, "no row names the file \(file)") }
    }
}
