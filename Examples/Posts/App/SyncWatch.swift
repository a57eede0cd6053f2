// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ServiceLifecycle

/// Passes on what the container says about syncing.
struct SyncWatch: Service {
    let container: NSPersistentCloudKitContainer
    let feed: PostFeed

    func run() async throws {
        for await status in container.syncStatusUpdates.cancelOnGracefulShutdown() {
            await feed.show(SyncMessage(status))
        }
    }
}

/// Beats for the pages, so that one that went away while nothing happened is let go.
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
        case .idle:
            phase = "idle"
        case .starting:
            phase = "starting"
        case .importing(let done, let total):
            phase = "importing"
            self.done = done
            self.total = total
        case .exporting(let done, let total):
            phase = "exporting"
            self.done = done
            self.total = total
        case .offline:
            phase = "offline"
        case .paused:
            phase = "paused"
        case .error(let reason):
            phase = "error"
            self.reason = reason
        }
    }

    private static func sentence(_ change: NSPersistentCloudKitContainer.AccountChange) -> String {
        let reason =
            switch change.kind {
            case .anotherAccount: "Another account is signed in on this device."
            case .serverReplaced: "The server never had what this device synced: it is another one, or its data were made anew."
            case .dataDeleted: "The posts were deleted on another device."
            }
        return switch change.outcome {
        case .emptied: "\(reason) " + (change.archiveName.map { "What was here is kept in \($0); see Archives." } ?? "Nothing was here.")
        case .uploaded: "\(reason) What is here is sent to the present account."
        case .unresolved: "\(reason) Nothing is synced."
        }
    }
}
