// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Dispatch
import Foundation

/// The visible posts, kept up to date by fetched results controllers, and sent to every open page.
///
/// Nothing is asked for repeatedly: an import is merged into the view context, the controllers notice, and the
/// difference goes to the pages.
@MainActor final class PostFeed {
    let device: String
    private let version: AppVersion
    private let introduction: String?
    private let hasCloudParts: Bool
    private let posts: NSFetchedResultsController<Post>
    private let trash: NSFetchedResultsController<Post>
    private let tags: NSFetchedResultsController<Tag>
    private let attachments: NSFetchedResultsController<Attachment>
    private let contents: NSFetchedResultsController<PostContent>
    private let pages = EventHub()

    private var shownPosts: [String: PostMessage] = [:]
    private var shownTrash: [String: PostMessage] = [:]
    private var shownTags: [String: TagMessage] = [:]
    private var sync = SyncMessage.starting
    private var network: NetworkMessage
    private var latency: LatencyMessage?
    private var conflicts: [ConflictMessage] = []
    private var shares: [String] = []
    private var board: [NoticeMessage] = []
    private var lensReport: String?

    /// Objects that changed since the last event.
    private var touched = Touched()
    private var isTellingPlanned = false

    private struct Touched {
        var posts: Set<Post> = []
        var tags: Set<Tag> = []
        /// Posts that an import changed.
        var elsewhere: Set<String> = []
        /// When the first new post stood in the fetched results, by the machine's steady clock.
        var appearedAt: UInt64?
        var latency: LatencyMessage?
    }

    /// - Throws: The error of a fetch.
    init(_ device: PostsDevice, name: String, network: NetworkMessage) throws {
        self.device = name
        self.network = network
        version = device.version
        introduction = device.introduction
        hasCloudParts = if case .cloud = device { true } else { false }
        let newestFirst: NSFetchRequest<Post> = Post.fetchRequest()
        // Posts that a device moved to the trash are hidden on all of them.
        newestFirst.predicate = NSPredicate(format: "isTrashed != YES")
        newestFirst.sortDescriptors = [NSSortDescriptor(key: version.dateKey, ascending: false)]
        let trashed: NSFetchRequest<Post> = Post.fetchRequest()
        trashed.predicate = NSPredicate(format: "isTrashed == YES")
        trashed.sortDescriptors = newestFirst.sortDescriptors
        let tagsByName: NSFetchRequest<Tag> = Tag.fetchRequest()
        tagsByName.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let attachmentsByName: NSFetchRequest<Attachment> = Attachment.fetchRequest()
        attachmentsByName.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let context = device.container.viewContext
        posts = NSFetchedResultsController(
            fetchRequest: newestFirst, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        trash = NSFetchedResultsController(
            fetchRequest: trashed, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        tags = NSFetchedResultsController(
            fetchRequest: tagsByName, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        attachments = NSFetchedResultsController(
            fetchRequest: attachmentsByName, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        let contentsByClock: NSFetchRequest<PostContent> = PostContent.fetchRequest()
        contentsByClock.sortDescriptors = [NSSortDescriptor(key: "clock", ascending: true)]
        contents = NSFetchedResultsController(
            fetchRequest: contentsByClock, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        posts.delegate = self
        trash.delegate = self
        tags.delegate = self
        attachments.delegate = self
        contents.delegate = self
        try fetch()
    }

    private func fetch() throws {
        try posts.performFetch()
        try trash.performFetch()
        try tags.performFetch()
        try attachments.performFetch()
        try contents.performFetch()
        shownPosts = [:]
        shownTrash = [:]
        shownTags = [:]
        for post in posts.fetchedObjects ?? [] { shownPosts[post.shortID] = PostMessage(post) }
        for post in trash.fetchedObjects ?? [] { shownTrash[post.shortID] = PostMessage(post) }
        for tag in tags.fetchedObjects ?? [] { shownTags[tag.shortID] = TagMessage(tag) }
    }

    /// Shows the contents of a store that replaced the former one.
    ///
    /// - Throws: The error of a fetch.
    func reload() throws {
        touched = Touched()
        try fetch()
        pages.send(Event(.state, state))
    }

    private var state: StateMessage {
        StateMessage(
            device: device, posts: Array(shownPosts.values), trash: Array(shownTrash.values), tags: Array(shownTags.values), sync: sync,
            network: network, latency: latency, conflicts: conflicts, shares: shares, board: board, introduction: introduction,
            lens: lensReport, hasCloudParts: hasCloudParts)
    }

    /// Everything as it is now, then each change.
    func subscribe() -> AsyncStream<String> { pages.subscribe(startingWith: Event(.state, state)) }

    func show(_ sync: SyncMessage) {
        guard sync != self.sync else { return }
        self.sync = sync
        pages.send(Event(.sync, sync))
    }

    func show(_ network: NetworkMessage) {
        self.network = network
        pages.send(Event(.network, network))
    }

    func show(_ conflicts: [ConflictMessage]) {
        guard conflicts != self.conflicts else { return }
        self.conflicts = conflicts
        pages.send(Event(.conflicts, conflicts))
    }

    /// - Parameter shares: The identifiers of the posts that several users have.
    func show(shares: [String]) {
        guard shares != self.shares else { return }
        self.shares = shares
        pages.send(Event(.shares, shares))
    }

    func show(board: [NoticeMessage]) {
        guard board != self.board else { return }
        self.board = board
        pages.send(Event(.board, board))
    }

    /// The posts that are shown, trash included.
    var visiblePosts: [Post] { (posts.fetchedObjects ?? []) + (trash.fetchedObjects ?? []) }

    /// Reports a step of sync to the pages that are open.
    func trace(_ message: TraceMessage) { pages.send(Event(.trace, message)) }

    /// Lets connections of pages that are gone end.
    func beat() { pages.send(.beat) }

    // MARK: From fetched results to pages

    /// One message for all that changes in one turn of the main queue: an import touches posts, tags and pictures.
    private func planTelling() {
        guard !isTellingPlanned else { return }
        isTellingPlanned = true
        DispatchQueue.main.async { MainActor.assumeIsolated { self.tell() } }
    }

    private func tell() {
        isTellingPlanned = false
        let touched = touched
        self.touched = Touched()
        var change = ChangeMessage(appearedAt: touched.appearedAt)
        for tag in touched.tags {
            if tag.isGone {
                if shownTags.removeValue(forKey: tag.shortID) != nil { change.removedTags.append(tag.shortID) }
            } else {
                let message = TagMessage(tag)
                if shownTags.updateValue(message, forKey: message.id) != message { change.tags.append(message) }
            }
        }
        let formerReport = lensReport
        for post in touched.posts {
            let message = post.isGone ? nil : PostMessage(post)
            if let message {
                let isImported = touched.elsewhere.contains(post.shortID)
                lensReport = version.lensReport(on: message, since: shownPosts[post.shortID], isImported: isImported) ?? lensReport
            }
            let isTrashed = message != nil && post.isTrashed
            change.tell(isTrashed ? nil : message, of: post.shortID, in: &shownPosts, shown: \.posts, removed: \.removedPosts)
            change.tell(isTrashed ? message : nil, of: post.shortID, in: &shownTrash, shown: \.trash, removed: \.removedTrash)
        }
        change.elsewhere = change.posts.map(\.id).filter(touched.elsewhere.contains)
        if !change.isEmpty { pages.send(Event(.change, change)) }
        if let lensReport, lensReport != formerReport { pages.send(Event(.lens, LensMessage(text: lensReport))) }
        if !touched.elsewhere.isEmpty, !change.isEmpty {
            let now = TraceMessage.now
            trace(TraceMessage(kind: .shown, began: now, ended: now))
        }
        if let latency = touched.latency {
            self.latency = latency
            pages.send(Event(.latency, latency))
        }
    }

    private func didChange(_ object: Any, _ type: NSFetchedResultsChangeType) {
        // Changes of this device are pending while the controllers report them; those of an import are saved.
        let isImported = (object as? NSManagedObject)?.hasChanges == false
        switch object {
        case let post as Post:
            insert(post, isImported)
            // A post that this app did not insert came from another device, unless it moved between the list and the trash.
            let isKnown = shownPosts[post.shortID] != nil || shownTrash[post.shortID] != nil
            if type == .insert, !post.isInserted, !post.isTrashed, !isKnown { didAppear(post) }
        case let tag as Tag:
            touched.tags.insert(tag)
        case let attachment as Attachment:
            if let post = attachment.isGone ? owner(of: attachment) : attachment.post { insert(post, isImported) }
        case let content as PostContent:
            if !content.isGone, let post = content.post { insert(post, isImported) }
        default:
            return
        }
        planTelling()
    }

    private func insert(_ post: Post, _ isImported: Bool) {
        touched.posts.insert(post)
        if isImported { touched.elsewhere.insert(post.shortID) }
    }

    private func didAppear(_ post: Post) {
        touched.appearedAt = touched.appearedAt ?? DispatchTime.now().uptimeNanoseconds
        guard let made = post.date else { return }
        touched.latency = LatencyMessage(milliseconds: max(0, Date().timeIntervalSince(made) * 1000))
    }

    /// The post that was shown with an attachment that is gone.
    private func owner(of attachment: Attachment) -> Post? {
        let id = attachment.shortID
        guard let shown = shownPosts.values.first(where: { $0.attachments.contains { $0.id == id } }) else { return nil }
        return posts.fetchedObjects?.first { $0.shortID == shown.id }
    }
}

// The controllers work on the view context, which is on the main queue, and call their delegate there.
extension PostFeed: @MainActor NSFetchedResultsControllerDelegate {
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
        didChange(anObject, type)
    }
}

extension NSManagedObject {
    /// Deleted, here or by an import.
    fileprivate var isGone: Bool { isDeleted || managedObjectContext == nil }
}
