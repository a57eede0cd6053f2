// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ServiceLifecycle

/// Reports each finished operation of the container, and reads the conflict log and the shares after it.
struct EventWatch: Service {
    let container: NSPersistentCloudKitContainer
    let feed: PostFeed
    let conflicts: ConflictShelf
    let sharing: PostSharing

    func run() async throws {
        await refresh()
        let (events, continuation) = AsyncStream.makeStream(of: NSPersistentCloudKitContainer.Event.self)
        let observer = NotificationCenter.default.addObserver(
            forName: NSPersistentCloudKitContainer.eventChangedNotification, object: container, queue: nil
        ) { notification in
            let event = notification.userInfo?[NSPersistentCloudKitContainer.eventNotificationUserInfoKey]
            if let event = event as? NSPersistentCloudKitContainer.Event, event.endDate != nil { continuation.yield(event) }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        for await event in events.cancelOnGracefulShutdown() {
            await feed.trace(TraceMessage(event))
            await refresh()
        }
    }

    private func refresh() async {
        await conflicts.refresh()
        await sharing.refresh()
    }
}

/// Reports the messages that the relay carries.
struct TrafficWatch: Service {
    let network: DeviceNetwork
    let feed: PostFeed

    func run() async throws {
        for await message in network.traffic.cancelOnGracefulShutdown() { await feed.trace(message) }
        try? await gracefulShutdown()
    }
}

extension TraceMessage {
    init(_ event: NSPersistentCloudKitContainer.Event) {
        let kind: Kind =
            switch event.type {
            case .setup: .setup
            case .import: .import
            case .export: .export
            }
        self.init(
            kind: kind, began: event.startDate.timeIntervalSince1970 * 1000,
            ended: (event.endDate ?? event.startDate).timeIntervalSince1970 * 1000, failure: event.error?.localizedDescription)
    }
}
