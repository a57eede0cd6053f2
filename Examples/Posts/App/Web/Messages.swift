// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

// What the device tells its page, and what it answers. Times are milliseconds since 1970, for browsers.

struct PostMessage: Codable, Equatable, Sendable {
    var id: String
    var title: String
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
}

struct NetworkMessage: Encodable, Sendable {
    var online: Bool
    /// Whether this device can be taken offline.
    var switchable: Bool
}

struct LatencyMessage: Encodable, Sendable {
    var milliseconds: Double
}

// MARK: From objects

extension PostMessage {
    init(_ post: Post) {
        let tags = post.tags?.allObjects as? [Tag] ?? []
        let attachments = post.attachments?.allObjects as? [Attachment] ?? []
        self.init(
            id: post.shortID, title: post.title ?? "", content: post.text,
            timestamp: (post.timestamp?.timeIntervalSince1970 ?? 0) * 1000, tags: tags.map(\.shortID).sorted(),
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
