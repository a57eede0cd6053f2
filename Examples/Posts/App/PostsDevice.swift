// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation
import ServiceLifecycle
import TarnMirror

/// A container with the posts of a device, and the object that syncs it.
enum PostsDevice: Sendable {
    /// The container syncs by itself.
    case cloud(NSPersistentCloudKitContainer, AppVersion)
    /// A mirror syncs the container, as in an app on an iPhone.
    case mirrored(NSPersistentContainer, TarnMirror)

    var container: NSPersistentContainer {
        switch self {
        case .cloud(let container, _): container
        case .mirrored(let container, _): container
        }
    }

    var version: AppVersion {
        switch self {
        case .cloud(_, let version): version
        case .mirrored: .first
        }
    }

    /// The introduction on the device's page; nil for the usual device.
    var introduction: String? {
        switch self {
        case .cloud(_, let version): version.introduction
        case .mirrored: "The stack of an iPhone app: NSPersistentContainer and TarnMirror. It asks for changes once a second."
        }
    }

    /// Syncs now.
    ///
    /// - Throws: The error of the last attempt after the timeout.
    func sync(timeout: Duration) async throws {
        switch self {
        case .cloud(let container, _): try await container.sync(timeout: timeout)
        case .mirrored(_, let mirror): try await mirror.sync(timeout: timeout)
        }
    }

    /// Whether this user may delete an object everywhere. A mirrored store has objects of its user alone.
    func canDelete(_ object: NSManagedObject) -> Bool {
        guard case .cloud(let container, _) = self else { return true }
        return container.canDeleteRecord(forManagedObjectWith: object.objectID)
    }
}

/// The objects behind parts of the page that only a container with CloudKit has.
struct CloudParts: Sendable {
    let archives: ArchiveShelf
    let sharing: PostSharing
    let board: NoticeBoard

    /// - Throws: The error of a fetch.
    @MainActor init(_ container: NSPersistentCloudKitContainer, _ library: PostLibrary, _ feed: PostFeed) throws {
        archives = ArchiveShelf(container, feed)
        sharing = PostSharing(container, library, feed)
        board = try NoticeBoard(container, library, feed)
    }
}

/// Starts the mirror, forwards its status, reads the conflict log if a sync changed it, and stops the mirror with the app.
struct MirrorWatch: Service {
    let mirror: TarnMirror
    let feed: PostFeed
    let conflicts: ConflictShelf

    func run() async throws {
        mirror.start()
        for await status in mirror.statusUpdates.cancelOnGracefulShutdown() {
            await feed.show(SyncMessage(status))
            if status.activity == .idle { await conflicts.refresh(count: status.conflictCount) }
        }
        await mirror.stop()
    }
}

extension SyncMessage {
    init(_ status: TarnMirror.Status) {
        self.init(phase: "idle", pending: status.pendingCount, lastSuccess: status.lastSuccess.map { $0.timeIntervalSince1970 * 1000 })
        switch status.activity {
        case .idle: show("idle")
        case .starting: show("starting")
        case .importing(let done, let total): show("importing", done: done, total: total)
        case .exporting(let done, let total): show("exporting", done: done, total: total)
        case .offline: show("offline")
        case .stopped: show("paused")
        case .error(let reason): show("error", reason: reason)
        }
    }
}
