// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite

/// Posts, tags and the pairs of them through SQLite's C API, with the indexes that Core Data's layout has.
enum LinkTable {
    static let schema = [
        "CREATE TABLE ztag(z_pk INTEGER PRIMARY KEY, z_ent INTEGER, z_opt INTEGER, zname VARCHAR)",
        "CREATE TABLE zlink(zpost INTEGER, ztag INTEGER, PRIMARY KEY (zpost, ztag))",
        "CREATE INDEX zlink_ztag ON zlink(ztag, zpost)",
    ]

    static func create(in connection: SQLiteConnection) throws {
        try PostTable.create(in: connection)
        for statement in schema { try connection.execute(statement) }
    }

    static func insert(_ rows: [PostRow], _ tags: TagPlan, into connection: SQLiteConnection) throws {
        try connection.transaction {
            try connection.withStatement("INSERT INTO ztag VALUES(?, 2, 1, ?)") { statement in
                for (index, name) in tags.names.enumerated() {
                    sqlite3_bind_int64(statement, 1, Int64(index + 1))
                    try bind(name, 2, statement) { try connection.run(statement) }
                }
            }
            try connection.withStatement(PostTable.insertion) { statement in
                for row in rows { try PostTable.insert(row, statement, connection) }
            }
            try connection.withStatement("INSERT INTO zlink VALUES(?, ?)") { statement in
                for (index, row) in rows.enumerated() {
                    sqlite3_bind_int64(statement, 1, row.primaryKey)
                    for tag in tags.tags(ofPost: index) {
                        sqlite3_bind_int64(statement, 2, Int64(tag + 1))
                        try connection.run(statement)
                    }
                }
            }
        }
    }

    struct TaggedValue {
        let value: PostTable.Value
        var tags: [Int32] = []
    }

    /// Every post with the places of its tags, and the tags' names.
    static func all(_ connection: SQLiteConnection, capacity: Int) throws -> (posts: [TaggedValue], names: [String]) {
        var posts = try PostTable.all(connection, capacity: capacity).map { TaggedValue(value: $0) }
        var names: [String] = []
        try connection.withStatement("SELECT zname FROM ztag ORDER BY z_pk") { statement in
            while sqlite3_step(statement) == SQLITE_ROW { names.append(columnText(statement, 0)) }
        }
        try connection.withStatement("SELECT zpost, ztag FROM zlink ORDER BY zpost") { statement in
            while sqlite3_step(statement) == SQLITE_ROW {
                posts[Int(sqlite3_column_int64(statement, 0)) - 1].tags.append(Int32(sqlite3_column_int64(statement, 1)) - 1)
            }
        }
        return (posts, names)
    }
}

/// Which tags a post has: 10 of 1,000.
struct TagPlan {
    let names = (0..<1000).map { "Tag \($0)" }
    private let starts: [Int]

    init(posts: Int) {
        var random = SplitMix64(seed: 44)
        starts = (0..<posts).map { _ in Int(random.next() % 1000) }
    }

    /// All different, because 97 and 1,000 share no factor.
    func tags(ofPost index: Int) -> some Sequence<Int> { (0..<10).lazy.map { (starts[index] + $0 * 97) % 1000 } }
}
