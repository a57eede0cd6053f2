// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import SystemSupport

/// The changes of an app in one save: up to three, determined by the seed and by the visible state of the device.
struct Workload {
    var random: SeededNumbers
    /// Lengths of values.
    private var lengths: SeededNumbers
    private let prefix: String
    private let hasAssets: Bool
    private let isExtended: Bool
    private let changesModel: Bool
    private let savesMany: Bool
    /// Whether topics are deleted in the run. Otherwise no object loses its topic.
    let deletesTopics: Bool
    private let role: Role
    /// Prefixes of the labels that the user of a device with the public database may change.
    private let ownPrefixes: Set<Character>
    /// Whether deletions reach all devices.
    private let deletes: Bool
    private let deletesAsReader: Bool
    /// Number of groups of unrelated objects, each with its own share.
    private let groups: Int
    private var group = 0
    private var made = 0

    init(_ random: SeededNumbers, prefix: String, _ features: Set<Feature>, _ role: Role, ownPrefixes: Set<Character>, seed: UInt64) {
        self.random = random
        var other = random
        lengths = SeededNumbers(seed: ~other.next())
        self.prefix = prefix
        self.role = role
        self.ownPrefixes = ownPrefixes
        hasAssets = features.contains(.assets)
        deletes = !features.contains(.publicQueries)
        deletesAsReader = features.contains(.rejections)
        isExtended = features.contains(.extensions)
        changesModel = features.contains(.modelChanges)
        groups = features.contains(.severalShares) ? Sharing.groups : 1
        savesMany = features.contains(.wholeSaves) && role != .guest && role != .reader
        var extra = SeededNumbers(seed: ~seed &+ 5)
        deletesTopics = extra.percent(50)
    }

    mutating func change(_ context: NSManagedObjectContext) throws {
        if savesMany, random.percent(40) { return try changeMany(context) }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            try changeOne(context)
            // The objects of a guest stay connected with shared ones.
            if isGuest, !context.insertedObjects.isEmpty { return }
        }
    }

    /// Creates, changes and links more objects than one change page has records.
    private mutating func changeMany(_ context: NSManagedObjectContext) throws {
        let tag = insert("Tag", context)
        tag.setValue(label("name"), forKey: "name")
        for _ in 0..<Int.random(in: 2...5, using: &random) {
            let post = insert("Post", context)
            post.setValue(text("title"), forKey: "title")
            if random.percent(60) { post.set(Set([tag]), "tags") }
        }
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            try own("Post", context)?.set(label("content"), "content")
            try own("Tag", context)?.setValue(label("name"), forKey: "name")
        }
    }

    mutating func label(_ kind: String) -> String {
        made += 1
        return "\(kind)-\(prefix)\(made)\(groups > 1 ? Sharing.suffix(ofGroup: group) : "")"
    }

    /// A unique value, in some runs a long one.
    mutating func text(_ kind: String) -> String {
        let label = label(kind)
        guard hasAssets, lengths.percent(40) else { return label }
        return String(repeating: label + " ", count: Int.random(in: 20...400, using: &lengths))
    }

    /// Whether the user of the device may change an object.
    private var isOwn: (NSManagedObject) -> Bool {
        guard role == .citizen else { return { _ in true } }
        return { [ownPrefixes] object in Picture.label(object).split(separator: "-").last?.first.map(ownPrefixes.contains) ?? false }
    }

    private var isGuest: Bool { role == .guest }

    private mutating func own(_ entity: String, _ context: NSManagedObjectContext) throws -> NSManagedObject? {
        try any(entity, context, where: isOwn)
    }

    mutating func any(
        _ entity: String, _ context: NSManagedObjectContext, where isWanted: (NSManagedObject) -> Bool = { _ in true }
    ) throws -> NSManagedObject? {
        let draw = random.next()
        let objects = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: context.name(ofEntity: entity))).filter {
            !$0.isDeleted && (groups == 1 || Sharing.group(of: Picture.label($0)) == group) && isWanted($0)
        }
        if objects.isEmpty { return nil }
        return objects.sorted { Picture.label($0) < Picture.label($1) }[Int(draw % UInt64(objects.count))]
    }

    mutating func insert(_ entity: String, _ context: NSManagedObjectContext) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: context.name(ofEntity: entity), into: context)
        object.setValue(label(entity), forKey: "label")
        return object
    }

    private mutating func changeOne(_ context: NSManagedObjectContext) throws {
        if groups > 1 { group = Int.random(in: 0..<groups, using: &random) }
        // The server rejects the changes of a participant with read-only access.
        if deletesAsReader, role == .reader, random.percent(30), let object = try any(random.percent(50) ? "Post" : "Tag", context) {
            return context.delete(object)
        }
        if role == .reader { return try any("Post", context)?.set(text("content"), "content") ?? () }
        if isExtended, random.percent(60) { return try changeExtended(context) }
        if changesModel, random.percent(30) { return try changeTranslated(context) }
        switch Int.random(in: 0..<24, using: &random) {
        case 0, 1, 2: try insertPost(context)
        case 3, 4: try insertTag(context)
        case 5, 6: try insertAttachment(context)
        case 7, 8, 9: try own("Post", context)?.setValue(text("title"), forKey: "title")
        case 10, 11: try own("Post", context)?.set(text("content"), "content")
        case 12:
            made += 1
            try own("Post", context)?.setValue(Int64(Fingerprint("\(prefix)\(made)".utf8).value >> 2), forKey: "stars")
        case 13: try own("Tag", context)?.setValue(label("name"), forKey: "name")
        case 14, 15: try toggle("tags", try own("Post", context), try any("Tag", context))
        case 16: try toggle("related", try own("Post", context), try own("Post", context))
        case 17: try own("Attachment", context)?.setValue(try any("Post", context), forKey: "post")
        case 18:
            let tag = try own("Tag", context), parent = try any("Tag", context)
            if tag !== parent { tag?.setValue(random.percent(30) ? nil : parent, forKey: "parent") }
        case 19: if let post = try own("Post", context), mayDelete(post) { context.delete(post) }
        case 20: if let tag = try own("Tag", context), mayDelete(tag) { context.delete(tag) }
        case 21: if let attachment = try own("Attachment", context), mayDelete(attachment) { context.delete(attachment) }
        case 22: try own("Attachment", context)?.set(text("caption"), "caption")
        default: try changeNewer(context)
        }
    }

    /// An object that only another user may change is not deleted by cascade, and its links stay.
    private func mayDelete(_ object: NSManagedObject) -> Bool {
        guard role == .citizen else { return true }
        guard deletes, object.entity.firstName != "Tag" else { return false }
        guard object.entity.name == "Post" else { return true }
        return (object.value(forKey: "attachments") as? Set<NSManagedObject>)?.allSatisfy(isOwn) ?? true
    }

    private mutating func insertPost(_ context: NSManagedObjectContext) throws {
        let post = insert("Post", context)
        post.setValue(text("title"), forKey: "title")
        if random.percent(50), let tag = try any("Tag", context) { post.set(Set([tag]), "tags") }
        try connect(post, "related", try guestsPost(context, besides: post), context)
    }

    private mutating func insertTag(_ context: NSManagedObjectContext) throws {
        let tag = insert("Tag", context)
        tag.setValue(label("name"), forKey: "name")
        try connect(tag, "posts", try guestsPost(context), context)
    }

    private mutating func insertAttachment(_ context: NSManagedObjectContext) throws {
        let attachment = insert("Attachment", context)
        attachment.setValue(try any("Post", context), forKey: "post")
        if random.percent(60) {
            let image = insert("Image", context)
            image.setValue(Data(text("data").utf8), forKey: "data")
            attachment.setValue(image, forKey: "image")
        }
        if isGuest, attachment.value(forKey: "post") == nil {
            if let image = attachment.value(forKey: "image") as? NSManagedObject { context.delete(image) }
            context.delete(attachment)
        }
    }

    /// An object of a guest belongs to a shared object, since otherwise it would be in no share.
    mutating func guestsPost(_ context: NSManagedObjectContext, besides new: NSManagedObject? = nil) throws -> NSManagedObject? {
        guard isGuest else { return nil }
        return try any("Post", context) { $0 !== new && !$0.isInserted }
    }

    func connect(_ object: NSManagedObject, _ key: String, _ other: NSManagedObject?, _ context: NSManagedObjectContext) throws {
        guard isGuest else { return }
        guard let other else { return context.delete(object) }
        object.setValue(Set([other]), forKey: key)
    }

    private mutating func changeNewer(_ context: NSManagedObjectContext) throws {
        let draw = random.percent(50)
        guard context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Place"] != nil else { return }
        let post = try own("Post", context)
        if draw {
            post?.setValue(label("mood"), forKey: "mood")
        } else {
            if post == nil, isGuest { return }
            let place = insert("Place", context)
            place.setValue(label("name"), forKey: "name")
            post?.setValue(place, forKey: "place")
        }
    }

    /// Sets attributes that both versions have under other names, or with other types. A device with the first version replaces both names.
    private mutating func changeTranslated(_ context: NSManagedObjectContext) throws {
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1, 2:
            let post = try own("Post", context), names = ModelChanges.names.map { label($0) }
            let draw = Int.random(in: 0..<3, using: &random)
            guard let post else { return }
            guard post.entity.attributesByName[ModelChanges.names[0]] != nil else {
                return post.setValue(names.joined(separator: " "), forKey: ModelChanges.author)
            }
            let isNew = post.value(forKey: ModelChanges.names[0]) == nil
            for (index, name) in ModelChanges.names.enumerated() where isNew || draw != index { post.setValue(names[index], forKey: name) }
        case 3:
            made += 1
            let number = Int64(Fingerprint("\(prefix)\(made)".utf8).value >> 2)
            guard let post = try own("Post", context) else { return }
            if post.entity.attributesByName[ModelChanges.score] != nil {
                post.setValue(number, forKey: ModelChanges.score)
            } else {
                post.setValue(String(number), forKey: ModelChanges.rating)
            }
        default:
            made += 1
            try own("Tag", context)?.setValue(smallNumber, forKey: ModelChanges.weight)
        }
    }

    /// A number that no other device and no earlier edit of this one has: a value that is set again looks like one that went back. The first
    /// letters of the devices' names differ modulo 5.
    private var smallNumber: Int16 { Int16(Int(prefix.utf8.first ?? 0) % 5 * 6_000 + made % 6_000) }

    private func toggle(_ key: String, _ object: NSManagedObject?, _ other: NSManagedObject?) throws {
        guard let object, let other, let key = object.key(key), var linked = object.value(forKey: key) as? Set<NSManagedObject> else {
            return
        }
        if linked.remove(other) == nil { linked.insert(other) } else if !deletes { return }
        object.setValue(linked, forKey: key)
    }
}
