// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import Testing

/// Pairs of tables, as values.
@Suite struct MovedTablesTests {
    private static let sqlite = [
        TableShape(name: "partitions", columns: [.init("part", "integer"), .init("owner", "text")], key: ["part"]),
        TableShape(
            name: "news", columns: [.init("part", "integer"), .init("user", "text"), .init("gone", "integer"), .init("body", "blob")],
            key: ["part", "user"]),
        TableShape(name: "meta", columns: [.init("key", "text"), .init("value", "blob")], key: ["key"]),
    ]
    private static let postgres = [
        TableShape(
            name: "news", columns: [.init("part", "bigint"), .init("user_name", "text"), .init("gone", "boolean"), .init("body", "bytea")],
            key: ["part", "user_name"]),
        TableShape(
            name: "partitions", columns: [.init("part", "bigint"), .init("owner", "text"), .init("due", "bigint")], key: ["part"]),
        TableShape(name: "counters", columns: [.init("name", "text"), .init("value", "bigint")], key: ["name"]),
    ]

    @Test func tablesArePairedByNamesWithPartitionsFirst() throws {
        let tables = try MovedTables.plan(sqlite: Self.sqlite, postgres: Self.postgres)
        #expect(tables.map(\.name) == ["partitions", "news"])
        #expect(tables[0].constants == ["due": 0])
        #expect(tables[1].columns.map(\.sqlite) == ["part", "user", "gone", "body"])
        #expect(tables[1].columns.map(\.kind) == [.integer, .text, .boolean, .bytes])
        #expect(tables[1].key == [0, 1])
        #expect(tables[1].part == 0)
    }

    @Test func aTableOfOneDatabaseIsRejected() {
        let extra = TableShape(name: "likes", columns: [.init("part", "integer")], key: ["part"])
        #expect(throws: StorageFailure.self) { try MovedTables.plan(sqlite: Self.sqlite + [extra], postgres: Self.postgres) }
        #expect(throws: StorageFailure.self) { try MovedTables.plan(sqlite: Self.sqlite, postgres: Self.postgres + [extra]) }
    }

    @Test func aColumnOfOneDatabaseIsRejectedUnlessARuleNamesIt() {
        var (sqlite, postgres) = (Self.sqlite, Self.postgres)
        sqlite[1].columns.append(.init("at", "integer"))
        #expect(throws: StorageFailure.self) { try MovedTables.plan(sqlite: sqlite, postgres: postgres) }
        postgres[0].columns.append(.init("at", "bigint"))
        #expect(throws: Never.self) { try MovedTables.plan(sqlite: sqlite, postgres: postgres) }
        postgres[0].columns.append(.init("reason", "text"))
        #expect(throws: StorageFailure.self) { try MovedTables.plan(sqlite: sqlite, postgres: postgres) }
    }

    @Test(arguments: ["double precision", "bytea", "text"])
    func aTypeThatTheOtherDatabaseCannotHoldIsRejected(_ type: String) {
        var postgres = Self.postgres
        postgres[0].columns[2].type = type
        #expect(throws: StorageFailure.self) { try MovedTables.plan(sqlite: Self.sqlite, postgres: postgres) }
    }

    /// Two forms of one accent are two keys of a table.
    @Test func valuesAreEqualByTheirBytes() {
        let forms = Set([MovedValue.text("\u{E9}"), .text("e\u{301}"), .text("\u{E9}"), .bytes([0xC3, 0xA9]), .null])
        #expect(forms.count == 4)
    }

    @Test func anUnknownServerValueIsRejected() throws {
        #expect(try ServerValue.form(of: "sealer") == .bytes)
        #expect(try ServerValue.form(of: "sealer.12") == .bytes)
        #expect(try ServerValue.form(of: "sealer.made.12") == .number)
        #expect(try ServerValue.form(of: "removal.7") == .text)
        for key in ["sealer.x", "sealer.made.", "removal.", "likes"] {
            #expect(throws: StorageFailure.self) { try ServerValue.form(of: key) }
        }
    }

    @Test func aDigestDependsOnRowsAndNotOnTheirOrder() throws {
        let table = try MovedTables.plan(sqlite: Self.sqlite, postgres: Self.postgres)[1]
        func digest(_ rows: [[MovedValue]]) -> RowDigest { rows.reduce(into: RowDigest()) { $0.add($1, of: table) } }
        let rows: [[MovedValue]] = [
            [.integer(1), .text("ab"), .integer(0), .bytes([1])], [.integer(2), .text("a"), .integer(1), .null],
        ]
        #expect(digest(rows) == digest(rows.reversed()))
        #expect(digest(rows) != digest([rows[0]]))
        #expect(digest([[.integer(1), .text("a"), .integer(0), .bytes([1])]]) != digest([rows[0]]))
        // The same bytes, cut elsewhere.
        #expect(digest([[.text("a"), .text("bc"), .null, .null]]) != digest([[.text("ab"), .text("c"), .null, .null]]))
    }
}
