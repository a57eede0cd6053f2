// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// What an app does in one save: up to three changes, decided by the seed and by what the device shows.
struct Workload {
    private var random: SeededNumbers
    private let prefix: String
    private var made = 0

    init(_ random: SeededNumbers, prefix: String) {
        self.random = random
        self.prefix = prefix
    }

    mutating func change(_ context: NSManagedObjectContext) throws {
        for _ in 0..<Int.random(in: 1...3, using: &random) { try changeOne(context) }
    }

    private mutating func label(_ kind: String) -> String {
        made += 1
        return "\(kind)-\(prefix)\(made)"
    }

    private mutating func any(_ entity: String, _ context: NSManagedObjectContext) throws -> NSManagedObject? {
        let draw = random.next()
        let objects = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)).filter { !$0.isDeleted }
        if objects.isEmpty { return nil }
        return objects.sorted { Picture.label($0) < Picture.label($1) }[Int(draw % UInt64(objects.count))]
    }

    private mutating func insert(_ entity: String, _ context: NSManagedObjectContext) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        object.setValue(label(entity), forKey: "label")
        return object
    }

    private mutating func changeOne(_ context: NSManagedObjectContext) throws {
        switch Int.random(in: 0..<24, using: &random) {
        case 0, 1, 2:
            let post = insert("Post", context)
            post.setValue(label("title"), forKey: "title")
            if random.percent(50), let tag = try any("Tag", context) { post.setValue(Set([tag]), forKey: "tags") }
        case 3, 4: insert("Tag", context).setValue(label("name"), forKey: "name")
        case 5, 6:
            let attachment = insert("Attachment", context)
            attachment.setValue(try any("Post", context), forKey: "post")
            if random.percent(60) {
                let image = insert("Image", context)
                image.setValue(Data(label("data").utf8), forKey: "data")
                attachment.setValue(image, forKey: "image")
            }
        case 7, 8, 9: try any("Post", context)?.setValue(label("title"), forKey: "title")
        case 10, 11: try any("Post", context)?.setValue(label("content"), forKey: "content")
        case 12:
            made += 1
            try any("Post", context)?.setValue(Int64(Trace.fnv("\(prefix)\(made)".utf8) >> 2), forKey: "stars")
        case 13: try any("Tag", context)?.setValue(label("name"), forKey: "name")
        case 14, 15: try toggle("tags", try any("Post", context), try any("Tag", context))
        case 16: try toggle("related", try any("Post", context), try any("Post", context))
        case 17: try any("Attachment", context)?.setValue(try any("Post", context), forKey: "post")
        case 18:
            let tag = try any("Tag", context), parent = try any("Tag", context)
            if tag !== parent { tag?.setValue(random.percent(30) ? nil : parent, forKey: "parent") }
        case 19: if let post = try any("Post", context) { context.delete(post) }
        case 20: if let tag = try any("Tag", context) { context.delete(tag) }
        case 21: if let attachment = try any("Attachment", context) { context.delete(attachment) }
        case 22: try any("Attachment", context)?.setValue(label("caption"), forKey: "caption")
        default: try changeNewer(context)
        }
    }

    private mutating func changeNewer(_ context: NSManagedObjectContext) throws {
        let draw = random.percent(50)
        guard context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Place"] != nil else { return }
        let post = try any("Post", context)
        if draw {
            post?.setValue(label("mood"), forKey: "mood")
        } else {
            let place = insert("Place", context)
            place.setValue(label("name"), forKey: "name")
            post?.setValue(place, forKey: "place")
        }
    }

    private func toggle(_ key: String, _ object: NSManagedObject?, _ other: NSManagedObject?) throws {
        guard let object, let other, var linked = object.value(forKey: key) as? Set<NSManagedObject> else { return }
        if linked.remove(other) == nil { linked.insert(other) }
        object.setValue(linked, forKey: key)
    }
}
