// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB

/// L8 and L9: every tenth row gets a new title, every tenth row is deleted; each with a check for concurrent changes.
///
/// Objects are fetched before the clock starts, as the others know their keys.
enum Changing {
    static func works(_ posts: Posts) -> [Work] {
        let updates = posts.rows.filter(\.isUpdated).map { (key: $0.primaryKey, title: PostRow.title(Int($0.primaryKey), prefix: "Edit ")) }
        let deletions = posts.rows.filter(\.isDeleted).map(\.primaryKey)
        return [
            Work(
                id: "L8", title: "give \(updates.count) of \(posts.rows.count) rows a new title and save",
                entrants: [
                    sqlite(posts) { try PostTable.update(updates, $0) },
                    tarn(posts, updates.map(\.key)) { objects, _ in
                        for (object, update) in zip(objects, updates) { object.title = update.title }
                    },
                    grdb(posts) { database in
                        let statement = try database.cachedStatement(sql: PostTable.update)
                        var count = 0
                        for update in updates {
                            try statement.execute(arguments: [update.title, update.key, 1])
                            count += database.changesCount
                        }
                        return count
                    },
                ]),
            Work(
                id: "L9", title: "delete \(deletions.count) of \(posts.rows.count) rows and save",
                entrants: [
                    sqlite(posts) { try PostTable.delete(deletions, $0) },
                    tarn(posts, deletions) { objects, context in
                        for object in objects { context.delete(object) }
                    },
                    grdb(posts) { database in
                        let statement = try database.cachedStatement(sql: PostTable.deletion)
                        var count = 0
                        for key in deletions {
                            try statement.execute(arguments: [key, 1])
                            count += database.changesCount
                        }
                        return count
                    },
                ]),
        ]
    }

    private static func sqlite(_ posts: Posts, _ change: @escaping (SQLiteConnection) throws -> Int) -> Entrant {
        Entrant(Entrant.sqlite) {
            let file = try posts.tableCopy()
            let connection = try SQLiteConnection(file)
            return Trial(conditions: try WritingConditions(connection)) {
                Outcome(check: try change(connection))
            } finish: {
                connection.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func grdb(_ posts: Posts, _ change: @escaping (Database) throws -> Int) -> Entrant {
        Entrant("GRDB statement") {
            let file = try posts.tableCopy()
            let pool = try DatabasePool(path: file.path)
            return Trial(conditions: try WritingConditions(pool)) {
                Outcome(check: try pool.write { try change($0) })
            } finish: {
                try pool.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func tarn(
        _ posts: Posts, _ keys: [Int64], _ change: @escaping ([Post], NSManagedObjectContext) -> Void
    ) -> Entrant {
        Entrant(Entrant.tarn) {
            let file = try posts.storeCopy()
            let stack = try Stack(file)
            let context = stack.newContext()
            let request = Post.all()
            request.returnsObjectsAsFaults = false
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            let objects = try context.performAndWait {
                let all = try context.fetch(request)
                return keys.map { all[Int($0) - 1] }
            }
            return Trial(conditions: try WritingConditions(stack)) {
                try context.performAndWait {
                    change(objects, context)
                    let count = context.updatedObjects.count + context.deletedObjects.count
                    try context.save()
                    return Outcome(check: count)
                }
            } finish: {
                try stack.close()
                try posts.scratch.remove(file)
            }
        }
    }
}
