// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudEnginePostgres
    import CloudEngineSQLite
    import CloudStorageSupport
    import CloudWire
    import Crypto
    import Foundation
    import GRDB
    import TemporaryPostgres
    import TestBasics
    import Testing

    /// A data folder with rows in all tables, from a seed, and its copies.
    final class RandomServer {
        let folder = TemporaryFolder()
        private(set) var random: SeededNumbers
        private let queue: DatabaseQueue
        let tables: [MovedTable]
        private var names = 0

        private static let rowsPerTable = 12

        /// - Parameter tables: All tables that a move copies.
        init(seed: UInt64, tables: [MovedTable]) throws {
            random = SeededNumbers(seed: seed)
            self.tables = tables
            let store = try SQLiteServerStore(path: folder.path, use: .command, passwordRounds: 16)
            try store.close()
            queue = try Self.open(folder.path)
            try fill()
        }

        private static func open(_ path: String) throws -> DatabaseQueue {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            configuration.busyMode = .timeout(10)
            return try DatabaseQueue(path: "\(path)/tarn.sqlite", configuration: configuration)
        }

        private func fill() throws {
            for table in tables {
                for _ in 0..<Self.rowsPerTable { try insert(into: table) }
            }
            try queue.write { db in
                for (key, value) in [
                    ("revocations", 7 as Int64), ("removed.account", 40), ("removed.part", 9), ("epoch.first", 3), ("sealer.current", 2),
                    ("sealer.made.2", 1_000),
                ] { try db.execute(sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [key, value]) }
                for (key, value) in [("history", "86400000 5"), ("removal.40", "keep")] {
                    try db.execute(sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [key, value])
                }
                for key in ["sealer.2", "sealer.identity"] {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", arguments: [key, Data((0..<32).map { $0 })])
                }
            }
        }

        // MARK: Changes

        /// Inserts, changes or deletes rows of any table.
        func change(_ count: Int) throws {
            for _ in 0..<count {
                guard let table = tables.randomElement(using: &random) else { return }
                switch Int.random(in: 0..<3, using: &random) {
                case 0: try insert(into: table)
                case 1: try delete(from: table)
                default: try update(table)
                }
            }
        }

        private func insert(into table: MovedTable) throws {
            let columns = table.columns.filter(\.isInSQLite)
            var values: [DatabaseValue] = []
            for column in columns { values.append(try value(of: column, in: table).databaseValue) }
            if table.name == "assets", let part = Int64.fromDatabaseValue(values[0]) {
                let checksum = try makeFile(part: part)
                values[1] = checksum.databaseValue
            }
            let list = columns.map { "\"\($0.sqlite)\"" }.joined(separator: ", ")
            let places = columns.map { _ in "?" }.joined(separator: ", ")
            let sql = "INSERT OR \(Self.resolution(table)) INTO \(table.name) (\(list)) VALUES (\(places))"
            try queue.write { try $0.execute(sql: sql, arguments: StatementArguments(values)) }
        }

        /// One of the table's rows.
        private func row(of table: MovedTable, _ db: Database) throws -> (condition: String, values: [DatabaseValue])? {
            let key = table.key.map { "\"\(table.columns[$0].sqlite)\"" }
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.name)") ?? 0
            guard count > 0 else { return nil }
            let offset = Int.random(in: 0..<count, using: &random)
            let row = try Row.fetchOne(db, sql: "SELECT \(key.joined(separator: ", ")) FROM \(table.name) LIMIT 1 OFFSET \(offset)")
            guard let row else { return nil }
            return (key.map { "\($0) = ?" }.joined(separator: " AND "), key.indices.map { row[$0] })
        }

        private func delete(from table: MovedTable) throws {
            // Its rows would belong to no partition.
            guard table.name != "partitions" else { return }
            try queue.write { db in
                guard let row = try row(of: table, db) else { return }
                try db.execute(sql: "DELETE FROM \(table.name) WHERE \(row.condition)", arguments: StatementArguments(row.values))
            }
        }

        private func update(_ table: MovedTable) throws {
            let keys = Set(table.key.map { table.columns[$0].name })
            let changeable = table.columns.filter { $0.isInSQLite && !keys.contains($0.name) && !Self.isFixed($0, in: table) }
            guard table.name != "audit", let column = changeable.randomElement(using: &random) else { return }
            let value = try value(of: column, in: table)
            try queue.write { db in
                guard let row = try row(of: table, db) else { return }
                try db.execute(
                    sql: "UPDATE OR \(Self.resolution(table)) \(table.name) SET \"\(column.sqlite)\" = ? WHERE \(row.condition)",
                    arguments: StatementArguments([value.databaseValue] + row.values))
            }
        }

        /// A row that replaces another one by a unique value deletes it without a trigger. The server does so with zones; here, all tables with
        /// the same unique values in both databases do.
        private static func resolution(_ table: MovedTable) -> String {
            ["accounts", "api_tokens", "user_names", "zones"].contains(table.name) ? "REPLACE" : "IGNORE"
        }

        private static func isFixed(_ column: MovedColumn, in table: MovedTable) -> Bool {
            table.name == "partitions" && ["container", "environment", "scope", "owner"].contains(column.name)
        }

        private func value(of column: MovedColumn, in table: MovedTable) throws -> any DatabaseValueConvertible {
            names += 1
            switch (table.name, column.name) {
            // Never the number of another one.
            case ("partitions", "part"): return Int64(names)
            case ("partitions", "container"): return "iCloud.org.example.\(names)"
            case ("partitions", "environment"): return CloudEnvironment.development.rawValue
            case ("partitions", "scope"): return DatabaseScope.private.rawValue
            case (_, "part"): return try existingPart()
            default: break
            }
            switch column.kind {
            case .boolean: return Bool.random(using: &random)
            // Small, so that rows meet under one key.
            case .integer: return Int64.random(in: 0..<40, using: &random) * (Bool.random(using: &random) ? 1 : 1 << 40)
            case .text:
                return "\(["a", "ä", "日", "👩🏽‍🌾", "z' \" \\"].randomElement(using: &random) ?? "")\(Int.random(in: 0..<30, using: &random))"
            case .bytes: return Data((0..<Int.random(in: 0..<60, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
            }
        }

        private func existingPart() throws -> Int64 {
            let parts = try queue.read { try Int64.fetchAll($0, sql: "SELECT part FROM partitions ORDER BY part") }
            return parts.randomElement(using: &random) ?? 1
        }

        private func makeFile(part: Int64) throws -> String {
            let bytes = (0..<50).map { _ in UInt8.random(in: 0...255, using: &random) }
            let checksum = SHA256.hash(data: Data(bytes)).map { String(format: "%02x", $0) }.joined()
            let files = try AssetFolder(path: folder.path)
            try FileManager.default.createDirectory(
                atPath: files.parent(part: part, checksum: checksum), withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(filePath: files.file(part: part, checksum: checksum)))
            return checksum
        }

        // MARK: Comparison

        private static func text(_ value: DatabaseValue) -> String {
            if case .blob(let data) = value.storage { data.base64EncodedString() } else { "\(value)" }
        }

        /// All rows of a data folder as text, with the names of partitions instead of their numbers.
        static func dump(_ path: String) throws -> [String] {
            try open(path).read { db in
                var names: [Int64: String] = [:]
                for row in try Row.fetchAll(db, sql: "SELECT part, container, owner FROM partitions") {
                    names[row[0]] = "\(row[1] as String)/\(row[2] as String)"
                }
                let tables = try String.fetchAll(
                    db,
                    sql: """
                        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'move%' ORDER BY name
                        """)
                var lines: [String] = []
                for table in tables where MovedTables.left[table] == nil {
                    for row in try Row.fetchAll(db, sql: "SELECT * FROM \(table)") {
                        if table == "meta", row["key"] == "move" { continue }
                        let cells = row.map { name, value -> String in
                            // A move to SQLite counts again: see ``tombstonesAreCounted(_:)``.
                            if table == "partitions", name == "tombstones" { return "counted" }
                            return name == "part" ? names[Int64.fromDatabaseValue(value) ?? 0] ?? "none" : text(value)
                        }
                        lines.append("\(table): \(cells.joined(separator: " | "))")
                    }
                }
                lines += try String.fetchAll(db, sql: "SELECT 'last audit: ' || seq FROM sqlite_sequence WHERE name = 'audit'")
                lines += try String.fetchAll(
                    db, sql: "SELECT 'trigger: ' || name FROM sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'move%'")
                return lines.sorted()
            }
        }

        /// Whether each partition has the number of its tombstones.
        static func tombstonesAreCounted(_ path: String) throws -> Bool {
            try open(path).read { db in
                let stored = "SELECT part || ' ' || tombstones FROM partitions ORDER BY part"
                let found = """
                    SELECT p.part || ' ' || (SELECT count(*) FROM records r WHERE r.part = p.part AND r.deleted = 1)
                    FROM partitions p ORDER BY p.part
                    """
                return try String.fetchAll(db, sql: stored) == String.fetchAll(db, sql: found)
            }
        }

        /// Whether the days of the log of changes are those of its rows.
        static func daysAreListed(_ path: String) throws -> Bool {
            try open(path).read { db in
                let days = "SELECT part || ' ' || day FROM change_log_days ORDER BY 1"
                let found = "SELECT DISTINCT part || ' ' || (at / 86400000) FROM change_log ORDER BY 1"
                return try String.fetchAll(db, sql: days) == String.fetchAll(db, sql: found)
            }
        }
    }

    /// The tables of new databases.
    enum MoveTables {
        static func all() throws -> [MovedTable] {
            let folder = TemporaryFolder()
            let sqlite = try SQLiteMoveEnd(path: folder.path, role: .source)
            defer { sqlite.close() }
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            let postgres = try PostgresMoveEnd(address: address, shown: address, assets: folder.path, makesTables: true)
            defer { postgres.close() }
            return try MovedTables.plan(sqlite: try sqlite.shapes(), postgres: try postgres.shapes())
        }
    }
#endif
