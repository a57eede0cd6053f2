// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ServiceLifecycle

/// Forwards the container's sync events.
struct SyncWatch: Service {
    let container: NSPersistentCloudKitContainer
    let feed: PostFeed

    func run() async throws {
        let own = container.store(.own).map { container.syncStatusUpdates(of: $0) }
        await withTaskGroup { group in
            for updates in [container.syncStatusUpdates] + [own].compactMap(\.self) {
                group.addTask { for await _ in updates.cancelOnGracefulShutdown() { await feed.show(message) } }
            }
        }
    }

    /// The status of all stores. Without an account the public store can still be read, so an error of the user's own store comes first.
    private var message: SyncMessage {
        let status = container.syncStatus
        guard let own = container.store(.own).map({ container.syncStatus(of: $0) }), case .error = own.activity else {
            return SyncMessage(status)
        }
        var message = SyncMessage(own)
        message.pending = status.pendingCount
        return message
    }
}

/// Sends heartbeats to the pages, so that a closed page is released even without events.
struct PageBeat: Service {
    let feed: PostFeed

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(15))
                await feed.beat()
            }
        }
    }
}

extension SyncMessage {
    init(_ status: NSPersistentCloudKitContainer.SyncStatus) {
        self.init(phase: "idle", pending: status.pendingCount, lastSuccess: status.lastSuccess.map { $0.timeIntervalSince1970 * 1000 })
        accountChange = status.accountChange.map(Self.sentence)
        switch status.activity {
        case .idle: show("idle")
        case .starting: show("starting")
        case .importing(let done, let total): show("importing", done: done, total: total)
        case .exporting(let done, let total): show("exporting", done: done, total: total)
        case .offline: show("offline")
        case .paused: show("paused")
        case .error(let reason): show("error", reason: reason)
        }
    }

    private static func sentence(_ change: NSPersistentCloudKitContainer.AccountChange) -> String {
        let reason =
            switch change.kind {
            case .anotherAccount: "Another account is signed in on this device."
            case .serverReplaced: "The server does not know the data of this device: it is another server, or its data were created again."
            case .dataDeleted: "The posts were deleted on another device."
            case .shareLost: "The server lost posts that others shared; their owners still have them."
            }
        return switch change.outcome {
        case .emptied:
            "\(reason) " + (change.archiveName.map { "The former posts are in the archive \($0). See Archives." } ?? "Nothing was here.")
        case .uploaded: "\(reason) The posts of this device are sent to the present account."
        case .unresolved: "\(reason) Nothing is synced."
        }
    }
}
