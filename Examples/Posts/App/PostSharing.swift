// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation

/// Posts that several users have.
@MainActor final class PostSharing {
    private let container: NSPersistentCloudKitContainer
    private let library: PostLibrary
    private let feed: PostFeed

    init(_ container: NSPersistentCloudKitContainer, _ library: PostLibrary, _ feed: PostFeed) {
        self.container = container
        self.library = library
        self.feed = feed
    }

    /// Shares a post with everyone who has the link, and all posts with its tags: related objects stay together.
    ///
    /// - Returns: The share's link. A post that is shared already keeps its link.
    /// - Throws: The error of the server, or ``ShareUnavailable``.
    func share(_ id: String) async throws -> ShareMessage {
        let post = try library.object(Post.self, id)
        if let link = try container.fetchShares(matching: [post.objectID])[post.objectID]?.url {
            return ShareMessage(link: link.absoluteString)
        }
        guard let store = container.store(.own), post.objectID.persistentStore === store else { throw ShareUnavailable() }
        let (_, share, _) = try await container.share([post], to: nil)
        share[CKShare.SystemFieldKey.title] = post.title ?? ""
        share.publicPermission = .readWrite
        guard let link = try await container.persistUpdatedShare(share, in: store).url else { throw ShareUnavailable() }
        refresh()
        return ShareMessage(link: link.absoluteString)
    }

    /// Accepts the share of another user; its posts arrive by sync.
    ///
    /// - Throws: The error of the server, or ``ShareUnavailable`` for a text that isn't a link.
    func accept(_ link: String) async throws {
        guard let url = URL(string: link.trimmingCharacters(in: .whitespacesAndNewlines)), url.host != nil,
            let store = container.store(.shared),
            let identifier = container.persistentStoreDescriptions.first?.cloudKitContainerOptions?.containerIdentifier
        else { throw ShareUnavailable() }
        let invitation = try await CKContainer(identifier: identifier).shareMetadata(for: url)
        try await container.acceptShareInvitations(from: [invitation], into: store)
    }

    /// Marks shared posts on the pages.
    func refresh() {
        let posts = feed.visiblePosts
        // Most users share nothing: then the posts need not be looked up.
        let hasShares = (try? container.fetchShares().isEmpty) == false
        let shares = hasShares ? (try? container.fetchShares(matching: posts.map(\.objectID))) ?? [:] : [:]
        feed.show(shares: posts.filter { shares[$0.objectID] != nil }.map(\.shortID).sorted())
    }
}

/// The post cannot be shared, or the link does not lead to one.
struct ShareUnavailable: Error {}
