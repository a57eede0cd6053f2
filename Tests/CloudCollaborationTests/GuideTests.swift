// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudCollaboration
import CoreData
import Foundation
import Testing

/// Stores a text that a user edited: contributes the difference. Save the context as usual.
func setText(_ typed: String, of post: NSManagedObject, by deviceName: String) -> String {
    let text = ContributedText(of: post, "contents", by: deviceName)
    text.string = typed
    return text.string
}

/// Adds an item to a list.
func addItem(_ item: String, at index: Int, of post: NSManagedObject, by deviceName: String) -> [String] {
    let list = ContributedList(of: post, "contents", by: deviceName)
    list.insert(item, at: index)
    return list.values
}

/// The code of Documentation/Collaboration.md.
@Suite struct GuideTests {
    private func post() throws -> (NSManagedObjectContext, NSManagedObject) {
        let (post, content) = (NSEntityDescription(), NSEntityDescription())
        (post.name, content.name) = ("Post", "PostContent")
        content.properties = [
            ContributedTextTests.attribute("text", .stringAttributeType), ContributedTextTests.attribute("author", .stringAttributeType),
            ContributedTextTests.attribute("clock", .integer64AttributeType),
            ContributedTextTests.attribute("offset", .integer64AttributeType),
            ContributedTextTests.attribute("count", .integer64AttributeType),
        ]
        ContributedTextTests.pair((post, "contents", 0), (content, "post", 1))
        ContributedTextTests.pair((content, "children", 0), (content, "parent", 1))
        let model = NSManagedObjectModel()
        model.entities = [post, content]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        _ = try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        return (context, context.performAndWait { NSEntityDescription.insertNewObject(forEntityName: "Post", into: context) })
    }

    @Test func twoAuthorsEditAText() throws {
        let (context, post) = try post()
        context.performAndWait {
            _ = setText("Hello world", of: post, by: "phone")
            #expect(setText("Hello, big world", of: post, by: "tablet") == "Hello, big world")
        }
    }

    @Test func anItemIsAddedToAList() throws {
        let (context, post) = try post()
        context.performAndWait {
            _ = addItem("Dinner", at: 0, of: post, by: "phone")
            #expect(addItem("Lunch", at: 0, of: post, by: "tablet") == ["Lunch", "Dinner"])
        }
    }
}
