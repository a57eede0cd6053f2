// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Dispatch
import Foundation

/// The actions of a user on posts. Each change is saved immediately; the container sends it to the other devices.
@MainActor final class PostLibrary {
    private let device: PostsDevice
    private let feed: PostFeed
    private var context: NSManagedObjectContext { device.container.viewContext }

    init(_ device: PostsDevice, _ feed: PostFeed) {
        self.device = device
        self.feed = feed
    }

    // MARK: Posts

    func addPost(title: String, content: String) throws -> PostSaved {
        let post = makePost(title: title, content: content)
        let savedAt = try save()
        return PostSaved(post: PostMessage(post), savedAt: savedAt)
    }

    /// Makes many posts in one save, to see an export go. They share a tag with the same name as they have.
    func addSamples(count: Int, title: String) throws -> SamplesSaved {
        let sameName: NSFetchRequest<Tag> = Tag.fetchRequest()
        sameName.predicate = NSPredicate(format: "name == %@", title)
        sameName.fetchLimit = 1
        let tag = try context.fetch(sameName).first ?? makeTag(name: title, color: "#7a5ba6")
        for number in 1...max(1, count) {
            makePost(title: "\(title) \(number)", content: "Post \(number) of \(count), made in one save.").addToTags(tag)
        }
        return SamplesSaved(savedAt: try save())
    }

    func changePost(_ id: String, _ input: PostInput) throws -> PostSaved {
        let post = try object(Post.self, id)
        if let title = input.title { post.heading = title }
        if let subtitle = input.subtitle { post.subtitle = subtitle }
        if let content = input.content { post.write(content) }
        let savedAt = try save()
        return PostSaved(post: PostMessage(post), savedAt: savedAt)
    }

    /// Deletes all of them permanently, in one save. Objects that another device deleted concurrently are skipped.
    func delete(posts: [String] = [], tags: [String] = []) throws {
        for id in posts { (try? object(Post.self, id)).map(context.delete) }
        for id in tags { (try? object(Tag.self, id)).map(context.delete) }
        try save()
    }

    /// Moves posts to the trash, until they are restored or the trash is emptied. Deleted posts are skipped.
    ///
    /// A flag travels where a deletion does not: devices do not hear that a record of the public database is gone, but they
    /// do hear that one changed.
    ///
    /// Source: *Sync a Core Data store with the CloudKit public database*, WWDC 2020.
    func moveToTrash(posts: [String]) throws {
        for id in posts { (try? object(Post.self, id))?.isTrashed = true }
        try save()
    }

    /// - Throws: ``PostMissing`` if the trash was emptied concurrently. Nothing is restored then.
    func restore(posts: [String]) throws {
        for post in try posts.map({ try object(Post.self, $0) }) { post.isTrashed = false }
        try save()
    }

    /// Deletes the posts in the trash permanently, but for those that this user may not delete.
    func emptyTrash() throws {
        let trashed: NSFetchRequest<Post> = Post.fetchRequest()
        trashed.predicate = NSPredicate(format: "isTrashed == YES")
        for post in try context.fetch(trashed) where device.canDelete(post) { context.delete(post) }
        try save()
    }

    private func makePost(title: String, content: String) -> Post {
        let post = Post(context: context)
        post.heading = title
        post.write(content)
        post.date = Date()
        return post
    }

    // MARK: Tags

    func addTag(name: String, color: String) throws -> TagMessage {
        let tag = makeTag(name: name, color: color)
        try save()
        return TagMessage(tag)
    }

    private func makeTag(name: String, color: String) -> Tag {
        let tag = Tag(context: context)
        tag.uuid = UUID()
        tag.name = name
        tag.color = color
        return tag
    }

    func changeTag(_ id: String, name: String?, color: String?) throws -> TagMessage {
        let tag = try object(Tag.self, id)
        if let name { tag.name = name }
        if let color { tag.color = color }
        try save()
        return TagMessage(tag)
    }

    func setTag(_ tagID: String, of postID: String, isOn: Bool) throws {
        let post = try object(Post.self, postID)
        let tag = try object(Tag.self, tagID)
        if isOn { post.addToTags(try tagInStore(of: post, like: tag)) } else { post.removeFromTags(tag) }
        try save()
    }

    /// Relationships stay in one store: a post that another user shares has tags of its own.
    private func tagInStore(of post: Post, like tag: Tag) throws -> Tag {
        guard let store = post.objectID.persistentStore, tag.objectID.persistentStore !== store else { return tag }
        let sameName: NSFetchRequest<Tag> = Tag.fetchRequest()
        sameName.predicate = NSPredicate(format: "name == %@", tag.name ?? "")
        sameName.affectedStores = [store]
        if let present = try context.fetch(sameName).first { return present }
        let copy = makeTag(name: tag.name ?? "", color: tag.color ?? "")
        context.assign(copy, to: store)
        return copy
    }

    // MARK: Pictures

    /// The picture itself is an object of its own, so that lists of posts need not read it.
    func attach(_ picture: Data, thumbnail: Data?, name: String, to postID: String) throws -> AttachmentMessage {
        let post = try object(Post.self, postID)
        let image = ImageData(context: context)
        image.data = picture
        let attachment = Attachment(context: context)
        if let store = post.objectID.persistentStore {
            for object in [image, attachment] { context.assign(object, to: store) }
        }
        attachment.uuid = UUID()
        attachment.name = name
        attachment.thumbnail = thumbnail
        attachment.imageData = image
        attachment.post = post
        try save()
        return AttachmentMessage(attachment)
    }

    func picture(of id: String) throws -> Data? { try object(Attachment.self, id).imageData?.data }

    func thumbnail(of id: String) throws -> Data? { try object(Attachment.self, id).thumbnail }

    func deleteAttachment(_ id: String) throws {
        context.delete(try object(Attachment.self, id))
        try save()
    }

    // MARK: Sync

    /// Syncs immediately, not after the delay of the next retry.
    func syncSoon() {
        Task { [device] in
            // A failure is in the status, and sync retries by itself.
            try? await device.sync(timeout: .seconds(30))
        }
    }

    // MARK: Saving

    /// - Returns: When the save returned, by the machine's steady clock, in nanoseconds.
    /// - Throws: The save's error. The changes are rolled back, so that the next change starts from the stored state.
    @discardableResult func save() throws -> UInt64 {
        let began = TraceMessage.now
        do {
            try context.save()
        } catch {
            context.rollback()
            throw error
        }
        feed.trace(TraceMessage(kind: .save, began: began, ended: TraceMessage.now))
        return DispatchTime.now().uptimeNanoseconds
    }

    /// - Throws: ``PostMissing`` if the object is not there, or was deleted on another device.
    func object<Kind: NSManagedObject>(_ kind: Kind.Type, _ id: String) throws -> Kind {
        guard let objectID = device.container.persistentStoreCoordinator.objectID(Kind.self, id),
            let object = try? context.existingObject(with: objectID) as? Kind
        else { throw PostMissing() }
        return object
    }
}

/// An object is not there any more.
struct PostMissing: Error {}

extension NSManagedObject {
    /// A letter for the store, and the number of the object's URI, such as `p12`: enough to find it again when the entity is known.
    var shortID: String {
        let letter = PostsStack.Store(objectID.persistentStore)?.letter ?? PostsStack.Store.own.letter
        return "\(letter)\(objectID.uriRepresentation().lastPathComponent.dropFirst())"
    }
}

extension NSPersistentStoreCoordinator {
    func objectID(_ kind: NSManagedObject.Type, _ shortID: String) -> NSManagedObjectID? {
        guard let number = UInt32(shortID.dropFirst()),
            let store = persistentStores.first(where: { PostsStack.Store($0)?.letter == shortID.first })?.identifier,
            let url = URL(string: "x-coredata://\(store)/\(kind)/p\(number)")
        else { return nil }
        return managedObjectID(forURIRepresentation: url)
    }
}
