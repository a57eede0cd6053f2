// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB

/// L4: one row after the other, by its key, in random order; every column is read.
enum LookingUp {
    static func works(_ posts: Posts) -> [Work] {
        var random = SplitMix64(seed: 43)
        let count = posts.rows.count
        let order = (0..<count).map { _ in Int(random.next() % UInt64(count)) }
        return [
            Work(
                id: "L4", title: "look \(count) rows up by key, one by one",
                entrants: [sqlite(posts, order), tarn(posts, order), grdbRecord(posts, order)]),
            Work(
                id: "L4R", title: "look up an object that the context has", unit: .nanoseconds(each: count), repeats: 3,
                entrants: [registered(posts, order)]),
            Work(
                id: "L4H", title: "look up one of 1000 objects that the context has met lately", unit: .nanoseconds(each: count),
                repeats: 3,
                entrants: [registered(posts, order.map { $0 % 1000 })]),
        ]
    }

    private static func sqlite(_ posts: Posts, _ order: [Int]) -> Entrant {
        Entrant(Entrant.sqlite) {
            let connection = try posts.sharedConnection()
            let keys = order.map { Int64($0 + 1) }
            return Trial { Outcome(check: try PostTable.lookUp(keys, connection)) }
        }
    }

    private static func grdbRecord(_ posts: Posts, _ order: [Int]) -> Entrant {
        Entrant(Entrant.grdbRecord) {
            let pool = try posts.sharedPool()
            return Trial {
                var sum = 0
                try pool.read { database in
                    for index in order { sum &+= try PostRecord.fetchOne(database, key: Int64(index + 1))?.readEverything() ?? 0 }
                }
                return Outcome(check: sum)
            }
        }
    }

    /// In a context that has met none of the objects, and keeps none of them.
    private static func tarn(_ posts: Posts, _ order: [Int]) -> Entrant {
        Entrant(Entrant.tarn) {
            let ids = try keys(posts)
            let context = try posts.sharedStack().newContext()
            return Trial {
                try context.performAndWait {
                    var sum = 0
                    for index in order {
                        sum &+= (try context.existingObject(with: ids[index]) as? Post)?.readEverything() ?? 0
                    }
                    return Outcome(check: sum)
                }
            }
        }
    }

    private static func registered(_ posts: Posts, _ order: [Int]) -> Entrant {
        Entrant(Entrant.tarn) {
            let context = try posts.sharedStack().newContext()
            let request = Post.all()
            request.returnsObjectsAsFaults = false
            let objects = try context.performAndWait { try context.fetch(request) }
            let ids = context.performAndWait { objects.map(\.objectID) }
            // The objects are retained, but not read: only their lookup is compared.
            let places = objects.map(ObjectIdentifier.init)
            return Trial {
                try context.performAndWait {
                    var count = 0
                    for index in order where ObjectIdentifier(try context.existingObject(with: ids[index])) == places[index] { count += 1 }
                    return Outcome(check: count, results: objects)
                }
            }
        }
    }

    /// IDs of all rows in the order of their keys.
    private static func keys(_ posts: Posts) throws -> [NSManagedObjectID] {
        let context = try posts.sharedStack().newContext()
        let request = NSFetchRequest<NSManagedObjectID>(entityName: "Post")
        request.resultType = .managedObjectIDResultType
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        return try context.performAndWait { try context.fetch(request) }
    }
}
