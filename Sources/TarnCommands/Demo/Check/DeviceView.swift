// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport

/// The state that one device shows, assembled from its events, as the page does in the browser.
struct DeviceView: Sendable {
    struct Post: Decodable, Equatable, Sendable {
        struct Attachment: Decodable, Equatable, Sendable {
            var id: String
            var name: String
            var thumbnail: Bool
        }

        var id: String
        /// In version 2 of the app, the headline.
        var title: String
        /// nil in version 1.
        var subtitle: String?
        var content: String
        var tags: [String]
        var attachments: [Attachment]

        /// The title that version 1 of the app shows.
        var fullTitle: String { [title, subtitle ?? ""].filter { !$0.isEmpty }.joined(separator: ", ") }
    }

    struct Tag: Decodable, Equatable, Sendable {
        var id: String
        var name: String
        var color: String
    }

    struct Sync: Decodable, Equatable, Sendable {
        var phase: String
        var done: Int?
        var total: Int?
        var pending: Int
        var reason: String?
    }

    private(set) var posts: [String: Post] = [:]
    private(set) var trash: [String: Post] = [:]
    private(set) var tags: [String: Tag] = [:]
    private(set) var sync = Sync(phase: "starting", pending: 0)
    /// `false` while the device's own relay is cut.
    private(set) var isOnline = true
    private(set) var conflictCount = 0
    /// `true` while the device's event stream is open.
    private(set) var isConnected = false
    /// Time at which another device's post appeared in the fetched results, by title, on the machine's monotonic clock.
    private(set) var appearances: [String: UInt64] = [:]

    // MARK: Events

    /// - Throws: A decoding error for an unexpected event.
    mutating func apply(_ event: ServerEvent) throws {
        let data = Data(event.data.utf8)
        let decoder = JSONDecoder()
        switch event.name {
        case "state":
            let state = try decoder.decode(State.self, from: data)
            posts = Dictionary(state.posts.map { ($0.id, $0) }) { $1 }
            trash = Dictionary((state.trash ?? []).map { ($0.id, $0) }) { $1 }
            tags = Dictionary(state.tags.map { ($0.id, $0) }) { $1 }
            sync = state.sync
            isOnline = state.network?.online ?? true
            conflictCount = state.conflicts?.count ?? 0
            isConnected = true
        case "change":
            apply(try decoder.decode(Change.self, from: data))
        case "sync":
            sync = try decoder.decode(Sync.self, from: data)
        case "network":
            isOnline = try decoder.decode(Network.self, from: data).online
        case "conflicts":
            conflictCount = try decoder.decode([Conflict].self, from: data).count
        default:
            break
        }
    }

    mutating func didDisconnect() { isConnected = false }

    private mutating func apply(_ change: Change) {
        for tag in change.tags { tags[tag.id] = tag }
        for id in change.removedTags { tags[id] = nil }
        for post in change.posts {
            if let time = change.appearedAt, posts[post.id] == nil { appearances[post.title] = time }
            posts[post.id] = post
        }
        for id in change.removedPosts { posts[id] = nil }
        for post in change.trash ?? [] { trash[post.id] = post }
        for id in change.removedTrash ?? [] { trash[id] = nil }
    }

    private struct State: Decodable {
        var posts: [Post]
        var trash: [Post]?
        var tags: [Tag]
        var sync: Sync
        var network: Network?
        var conflicts: [Conflict]?
    }

    private struct Network: Decodable { var online: Bool }
    private struct Conflict: Decodable { var id: Int }

    private struct Change: Decodable {
        var appearedAt: UInt64?
        var posts: [Post]
        var removedPosts: [String]
        var trash: [Post]?
        var removedTrash: [String]?
        var tags: [Tag]
        var removedTags: [String]
    }

    // MARK: Content without the device's own identifiers

    /// One line for each post and tag, duplicates included, sorted: equal on two devices with equal content, whatever their version.
    var content: [String] {
        posts.values.map { post in
            let tagNames = post.tags.map { tags[$0].map { "\($0.name) \($0.color)" } ?? "?" }.sorted()
            let pictures = post.attachments.map { "\($0.name)\($0.thumbnail ? "" : " without thumbnail")" }.sorted()
            return "post \(post.fullTitle) | \(post.content) | \(tagNames.joined(separator: ", ")) | \(pictures.joined(separator: ", "))"
        }.sorted() + tags.values.map { "tag \($0.name) \($0.color)" }.sorted()
    }

    /// Posts, tags, attachments, and the data of each attachment's picture.
    var objectCount: Int { posts.count + tags.count + 2 * posts.values.reduce(0) { $0 + $1.attachments.count } }

    /// `true` if sync is idle and no change is pending.
    var isSettled: Bool { isConnected && sync.phase == "idle" && sync.pending == 0 }

    func posts(titled title: String) -> [Post] { posts.values.filter { $0.fullTitle == title } }

    /// A summary for error messages.
    var summary: String {
        guard isConnected else { return "does not answer" }
        let progress = sync.total.map { " \(sync.done ?? 0) of \($0)" } ?? ""
        let reason = sync.reason.map { " (\($0))" } ?? ""
        return
            "shows \(CountText.text(posts.count, "post")) and \(CountText.text(tags.count, "tag")), sync \(sync.phase)\(progress)\(reason), \(sync.pending) waiting"
    }
}
