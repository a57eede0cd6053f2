// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudStorageSupport
import Foundation

/// A PostgreSQL database as source or destination of a move, with connections of its own: servers may use the database at the same time.
///
/// In contrast to a server's units it has triggers, which need PL/pgSQL, and only while it is a source.
package final class PostgresMoveEnd: MoveEnd {
    static let changesTable = "move_changes"
    private static let partsTable = "move_parts"
    /// Any number, the same for all moves of a database.
    private static let lockNumber: Int64 = 0x7461_726E_6D6F_7665
    private static let lockAttemptsMax = 24
    private static let batches = [64, 16, 4, 1]

    package let address: String
    package let shown: String
    package let files: AssetFolder
    package var isSQLite: Bool { false }
    package var keepsParts: Bool { false }

    private let writer: PostgresConnection
    private let reader: PostgresConnection
    private var isWriting = false
    /// Columns of unique indexes besides the primary keys, by table.
    private var unique: [String: [[String]]] = [:]

    /// - Parameters:
    ///   - shown: The address without a password.
    ///   - assets: The folder of assets of its servers.
    /// - Throws: `StorageFailure` with `.inUse` for a database that another move uses, `.unavailable`, `.newerFormat`; `noData` for a source
    ///   without tables.
    package init(address: String, shown: String, assets: String, makesTables: Bool) throws {
        (self.address, self.shown) = (address, shown)
        files = try AssetFolder(path: assets)
        let primary = try PostgresPrimary(address)
        writer = try primary.connect()
        reader = try primary.connect()
        do {
            for connection in [writer, reader] {
                // A verification reads in one transaction. Locks are retried, so that no server waits long behind one.
                for setting in ["statement_timeout = 0", "idle_in_transaction_session_timeout = 0", "lock_timeout = '2s'"] {
                    _ = try connection.query("SET \(setting)")
                }
                try connection.synchronize()
            }
            let isAlone: Bool? = try writer.value("SELECT pg_try_advisory_lock($1)", [Self.lockNumber])
            try writer.synchronize()
            guard isAlone == true else { throw StorageFailure(.inUse, "another move uses the database") }
            try PostgresFormat.prepare(writer, makesTables: makesTables)
        } catch let error as PostgresError {
            throw error.storageFailure
        }
    }

    package func close() {
        writer.close()
        reader.close()
    }

    // MARK: Transactions

    package func snapshot<Value>(_ body: (any MoveRows) throws -> Value) throws -> Value {
        try Self.translating(reader) {
            try reader.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let value = try body(PostgresMoveRows(reader))
            try reader.commit()
            return value
        }
    }

    private static func translating<Value>(_ connection: PostgresConnection, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as PostgresError {
            connection.recover()
            throw error.storageFailure
        } catch {
            connection.recover()
            throw error
        }
    }

    package func transaction(_ body: () throws -> Void) throws { try locking("SELECT 1", body) }

    /// Other transactions that write end before, and later ones wait.
    package func stopping(_ body: (any MoveRows) throws -> Void) throws {
        try locking("LOCK TABLE \(PostgresFormat.movedNames.joined(separator: ", ")) IN EXCLUSIVE MODE") {
            try body(PostgresMoveRows(writer))
        }
    }

    /// A transaction of a server may wait for a table that this one has, and the other way round, so it is retried.
    private func locking(_ lock: String, _ body: () throws -> Void) throws {
        var attempt = 0
        while true {
            do {
                isWriting = true
                defer { isWriting = false }
                try writer.begin("ISOLATION LEVEL READ COMMITTED")
                _ = try writer.query(lock)
                try body()
                return try writer.commit()
            } catch let error as PostgresError {
                writer.recover()
                attempt += 1
                guard Self.isLock(error), attempt < Self.lockAttemptsMax else { throw error.storageFailure }
            } catch {
                writer.recover()
                throw error
            }
        }
    }

    private static func isLock(_ error: PostgresError) -> Bool { [PostgresError.lockTimeoutState, "40P01"].contains(error.state) }

    // MARK: State

    package func state() throws -> MoveState? {
        if isWriting { return try Self.state(writer) }
        return try Self.translating(reader) {
            let state = try Self.state(reader)
            try reader.synchronize()
            return state
        }
    }

    static func state(_ connection: PostgresConnection) throws -> MoveState? {
        try PostgresMeta(connection).bytes(ServerValue.moveKey).map { try MoveState(stored: $0) }
    }

    package func set(_ state: MoveState?) throws {
        let meta = PostgresMeta(writer)
        if let state { try meta.set(ServerValue.moveKey, to: state.stored()) } else { try meta.remove(ServerValue.moveKey) }
    }

    package func shapes() throws -> [TableShape] {
        try Self.translating(reader) {
            let columns = try reader.query(
                """
                SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
                    coalesce(array_position(i.indkey::smallint[], a.attnum), -1)::bigint
                FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
                WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND c.relname::text = ANY ($1)
                ORDER BY c.relname, a.attnum
                """, .texts(PostgresFormat.names.sorted())
            ).rows
            try reader.synchronize()
            var shapes: [TableShape] = []
            var key: [(place: Int64, name: String)] = []
            for row in columns {
                let (table, name, place) = (row[0] as String, row[1] as String, row[3] as Int64)
                if shapes.last?.name != table {
                    shapes.append(TableShape(name: table, columns: [], key: []))
                    key = []
                }
                shapes[shapes.count - 1].columns.append(.init(name, row[2]))
                if place >= 0 { key.append((place, name)) }
                shapes[shapes.count - 1].key = key.sorted { $0.place < $1.place }.map(\.name)
            }
            return shapes
        }
    }

    // MARK: Source

    package func capture(_ tables: [MovedTable]) throws {
        try writer.send(
            """
            CREATE TABLE IF NOT EXISTS \(Self.changesTable) (
                number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tbl text COLLATE "C" NOT NULL, key text[] NOT NULL)
            """)
        for table in tables { try capture(table.name, table.key.map { table.columns[$0] }) }
        for name in MovedTables.ofServerValues.sorted() { try capture(name, []) }
    }

    private func capture(_ name: String, _ key: [MovedColumn]) throws {
        func note(_ row: String) -> String {
            let values = key.map { $0.kind == .bytes ? "encode(\(row).\($0.name), 'hex')" : "\(row).\($0.name)::text" }
            return "INSERT INTO \(Self.changesTable) (tbl, key) VALUES ('\(name)', ARRAY[\(values.joined(separator: ", "))]::text[]);"
        }
        try writer.send(
            """
            CREATE OR REPLACE FUNCTION move_capture_\(name)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF TG_OP <> 'INSERT' THEN \(note("OLD")) END IF;
                IF TG_OP <> 'DELETE' THEN \(note("NEW")) END IF;
                RETURN NULL;
            END $$
            """)
        try writer.send(
            """
            CREATE TRIGGER move_capture AFTER INSERT OR UPDATE OR DELETE ON \(name) FOR EACH ROW EXECUTE FUNCTION move_capture_\(name)()
            """)
    }

    package func release() throws { try Self.release(writer) }

    /// Makes a restored copy of a source independent of its move.
    static func forget(_ connection: PostgresConnection) throws {
        guard try state(connection) != nil else { return }
        try release(connection)
        try PostgresMeta(connection).remove(ServerValue.moveKey)
    }

    private static func release(_ writer: PostgresConnection) throws {
        for name in PostgresFormat.movedNames {
            try writer.send("DROP TRIGGER IF EXISTS move_capture ON \(name)")
            try writer.send("DROP TRIGGER IF EXISTS move_fence ON \(name)")
            try writer.send("DROP FUNCTION IF EXISTS move_capture_\(name)()")
        }
        try writer.send("DROP FUNCTION IF EXISTS move_fence()")
        try writer.send("DROP TABLE IF EXISTS \(changesTable)")
    }

    /// Data leaves this database for one that keeps its numbers.
    package func storeObjectParts(areNew: Bool) {}

    package func forget(_ numbers: [Int64]) throws {
        try transaction {
            try writer.send(
                "DELETE FROM \(Self.changesTable) WHERE number = ANY ($1::text[]::bigint[])", .texts(numbers.map(String.init)))
        }
    }

    /// The triggers of ``capture(_:)`` stay, since readers hold up their removal. None of them runs behind the fence.
    package func fence(_ tables: [MovedTable]) throws {
        try writer.send(
            """
            CREATE FUNCTION move_fence() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION '\(MoveState.fenceMessage)' USING ERRCODE = '\(PostgresError.movedState)';
            END $$
            """)
        for name in PostgresFormat.movedNames {
            try writer.send(
                """
                CREATE TRIGGER move_fence BEFORE INSERT OR UPDATE OR DELETE ON \(name) FOR EACH STATEMENT EXECUTE FUNCTION move_fence()
                """)
        }
    }

    // MARK: Destination

    package func isInUse() throws -> Bool {
        try Self.translating(reader) {
            let isInUse: Bool? = try reader.value("SELECT EXISTS (SELECT 1 FROM partitions) OR EXISTS (SELECT 1 FROM accounts)")
            try reader.synchronize()
            return isInUse ?? false
        }
    }

    package func empty(_ tables: [MovedTable]) throws -> [String] {
        try release()
        for name in PostgresFormat.movedNames where name != "meta" { try writer.send("TRUNCATE \(name)") }
        try writer.send("DELETE FROM meta WHERE key <> ALL ($1)", .texts([ServerValue.formatKey, ServerValue.formatTimeKey]))
        try writer.send("DROP TABLE IF EXISTS \(Self.partsTable)")
        try writer.send("CREATE TABLE \(Self.partsTable) (source bigint NOT NULL PRIMARY KEY, part bigint NOT NULL UNIQUE)")
        return []
    }

    package func parts() throws -> [Int64: Int64] {
        try Self.translating(reader) {
            let rows = try reader.query("SELECT source, part FROM \(Self.partsTable)").rows
            try reader.synchronize()
            return Dictionary(rows.map { ($0[0] as Int64, $0[1] as Int64) }, uniquingKeysWith: { first, _ in first })
        }
    }

    package func addPart(of partition: Partition, number: Int64) throws -> Int64 {
        var key = PartitionKey(partition)
        // Two partitions have one hash: the second one has the next candidate.
        while let other: Int64 = try writer.value("SELECT source FROM \(Self.partsTable) WHERE part = $1", [key.part]), other != number {
            key = key.next(partition)
        }
        try writer.send(
            "INSERT INTO \(Self.partsTable) (source, part) VALUES ($1, $2) ON CONFLICT (source) DO NOTHING", [number, key.part])
        return key.part
    }

    package func existingPart(of partition: Partition) throws -> Int64? {
        try Self.translating(reader) {
            var key = PartitionKey(partition)
            while let row = try reader.query(PartitionRows.read, [key.part]).rows.first {
                try reader.synchronize()
                if PartitionRows.isRow(row, of: partition) { return key.part }
                key = key.next(partition)
            }
            try reader.synchronize()
            return nil
        }
    }

    package func replace(_ table: MovedTable, keys: [[MovedValue]], with rows: [[MovedValue]]) throws {
        let condition = table.key.enumerated().map { "\(table.columns[$1].name) = $\($0 + 1)" }.joined(separator: " AND ")
        for key in keys {
            let values = zip(table.key, key).map { $1.postgres(table.columns[$0].kind) }
            try writer.send("DELETE FROM \(table.name) WHERE \(condition)", PostgresValues(values))
        }
        for columns in try uniqueColumns(of: table) {
            let condition = columns.enumerated().map { "\(table.columns[$1].name) = $\($0 + 1)" }.joined(separator: " AND ")
            for row in rows {
                let values = columns.map { row[$0].postgres(table.columns[$0].kind) }
                guard !values.contains(.null) else { continue }
                try writer.send("DELETE FROM \(table.name) WHERE \(condition)", PostgresValues(values))
            }
        }
        var rest = rows[...]
        while !rest.isEmpty {
            guard let count = Self.batches.first(where: { $0 <= rest.count }) else { break }
            try insert(rest.prefix(count), into: table)
            rest = rest.dropFirst(count)
        }
    }

    private func insert(_ rows: ArraySlice<[MovedValue]>, into table: MovedTable) throws {
        let constants = table.constants.sorted { $0.key < $1.key }
        let names = table.columns.map(\.name) + constants.map(\.key)
        let width = table.columns.count
        // Types are named, since the first row of a statement may have a null where a later one has a value.
        let places = (0..<rows.count).map { row in
            let values = table.columns.indices.map { "$\(row * width + $0 + 1)::\(table.columns[$0].kind.postgresType)" }
            return "(" + (values + constants.map { "\($0.value)" }).joined(separator: ", ") + ")"
        }
        let values = rows.flatMap { row in zip(table.columns, row).map { $1.postgres($0.kind) } }
        try writer.send(
            "INSERT INTO \(table.name) (\(names.joined(separator: ", "))) VALUES \(places.joined(separator: ", "))", PostgresValues(values))
    }

    private func uniqueColumns(of table: MovedTable) throws -> [[Int]] {
        if unique.isEmpty {
            for row in try writer.query(
                """
                SELECT c.relname::text, string_agg(a.attname::text, ' ' ORDER BY array_position(i.indkey::smallint[], a.attnum))
                FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey::smallint[])
                WHERE i.indisunique AND NOT i.indisprimary AND c.relnamespace = current_schema()::regnamespace
                GROUP BY c.relname, i.indexrelid
                """
            ).rows {
                unique[row[0], default: []].append((row[1] as String).split(separator: " ").map(String.init))
            }
        }
        return (unique[table.name] ?? []).map { names in names.compactMap { name in table.columns.firstIndex { $0.name == name } } }
    }

    package func set(_ values: [String: MovedValue]) throws {
        try writer.send("DELETE FROM meta WHERE key <> ALL ($1)", .texts(ServerValue.local))
        try writer.send("DELETE FROM counters WHERE name = ANY ($1)", .texts(PostgresMoveRows.counters.map(\.counter)))
        let meta = PostgresMeta(writer)
        for (key, value) in values {
            if let counter = PostgresMoveRows.counters.first(where: { $0.key == key })?.counter {
                guard case .integer(let number) = value else { continue }
                try writer.send("INSERT INTO counters (name, value) VALUES ($1, $2)", [counter, number])
                continue
            }
            switch value {
            case .integer(let number): try meta.set(key, to: number)
            case .text(let text): try meta.set(key, to: Array(text.utf8))
            case .bytes(let bytes): try meta.set(key, to: bytes)
            case .null: break
            }
        }
    }

    package func finish(_ triggers: [String]) throws { try writer.send("DROP TABLE IF EXISTS \(Self.partsTable)") }
}

extension MovedColumn.Kind {
    fileprivate var postgresType: String {
        switch self {
        case .integer: "bigint"
        case .boolean: "boolean"
        case .text: "text"
        case .bytes: "bytea"
        }
    }
}

extension PostgresFormat {
    /// Tables that a move reads and fences.
    static let movedNames = names.filter { MovedTables.left[$0] == nil }.sorted()
}

extension MovedValue {
    func postgres(_ kind: MovedColumn.Kind) -> PostgresValue {
        switch (self, kind) {
        case (.null, _): .null
        case (.integer(let number), .boolean): .boolean(number != 0)
        case (.integer(let number), _): .integer(number)
        case (.text(let text), _): .text(text)
        case (.bytes(let bytes), _): .bytes(bytes)
        }
    }
}
