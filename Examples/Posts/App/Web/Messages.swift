// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

// What the device tells its page, and what it answers. Times are milliseconds since 1970, for browsers.

struct PostMessage: Codable, Equatable, Sendable {
    var id: String
    /// In version 2 of the app, the headline.
    var title: String
    /// nil in version 1 of the app, which has none.
    var subtitle: String?
    var content: String
    var timestamp: Double
    var tags: [String]
    var attachments: [AttachmentMessage]
}

struct TagMessage: Codable, Equatable, Sendable {
    var id: String
    var name: String
    var color: String
}

struct AttachmentMessage: Codable, Equatable, Sendable {
    var id: String
    var name: String
    /// Whether there is a thumbnail to ask for.
    var thumbnail: Bool
}

struct PostSaved: Codable, Sendable {
    var post: PostMessage
    /// Nanoseconds of the machine's steady clock: comparable between processes of one machine.
    var savedAt: UInt64
}

struct SamplesSaved: Codable, Sendable {
    var savedAt: UInt64
}

/// What is written into a post or a tag; what is absent stays as it is.
struct PostInput: Codable, Sendable {
    var title: String?
    var subtitle: String?
    var content: String?
}

struct TagInput: Codable, Sendable {
    var name: String?
    var color: String?
}

struct SamplesInput: Codable, Sendable {
    var count: Int
    var title: String
}

struct DeletionInput: Codable, Sendable {
    var posts: [String]
    var tags: [String]
}

struct NetworkInput: Codable, Sendable {
    var online: Bool
}

struct NoticeMessage: Codable, Equatable, Sendable {
    var id: String
    var author: String
    var text: String
    var timestamp: Double
    /// Whether this user may delete it.
    var isOwn: Bool
}

struct NoticeInput: Codable, Sendable {
    var text: String
}

/// The link of a shared post.
struct ShareMessage: Codable, Sendable {
    var link: String
}

/// A value that lost against a concurrent change.
struct ConflictMessage: Codable, Equatable, Sendable {
    /// Valid until this process ends.
    var id: Int
    /// The post's identifier; nil for another object.
    var post: String?
    /// The name of the attribute, such as `title`.
    var property: String
    /// The present value.
    var kept: String
    var lost: String
    /// Whether the kept value was set on this device.
    var isOwn: Bool
    /// When the conflict was found.
    var date: Double
}

struct ArchiveMessage: Codable, Sendable {
    /// Name of the archive's file.
    var name: String
    var date: Double
    /// Posts, tags and pictures.
    var objects: Int
}

struct ArchiveInput: Codable, Sendable {
    /// Whether the person confirmed that posts of another account are theirs.
    var isOwn: Bool
}

// MARK: Events

/// Everything, once, when a page opens.
struct StateMessage: Encodable, Sendable {
    var device: String
    var posts: [PostMessage]
    var trash: [PostMessage]
    var tags: [TagMessage]
    var sync: SyncMessage
    var network: NetworkMessage
    var latency: LatencyMessage?
    var conflicts: [ConflictMessage]
    var shares: [String]
    var board: [NoticeMessage]
    /// The difference between this device and the usual one, in a sentence.
    var introduction: String?
    var lens: String?
    /// Whether there are archives, conflict cards, shares and the public board.
    var hasCloudParts: Bool
}

/// The last translation by a lens, in a sentence.
struct LensMessage: Encodable, Sendable {
    var text: String
}

/// What became different in one turn.
struct ChangeMessage: Encodable, Sendable {
    /// When the first post that another device made stood in the fetched results; nil if none did.
    var appearedAt: UInt64?
    var posts: [PostMessage] = []
    var removedPosts: [String] = []
    var trash: [PostMessage] = []
    /// Restored or deleted for good.
    var removedTrash: [String] = []
    var tags: [TagMessage] = []
    var removedTags: [String] = []
    /// Posts above that another device changed.
    var elsewhere: [String] = []

    var isEmpty: Bool {
        posts.isEmpty && removedPosts.isEmpty && trash.isEmpty && removedTrash.isEmpty && tags.isEmpty && removedTags.isEmpty
    }

    /// Adds what differs from what is shown, and shows it. No message means that the post is not among them.
    mutating func tell(
        _ message: PostMessage?, of id: String, in shownPosts: inout [String: PostMessage],
        shown: WritableKeyPath<Self, [PostMessage]>, removed: WritableKeyPath<Self, [String]>
    ) {
        let old = shownPosts[id]
        guard old != message else { return }
        shownPosts[id] = message
        if let message { self[keyPath: shown].append(message) } else { self[keyPath: removed].append(id) }
    }
}

struct SyncMessage: Encodable, Equatable, Sendable {
    var phase: String
    var done: Int?
    var total: Int?
    /// Records that wait to be sent.
    var pending: Int
    var reason: String?
    var lastSuccess: Double?
    /// What became of the posts when another account or another server was found, in a sentence.
    var accountChange: String?

    static let starting = SyncMessage(phase: "starting", pending: 0)

    /// Sets what sync does now.
    mutating func show(_ phase: String, done: Int? = nil, total: Int? = nil, reason: String? = nil) {
        (self.phase, self.done, self.total, self.reason) = (phase, done, total, reason)
    }
}

struct NetworkMessage: Encodable, Sendable {
    var online: Bool
    /// Whether this device can be taken offline.
    var switchable: Bool
}

struct LatencyMessage: Encodable, Sendable {
    var milliseconds: Double
}

/// One step of sync, with its times: from the container's events, the relay, and the fetched results.
struct TraceMessage: Encodable, Equatable, Sendable {
    enum Kind: String, Encodable, Sendable { case save, setup, export, `import`, request, push, shown }

    var kind: Kind
    /// Milliseconds since 1970, with fractions.
    var began: Double
    /// The beginning itself for a moment.
    var ended: Double
    /// Why the step failed; nil if it succeeded.
    var failure: String?
    /// Of a request: the path without its query, the status, and the identifier that the server's log has.
    var path: String?
    var status: Int?
    var request: String?

    /// The present moment.
    static var now: Double { Date().timeIntervalSince1970 * 1000 }
}

// MARK: From objects

extension PostMessage {
    init(_ post: Post) {
        let tags = post.tags?.allObjects as? [Tag] ?? []
        let attachments = post.attachments?.allObjects as? [Attachment] ?? []
        self.init(
            id: post.shortID, title: post.heading ?? "", subtitle: post.subtitle, content: post.text,
            timestamp: (post.date?.timeIntervalSince1970 ?? 0) * 1000, tags: tags.map(\.shortID).sorted(),
            attachments: attachments.map(AttachmentMessage.init).sorted { ($0.name, $0.id) < ($1.name, $1.id) })
    }
}

extension TagMessage {
    init(_ tag: Tag) {
        self.init(id: tag.shortID, name: tag.name ?? "", color: tag.color ?? "")
    }
}

extension AttachmentMessage {
    init(_ attachment: Attachment) {
        self.init(id: attachment.shortID, name: attachment.name ?? "", thumbnail: attachment.thumbnail != nil)
    }
}
