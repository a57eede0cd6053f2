// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB

/// L2 to L4: everything, the keys of everything, one after the other.
enum Reading {
    static func works(_ posts: Posts) -> [Work] {
        let count = posts.rows.count
        return [
            Work(
                id: "L2", title: "fetch all \(count) rows", repeats: 3,
                entrants: [
                    sqlite(posts) { try PostTable.all($0, capacity: count) },
                    tarn(posts) { try $0.fetch(Post.all()) },
                    grdb(posts, Entrant.grdbClass) { try PostObject.fetchAll($0, sql: "SELECT * FROM zpost") },
                    grdb(posts, Entrant.grdbRecord) { try PostRecord.fetchAll($0) },
                ]),
            Work(
                id: "L2R", title: "fetch all \(count) rows and read every attribute", repeats: 3,
                entrants: [
                    sqlite(posts, reading: { $0.readEverything() }) { try PostTable.all($0, capacity: count) },
                    tarn(posts, reading: { $0.readEverything() }) { try $0.fetch(Post.all()) },
                    grdb(posts, Entrant.grdbClass, reading: { $0.readEverything() }) {
                        try PostObject.fetchAll($0, sql: "SELECT * FROM zpost")
                    },
                    grdb(posts, Entrant.grdbRecord, reading: { $0.readEverything() }) { try PostRecord.fetchAll($0) },
                ]),
            Work(
                id: "L3", title: "fetch \(count) keys", repeats: 3,
                entrants: [
                    sqlite(posts) { try PostTable.keys($0, capacity: count) },
                    tarn(posts) { context in
                        let request = NSFetchRequest<NSManagedObjectID>(entityName: "Post")
                        request.resultType = .managedObjectIDResultType
                        return try context.fetch(request)
                    },
                    grdb(posts, Entrant.grdbClass) { try Int64.fetchAll($0, sql: "SELECT z_pk FROM zpost") },
                ]),
        ]
    }

    // Fetched rows are counted, or read by a closure.

    static func sqlite<Value>(
        _ posts: Posts, reading: ((Value) -> Int)? = nil, _ fetch: @escaping (SQLiteConnection) throws -> [Value]
    ) -> Entrant {
        Entrant(Entrant.sqlite) {
            let connection = try posts.sharedConnection()
            return Trial { outcome(try fetch(connection), reading) }
        }
    }

    static func tarn<Value>(
        _ posts: Posts, reading: ((Value) -> Int)? = nil, _ fetch: @escaping (NSManagedObjectContext) throws -> [Value]
    ) -> Entrant {
        Entrant(Entrant.tarn) {
            let context = try posts.sharedStack().newContext()
            return Trial { try context.performAndWait { outcome(try fetch(context), reading) } }
        }
    }

    static func grdb<Value>(
        _ posts: Posts, _ name: String, reading: ((Value) -> Int)? = nil, _ fetch: @escaping (Database) throws -> [Value]
    ) -> Entrant {
        Entrant(name) {
            let pool = try posts.sharedPool()
            return Trial { try pool.unsafeRead { outcome(try fetch($0), reading) } }
        }
    }

    private static func outcome<Value>(_ values: [Value], _ reading: ((Value) -> Int)?) -> Outcome {
        guard let reading else { return Outcome(check: values.count, results: values) }
        var sum = 0
        for value in values { sum &+= reading(value) }
        return Outcome(check: sum, results: values)
    }
}
