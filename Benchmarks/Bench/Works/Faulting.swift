// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CMalloc
import CoreData
import Foundation
import GRDBSQLite

/// R3: faults, with nothing but their identity until a property is read.
enum Faulting {
    static func works(_ posts: Posts) -> [Work] {
        let count = min(10_000, posts.rows.count)
        return [
            Work(
                id: "R3a", title: "fire \(count) faults one by one",
                entrants: [
                    sqlite(posts) { try PostTable.lookUp((1...Int64(count)).map { $0 }, $0) },
                    tarn(posts, count) { faults, _ in faults.reduce(0) { $0 &+ $1.readEverything() } },
                ]),
            Work(
                id: "R3b", title: "fire \(count) faults in one batch",
                entrants: [
                    sqlite(posts) { connection in
                        let keys = (1...count).map(String.init).joined(separator: ",")
                        let condition = "WHERE z_pk IN (SELECT value FROM json_each('[\(keys)]'))"
                        let values = try PostTable.all(connection, capacity: count, where: condition)
                        return values.reduce(0) { $0 &+ $1.readEverything() }
                    },
                    tarn(posts, count) { faults, context in
                        let request = Post.all()
                        request.predicate = NSPredicate(format: "SELF IN %@", NSArray(array: faults))
                        request.returnsObjectsAsFaults = false
                        _ = try context.fetch(request)
                        return faults.reduce(0) { $0 &+ $1.readEverything() }
                    },
                ]),
            bytes("R3c", "bytes of an object with its values", posts) { request in request.returnsObjectsAsFaults = false },
            bytes("R3d", "bytes of a fault", posts) { request in request.includesPropertyValues = false },
        ]
    }

    private static func sqlite(_ posts: Posts, _ read: @escaping (SQLiteConnection) throws -> Int) -> Entrant {
        Entrant(Entrant.sqlite) {
            let connection = try posts.sharedConnection()
            return Trial { Outcome(check: try read(connection)) }
        }
    }

    private static func tarn(
        _ posts: Posts, _ count: Int, _ fire: @escaping ([Post], NSManagedObjectContext) throws -> Int
    ) -> Entrant {
        Entrant(Entrant.tarn) {
            let context = try posts.sharedStack().newContext()
            let request = Post.all()
            request.includesPropertyValues = false
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            request.fetchLimit = count
            let faults = try context.performAndWait { try context.fetch(request) }
            return Trial { try context.performAndWait { Outcome(check: try fire(faults, context)) } }
        }
    }

    private static func bytes(
        _ id: String, _ title: String, _ posts: Posts, _ configure: @escaping (NSFetchRequest<Post>) -> Void
    ) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let context = try posts.sharedStack().newContext()
            let request = Post.all()
            configure(request)
            return Trial {
                try context.performAndWait {
                    let before = bytesInUse()
                    let all = try context.fetch(request)
                    return Outcome(check: all.count, measured: Double(bytesInUse() - before) / Double(all.count), results: all)
                }
            }
        }
        return Work(id: id, title: title, unit: .own("bytes"), roundsMax: 1, entrants: [tarn])
    }

    /// Of the heap of the thread that started the program, on which all of this runs.
    private static func bytesInUse() -> Int {
        let usage = mallinfo2()
        return Int(usage.uordblks + usage.hblkhd)
    }
}
