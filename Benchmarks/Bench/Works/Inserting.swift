// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB
import GRDBSQLite

/// L1: all rows, one transaction, into an empty file.
enum Inserting {
    static let withHistory = "Tarn, history"
    static let inBatch = "Tarn, batch request"

    static func work(_ posts: Posts) -> Work {
        Work(
            id: "L1", title: "insert \(posts.rows.count) rows and save",
            entrants: [
                sqlite(posts), tarn(posts), tarn(posts, Stack.Options(tracksHistory: true), named: withHistory), batch(posts),
                grdbRecord(posts),
            ])
    }

    static func tarn(_ posts: Posts, _ options: Stack.Options = Stack.Options(), named name: String = Entrant.tarn) -> Entrant {
        Entrant(name) {
            let file = posts.scratch.newFile()
            let stack = try Stack(file, options)
            let context = stack.newContext()
            return Trial(conditions: try WritingConditions(stack)) {
                try context.performAndWait {
                    for row in posts.rows { Post.insert(row, into: context) }
                    try context.save()
                }
                return Outcome(check: posts.rows.count)
            } finish: {
                try stack.close()
                try posts.scratch.remove(file)
            }
        }
    }

    /// One request, no objects: the same object is filled again and again.
    private static func batch(_ posts: Posts) -> Entrant {
        Entrant(inBatch) {
            let file = posts.scratch.newFile()
            let stack = try Stack(file)
            let context = stack.newContext()
            return Trial(conditions: try WritingConditions(stack)) {
                var index = 0
                let request = NSBatchInsertRequest(entityName: "Post") { (object: NSManagedObject) in
                    guard let post = object as? Post, index < posts.rows.count else { return true }
                    post.fill(posts.rows[index])
                    index += 1
                    return false
                }
                request.resultType = .count
                let result = try context.performAndWait { try context.execute(request) as? NSBatchInsertResult }
                return Outcome(check: result?.result as? Int ?? -1)
            } finish: {
                try stack.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func sqlite(_ posts: Posts) -> Entrant {
        Entrant(Entrant.sqlite) {
            let file = try posts.emptyTable()
            let connection = try SQLiteConnection(file)
            return Trial(conditions: try WritingConditions(connection)) {
                try PostTable.insert(posts.rows, into: connection)
                return Outcome(check: posts.rows.count)
            } finish: {
                connection.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func grdbRecord(_ posts: Posts) -> Entrant {
        Entrant(Entrant.grdbRecord) {
            let file = try posts.emptyTable()
            let pool = try DatabasePool(path: file.path)
            let records = posts.rows.map(PostRecord.init)
            return Trial(conditions: try WritingConditions(pool)) {
                try pool.write { database in
                    for record in records { try record.insert(database) }
                }
                return Outcome(check: records.count)
            } finish: {
                try pool.close()
                try posts.scratch.remove(file)
            }
        }
    }
}
