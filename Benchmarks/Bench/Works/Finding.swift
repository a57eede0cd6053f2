// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import GRDB

/// L5 to L7: rows that a predicate or an order picks, without an index.
enum Finding {
    static func works(_ posts: Posts) -> [Work] {
        let filter = "WHERE ztimestamp >= \(filterTimestamp)"
        let top = "ORDER BY ztimestamp DESC LIMIT 50"
        return [
            Work(
                id: "L5", title: "fetch the tenth that a predicate picks of \(posts.rows.count)", repeats: 3,
                entrants: [
                    Reading.sqlite(posts) { try PostTable.all($0, capacity: posts.rows.count / 10, where: filter) },
                    Reading.tarn(posts) { try $0.fetch(filtered()) },
                    Reading.grdb(posts, Entrant.grdbClass) { try PostObject.fetchAll($0, sql: "SELECT * FROM zpost \(filter)") },
                ]),
            Work(
                id: "L6", title: "count the matches of a predicate in \(posts.rows.count)", repeats: 3,
                entrants: [
                    Reading.sqlite(posts, reading: { $0 }) { [try PostTable.count($0)] },
                    Reading.tarn(posts, reading: { $0 }) { [try $0.count(for: filtered())] },
                    Reading.grdb(posts, Entrant.grdbClass, reading: { $0 }) {
                        [try Int.fetchOne($0, sql: "SELECT count(*) FROM zpost \(filter)") ?? -1]
                    },
                ]),
            Work(
                id: "L7", title: "fetch the newest 50 of \(posts.rows.count)", repeats: 3,
                entrants: [
                    Reading.sqlite(posts) { try PostTable.all($0, capacity: 50, where: top) },
                    Reading.tarn(posts) { try $0.fetch(newest()) },
                    Reading.grdb(posts, Entrant.grdbClass) { try PostObject.fetchAll($0, sql: "SELECT * FROM zpost \(top)") },
                ]),
        ]
    }

    private static func filtered() -> NSFetchRequest<Post> {
        let request = Post.all()
        let date = NSDate(timeIntervalSinceReferenceDate: filterTimestamp)
        request.predicate = NSPredicate(format: "timestamp >= %@", date)
        return request
    }

    private static func newest() -> NSFetchRequest<Post> {
        let request = Post.all()
        request.sortDescriptors = [NSSortDescriptor(key: "timestamp", ascending: false)]
        request.fetchLimit = 50
        return request
    }
}
