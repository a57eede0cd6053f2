// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The changes of an app with a model with extensions.
extension Workload {
    /// Few names, so that devices create the same topics.
    private static let names = ["a", "b", "c", "d"]

    mutating func changeExtended(_ context: NSManagedObjectContext) throws {
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: try insertTopic(context)
        case 2: try nameTopic(try any("Topic", context), context)
        case 3: try any("Topic", context)?.setValue(label("color"), forKey: "color")
        case 4, 5: if let topic = try any("Topic", context) { try any("Post", context)?.setValue(topic, forKey: "topic") }
        case 6: try toggleTopic(try any("Post", context), try any("Topic", context))
        case 7: shuffleOne("topics", of: try any("Post", context))
        case 8, 9, 10: try insertComment(context)
        case 11, 12: shuffleOne("comments", of: try any("Post", context))
        case 13: if let post = try any("Post", context) { try any("Comment", context)?.setValue(post, forKey: "post") }
        case 14: try any("Comment", context)?.setValue(text("text"), forKey: "text")
        default:
            guard let object = try any(deletesTopics && random.percent(50) ? "Topic" : "Comment", context) else { return }
            context.delete(object)
        }
    }

    private mutating func insertTopic(_ context: NSManagedObjectContext) throws {
        guard let name = try freeName(context) else { return }
        let topic = insert("Topic", context)
        topic.setValue(name, forKey: "name")
        if random.percent(50) { topic.setValue(label("color"), forKey: "color") }
        try connect(topic, "mainPosts", try guestsPost(context), context)
    }

    private mutating func nameTopic(_ topic: NSManagedObject?, _ context: NSManagedObjectContext) throws {
        if let topic, let name = try freeName(context) { topic.setValue(name, forKey: "name") }
    }

    /// A name that no local topic has, as a careful app would choose.
    private mutating func freeName(_ context: NSManagedObjectContext) throws -> String? {
        let taken = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Topic")).filter { !$0.isDeleted }
            .compactMap { $0.value(forKey: "name") as? String }
        return Self.names.filter { !taken.contains($0) }.randomElement(using: &random)
    }

    private mutating func toggleTopic(_ post: NSManagedObject?, _ topic: NSManagedObject?) throws {
        guard let post, let topic else { return }
        var topics = Picture.members(post.value(forKey: "topics"))
        if let index = topics.firstIndex(of: topic) {
            topics.remove(at: index)
        } else {
            topics.insert(topic, at: Int.random(in: 0...topics.count, using: &random))
        }
        post.setValue(NSOrderedSet(array: topics), forKey: "topics")
    }

    private mutating func insertComment(_ context: NSManagedObjectContext) throws {
        guard let post = try any("Post", context) else { return }
        let comment = insert("Comment", context)
        comment.setValue(text("text"), forKey: "text")
        var comments = Picture.members(post.value(forKey: "comments"))
        comments.insert(comment, at: Int.random(in: 0...comments.count, using: &random))
        post.setValue(NSOrderedSet(array: comments), forKey: "comments")
    }

    /// Moves one member of a list.
    private mutating func shuffleOne(_ key: String, of object: NSManagedObject?) {
        guard let object else { return }
        var members = Picture.members(object.value(forKey: key))
        guard members.count > 1 else { return }
        let member = members.remove(at: Int.random(in: members.indices, using: &random))
        members.insert(member, at: Int.random(in: 0...members.count, using: &random))
        object.setValue(NSOrderedSet(array: members), forKey: key)
    }
}
