// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB
import GRDBSQLite

/// L10: one row per transaction.
enum Committing {
    static func works(_ posts: Posts) -> [Work] {
        [work(posts, "L10", "NORMAL", 1000), work(posts, "L10F", "FULL", 500)]
    }

    private static func work(_ posts: Posts, _ id: String, _ synchronous: String, _ count: Int) -> Work {
        Work(
            id: id, title: "save one new row, synchronous \(synchronous)", unit: .microseconds,
            entrants: [
                sqlite(posts, count, synchronous), tarn(posts, count, Stack.Options(synchronous: synchronous)),
                grdbRecord(posts, count, synchronous),
            ])
    }

    private static func sqlite(_ posts: Posts, _ count: Int, _ synchronous: String) -> Entrant {
        Entrant(Entrant.sqlite) {
            let file = try posts.emptyTable()
            let connection = try SQLiteConnection(file, synchronous: synchronous)
            return Trial(conditions: try WritingConditions(connection)) {
                try connection.withStatement(PostTable.insertion) { statement in
                    try steps(posts, count) { row in
                        try connection.transaction { try PostTable.insert(row, statement, connection) }
                    }
                }
            } finish: {
                connection.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func tarn(_ posts: Posts, _ count: Int, _ options: Stack.Options) -> Entrant {
        Entrant(Entrant.tarn) {
            let file = posts.scratch.newFile()
            let stack = try Stack(file, options)
            let context = stack.newContext()
            return Trial(conditions: try WritingConditions(stack)) {
                try context.performAndWait {
                    try steps(posts, count) { row in
                        Post.insert(row, into: context)
                        try context.save()
                    }
                }
            } finish: {
                try stack.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func grdbRecord(_ posts: Posts, _ count: Int, _ synchronous: String) -> Entrant {
        Entrant(Entrant.grdbRecord) {
            let file = try posts.emptyTable()
            let pool = try DatabasePool(path: file.path)
            // A pool sets NORMAL after it has prepared its connections.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
            return Trial(conditions: try WritingConditions(pool)) {
                try steps(posts, count) { row in
                    let record = PostRecord(row)
                    try pool.write { try record.insert($0) }
                }
            } finish: {
                try pool.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func steps(_ posts: Posts, _ count: Int, _ step: (PostRow) throws -> Void) rethrows -> Outcome {
        let clock = ContinuousClock()
        var samples: [Duration] = []
        samples.reserveCapacity(count)
        for row in posts.rows.prefix(count) { samples.append(try clock.measure { try step(row) }) }
        return Outcome(check: samples.count, samples: samples)
    }
}
