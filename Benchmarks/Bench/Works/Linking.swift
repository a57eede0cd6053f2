// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// R1 and R2: posts and their tags, many to many.
enum Linking {
    static func works(_ posts: Posts) -> [Work] {
        let plan = TagPlan(posts: posts.rows.count)
        let made = Made(posts, plan)
        return [
            Work(
                id: "R1", title: "insert \(posts.rows.count) posts with 10 of 1000 tags each and save", roundsMax: 3,
                entrants: [insertingSQLite(posts, plan), insertingTarn(posts, plan)]),
            Work(
                id: "R2", title: "fetch \(posts.rows.count) posts, tags prefetched, and read every tag's name", roundsMax: 3,
                entrants: [readingSQLite(made), readingTarn(made)]),
        ]
    }

    // MARK: R1

    private static func insertingSQLite(_ posts: Posts, _ plan: TagPlan) -> Entrant {
        Entrant(Entrant.sqlite) {
            let file = posts.scratch.newFile()
            let connection = try SQLiteConnection(file)
            try LinkTable.create(in: connection)
            return Trial(conditions: try WritingConditions(connection, .taggedPosts)) {
                try LinkTable.insert(posts.rows, plan, into: connection)
                return Outcome(check: posts.rows.count)
            } finish: {
                connection.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func insertingTarn(_ posts: Posts, _ plan: TagPlan) -> Entrant {
        Entrant(Entrant.tarn) {
            let file = posts.scratch.newFile()
            let stack = try Stack(file)
            let context = stack.newContext()
            return Trial(conditions: try WritingConditions(stack, .taggedPosts)) {
                try context.performAndWait { try insert(posts, plan, into: context) }
                return Outcome(check: posts.rows.count)
            } finish: {
                try stack.close()
                try posts.scratch.remove(file)
            }
        }
    }

    private static func insert(_ posts: Posts, _ plan: TagPlan, into context: NSManagedObjectContext) throws {
        let tags = plan.names.map { name in
            let tag = Tag(context: context)
            tag.name = name
            return tag
        }
        for (index, row) in posts.rows.enumerated() {
            let post = TaggedPost(context: context)
            post.title = row.title
            post.content = row.content
            post.timestamp = Date(timeIntervalSinceReferenceDate: row.timestamp)
            post.uuid = row.uuid
            for tag in plan.tags(ofPost: index) { post.addToTags(tags[tag]) }
        }
        try context.save()
    }

    // MARK: R2

    /// Files for reading, made on first use.
    private final class Made {
        let posts: Posts
        let plan: TagPlan
        private var stack: Stack?
        private var connection: SQLiteConnection?

        init(_ posts: Posts, _ plan: TagPlan) {
            self.posts = posts
            self.plan = plan
        }

        func sharedStack() throws -> Stack {
            if let stack { return stack }
            let opened = try Stack(posts.scratch.newFile())
            let context = opened.newContext()
            try context.performAndWait { try insert(posts, plan, into: context) }
            stack = opened
            return opened
        }

        func sharedConnection() throws -> SQLiteConnection {
            if let connection { return connection }
            let opened = try SQLiteConnection(posts.scratch.newFile())
            try LinkTable.create(in: opened)
            try LinkTable.insert(posts.rows, plan, into: opened)
            connection = opened
            return opened
        }
    }

    private static func readingSQLite(_ made: Made) -> Entrant {
        Entrant(Entrant.sqlite) {
            let connection = try made.sharedConnection()
            return Trial {
                let all = try LinkTable.all(connection, capacity: made.posts.rows.count)
                var sum = 0
                for post in all.posts {
                    for tag in post.tags { sum &+= all.names[Int(tag)].utf8.count }
                }
                return Outcome(check: sum, results: all)
            }
        }
    }

    private static func readingTarn(_ made: Made) -> Entrant {
        Entrant(Entrant.tarn) {
            let context = try made.sharedStack().newContext()
            let request = NSFetchRequest<TaggedPost>(entityName: "TaggedPost")
            request.relationshipKeyPathsForPrefetching = ["tags"]
            return Trial {
                try context.performAndWait {
                    let all = try context.fetch(request)
                    var sum = 0
                    for post in all {
                        for case let tag as Tag in post.tags ?? NSSet() { sum &+= tag.name?.utf8.count ?? 0 }
                    }
                    return Outcome(check: sum, results: all)
                }
            }
        }
    }
}
