// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Logging
import MirroringCore
import Synchronization

// How a mirror hears of what others change.

extension Mirror {
    /// Keeps the push connection open; a connection that broke is tried again, soon at first.
    func listen() async {
        var attempt = 0
        while !Task.isCancelled {
            var longest = Self.listenSecondsMax
            do {
                let cloud = try cloud.open()
                for try await event in cloud.client.pushStream(asking: file.scope == .private ? [.pushedChanges] : []) {
                    switch event {
                    case .connected:
                        attempt = 0
                        feed.yield(.connected)
                    case .notification(let notification):
                        guard notification.subscriptionID == cloud.subscriptionID else { continue }
                        take(notification.changes, cloud)
                        feed.yield(.pushArrived)
                    case .heartbeat: break
                    }
                }
            } catch {
                let failure = CloudFailure(error)
                logger.debug("push connection ended", metadata: ["code": "\(failure.code)"])
                if RetryPolicy.isRefusal(failure) { longest = Self.refusedSecondsMax }
            }
            if Task.isCancelled { return }
            // The public database is asked from time to time as well, whatever becomes of the connection.
            if file.scope != .public { feed.yield(.networkLost) }
            attempt += 1
            let seconds = min(RetryPolicy.backoff(attempt: attempt, unit: surroundings.random()), longest)
            do { try await surroundings.sleep(seconds) } catch { return }
        }
    }

    /// Keeps what a notification brought. What cannot be read is fetched, and found there.
    private func take(_ changes: PushedChanges?, _ cloud: MirrorCloud) {
        let page = changes.flatMap { try? cloud.page(pushed: $0) }
        pushed.withLock { $0.take(page) }
    }

    /// Imports again and again, where nobody tells of changes.
    ///
    /// Source: the talk *Sync a Core Data store with the CloudKit public database* (2020): at launch and after about every
    /// thirty minutes of use.
    func poll() async {
        while !Task.isCancelled {
            do { try await surroundings.sleep(file.pollSeconds) } catch { return }
            feed.yield(.pushArrived)
        }
    }

    /// Keeps a connection open that tells of changes of the public database while the server has a feed of it.
    func followFeed(_ cloud: MirrorCloud) {
        let hasFeed = cloud.ways.hasFeed
        running.withLock { running in
            guard !running.isStopped, hasFeed != (running.feedListener != nil) else { return }
            running.feedListener?.cancel()
            running.feedListener = hasFeed ? begin { await self.listen() } : nil
        }
    }

    /// Between attempts at the push connection: it is what notices that the server is back.
    private static let listenSecondsMax = 5.0
    /// Between attempts that the server itself refuses, such as those with a token that it does not know.
    private static let refusedSecondsMax = 60.0
}
